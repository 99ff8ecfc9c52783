"""What came in a stream's batch though the graph had it: rows that are there already, with the times they came at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freshet.rdf.elements import Elements
from freshet.rdf.triples import Ids, Triples
from freshet.store.appended_view import AppendedView
from freshet.store.slices import NO_ELEMENTS


class Repeated(NamedTuple):
    """Of one batch, each triple and time once. Those of the base have no row: they stand as they came."""

    appended: NDArray[np.uint32]  # rows
    later: NDArray[np.unsignedinteger]  # how much later than `first_ms` each came
    of_base: Elements
    first_ms: int
    last_ms: int
    rows: int  # how many rows there were after the batch

    @property
    def nbytes(self) -> int:
        return self.appended.nbytes + self.later.nbytes + sum(column.nbytes for column in self.of_base)

    def __bool__(self) -> bool:
        return bool(self.appended.size or self.of_base.times.size)

    def compacted(self, rows: int, appended: AppendedView) -> Repeated:
        """The same when the first rows are part of the base, and the others numbered anew."""
        moved = self.appended < rows
        times = self.first_ms + self.later[moved].astype(np.int64)
        more = Elements(times, *appended.at(self.appended[moved].astype(np.int64)))
        return self._replace(
            appended=self.appended[~moved] - np.uint32(rows),
            later=self.later[~moved],
            of_base=Elements(*(np.concatenate(columns) for columns in zip(self.of_base, more, strict=True))),
            rows=max(0, self.rows - rows),
        )

    def triples(self, appended: AppendedView, from_ms: int, to_ms: int) -> Triples:
        """Those with from_ms <= time < to_ms."""
        times = self.first_ms + self.later.astype(np.int64)
        rows = self.appended[(times >= from_ms) & (times < to_ms)].astype(np.int64)
        inside = (self.of_base.times >= from_ms) & (self.of_base.times < to_ms)
        others = (column[inside] for column in self.of_base[1:])
        return Triples(*map(np.concatenate, zip(appended.at(rows), others, strict=True)))


def find_repeated(elements: Elements, first_row: int, fresh_times: Ids, appended: AppendedView) -> Repeated:
    """Some elements, at least one, of a batch whose new rows begin at `first_row` and came at `fresh_times`."""
    triples = Triples(*(np.ascontiguousarray(column) for column in elements[1:]))
    rows = appended.rows_of(triples)
    first_ms, last_ms = int(elements.times.min()), int(elements.times.max())
    later = elements.times - first_ms
    known = rows >= 0
    of_base = NO_ELEMENTS if known.all() else Elements(*(column[~known] for column in elements))
    new = np.flatnonzero(rows >= first_row)  # came for the first time in this batch
    known[new[fresh_times[rows[new] - first_row] == elements.times[new]]] = False
    order = np.lexsort((later[known], rows[known]))
    rows, later = rows[known][order], later[known][order]
    different = np.ones(rows.size, np.bool_)
    different[1:] = (rows[1:] != rows[:-1]) | (later[1:] != later[:-1])
    small = np.min_scalar_type(last_ms - first_ms)
    return Repeated(
        rows[different].astype(np.uint32), later[different].astype(small), of_base, first_ms, last_ms, appended.rows
    )


def triples_within(repeated: Iterable[Repeated], appended: AppendedView, from_ms: int, to_ms: int) -> Iterable[Triples]:
    """Those of some batches with from_ms <= time < to_ms."""
    return (
        each.triples(appended, from_ms, to_ms) for each in repeated if each.last_ms >= from_ms and each.first_ms < to_ms
    )
