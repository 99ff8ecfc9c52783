"""Which records join: pairs of rows with equal keys, in the order of the child's rows and then of the parent's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.rdf.arrow import numbers, whole_numbers

Rows = NDArray[np.int64]


def joined_rows(child: Sequence[pa.Array], parent: Sequence[pa.Array], most: int) -> Iterator[tuple[Rows, Rows]]:
    """The rows of the child and of the parent that have the same keys, about `most` at a time.

    There is an array for each condition; null equals nothing.
    """
    size = len(child[0])
    codes = _codes([pa.concat_arrays([own, other]) for own, other in zip(child, parent, strict=True)])
    own, other = codes[:size], codes[size:]
    order = np.argsort(other, kind="stable")
    ordered = other[order]
    firsts = np.searchsorted(ordered, own, "left")
    counts = np.where(own < 0, 0, np.searchsorted(ordered, own, "right") - firsts)
    ends = np.cumsum(counts)
    start = 0
    while start < size:
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + most, "right")))
        some = counts[start:stop]
        within = np.arange(some.sum()) - np.repeat(np.cumsum(some) - some, some)
        rows = np.repeat(np.arange(start, stop), some)
        if rows.size:
            yield rows, order[np.repeat(firsts[start:stop], some) + within]
        start = stop


def _codes(keys: Sequence[pa.Array]) -> Rows:
    """A number for each row, the same for equal keys; -1 where one is null."""
    found: Rows | None = None
    for column in keys:
        indices = pc.dictionary_encode(column).indices
        codes = whole_numbers(pc.fill_null(indices.cast(pa.int64()), _NO_KEY))
        if found is None:
            found = codes
            continue
        both = found * (int(codes.max(initial=0)) + 1) + codes
        _, dense = np.unique(both, return_inverse=True)
        found = np.where((found < 0) | (codes < 0), -1, dense)
    assert found is not None
    return found


_NO_KEY = numbers(np.array([-1], np.int64))[0]
