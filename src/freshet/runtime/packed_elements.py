"""Elements as bytes that say their own terms, for a journal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.rdf.arrow import key_ranges
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.runtime.checkpoint_segments import rename_ids, term_ids
from freshet.runtime.journal import Header, Piece


def pack_elements(elements: Elements, dictionary: Dictionary) -> tuple[Header, list[Piece]]:
    """The elements' columns, then the ids of their terms, where each key ends, and the keys."""
    ids = term_ids(*elements[1:])
    try:
        data, _, ends = key_ranges(dictionary.keys(ids))
    except KeyError as error:
        raise InputError(f"pushed elements have the id {error}, which no term has") from None
    size = int(ends[-1]) if len(ends) else 0
    pieces: list[Piece] = [np.ascontiguousarray(column, np.int64).tobytes() for column in (*elements, ids, ends)]
    return {"rows": len(elements.times), "terms": len(ids)}, [*pieces, data[:size].tobytes()]


def unpack_elements(header: Header, body: bytes, dictionary: Dictionary) -> Elements:
    """The elements again, in ids of the dictionary. The caller holds a pin on it."""
    rows, terms = header["rows"], header["terms"]
    whole: NDArray[np.int64] = np.frombuffer(body, np.int64, 4 * rows + 2 * terms).copy()
    ids, ends = whole[4 * rows :].reshape(2, terms)
    starts = np.concatenate((np.zeros(1, np.int64), ends))[:terms]
    given = dictionary.intern_keys(np.frombuffer(body, np.uint8, offset=whole.nbytes), starts, ends)
    times, *columns = whole[: 4 * rows].reshape(4, rows)
    return Elements(times, *(rename_ids(column, ids, given) for column in columns))
