"""Columns of 64-bit numbers in less memory: what is kept for long and seldom read.

A column is its least number and how far above it the others are, in as few bytes as the largest needs; none where all
are equal, as times of a batch and predicates mostly are. Ids of the dictionary are found by the term collector as whole
numbers of 64 bits, and are scattered anyway: unless all are equal, they stay as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.direct_call import DirectCall
from freshet.kernels.spans import span

Ids = NDArray[np.int64]

_SPAN = DirectCall(span)
_INT64 = np.dtype(np.int64)
_CONTIGUOUS = (8,)
_SIZES = ((1 << 8, np.uint8), (1 << 16, np.uint16), (1 << 32, np.uint32))


class NarrowColumn(NamedTuple):
    """`above` is how far each number is above the least, None where all are equal; or the numbers as they are."""

    size: int
    least: int
    largest: int
    above: NDArray[np.unsignedinteger] | Ids | None

    def numbers(self) -> Ids:
        """The column as it was."""
        if self.above is None:
            return np.full(self.size, self.least, np.int64)
        numbers: Ids = self.above.astype(np.int64)
        if self.above.dtype != np.int64:
            numbers += self.least
        return numbers


def narrow_times(times: Ids) -> NarrowColumn:
    """Times, at least one."""
    least, largest = _span_of(times)
    return _narrow(times, least, largest)


def narrow_ids(ids: Ids) -> NarrowColumn:
    """Ids, at least one. An array that is no part of another may be kept as it is."""
    least, largest = _span_of(ids)
    if least == largest or largest < 0:  # inline ids need no dictionary
        return _narrow(ids, least, largest)
    return NarrowColumn(len(ids), least, largest, ids if ids.base is None else ids.copy())


def _span_of(column: Ids) -> tuple[int, int]:
    if column.dtype != _INT64 or column.strides != _CONTIGUOUS:
        return int(column.min()), int(column.max())
    span_of: tuple[int, int] = _SPAN.run(column)
    return span_of


def _narrow(column: Ids, least: int, largest: int) -> NarrowColumn:
    if least == largest:
        return NarrowColumn(len(column), least, largest, None)
    for size, kind in _SIZES:
        if largest - least < size:
            above: NDArray[np.unsignedinteger] = np.empty(len(column), kind)
            np.subtract(column, least, out=above, casting="unsafe")
            return NarrowColumn(len(column), least, largest, above)
    return NarrowColumn(len(column), least, largest, column.copy())
