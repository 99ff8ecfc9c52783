"""Elements as bytes that say their own terms, for a journal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from freshet.rdf.arrow import key_ranges
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements, ElementsInGraphs
from freshet.rdf.errors import InputError
from freshet.rdf.triples import Ids
from freshet.runtime.checkpoint_segments import rename_ids, term_ids
from freshet.runtime.journal import Header, Piece


def pack_elements(elements: Elements, dictionary: Dictionary, graphs: Ids | None = None) -> tuple[Header, list[Piece]]:
    """The elements' columns, then the ids of their terms, where each key ends, and the keys.

    Where some delete, a column says of each whether it does. Where graphs are kept, one has these.
    """
    if graphs is not None:
        header, pieces = pack_columns(elements[:1], (*elements[1:], graphs), dictionary)
        return header | {"graphs": True}, pieces
    deletes = elements.predicates < 0
    if not deletes.any():
        return pack_columns(elements[:1], elements[1:], dictionary)
    triples = elements.subjects, np.abs(elements.predicates), elements.objects
    header, pieces = pack_columns((elements.times, deletes.astype(np.int64)), triples, dictionary)
    return header | {"deletes": True}, pieces


def pack_columns(plain: Sequence[Ids], columns: Sequence[Ids], dictionary: Dictionary) -> tuple[Header, list[Piece]]:
    """Likewise, columns of anything, of which the last have terms."""
    ids = term_ids(*columns)
    try:
        data, _, ends = key_ranges(dictionary.keys(ids))
    except KeyError as error:
        raise InputError(f"pushed elements have the id {error}, which no term has") from None
    size = int(ends[-1]) if len(ends) else 0
    pieces: list[Piece] = [np.ascontiguousarray(column, np.int64).tobytes() for column in (*plain, *columns, ids, ends)]
    return {"rows": len(columns[0]), "terms": len(ids)}, [*pieces, data[:size].tobytes()]


def unpack_elements(header: Header, body: bytes, dictionary: Dictionary) -> ElementsInGraphs:
    """The elements again, in ids of the dictionary. The caller holds a pin on it."""
    if header.get("graphs", False):
        (times,), (*triples, graphs) = unpack_columns(header, body, 1, 4, dictionary)
        return ElementsInGraphs(Elements(times, *triples), graphs)
    plain, columns = unpack_columns(header, body, 1 + header.get("deletes", False), 3, dictionary)
    elements = Elements(plain[0], *columns)
    if len(plain) > 1:
        np.negative(elements.predicates, out=elements.predicates, where=plain[1].astype(np.bool_))
    return ElementsInGraphs(elements)


def unpack_columns(
    header: Header, body: bytes, plain: int, columns: int, dictionary: Dictionary
) -> tuple[list[Ids], list[Ids]]:
    """The columns of `pack_columns` again, from the number of all columns and of those with terms."""
    rows, terms, count = header["rows"], header["terms"], plain + columns
    whole: Ids = np.frombuffer(body, np.int64, count * rows + 2 * terms).copy()
    ids, ends = whole[count * rows :].reshape(2, terms)
    starts = np.concatenate((np.zeros(1, np.int64), ends))[:terms]
    given = dictionary.intern_keys(np.frombuffer(body, np.uint8, offset=whole.nbytes), starts, ends)
    every = list(whole[: count * rows].reshape(count, rows))
    return every[:plain], [rename_ids(column, ids, given) for column in every[plain:]]
