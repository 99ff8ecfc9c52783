"""Rows with lives for tests of operators: a child that gives them batch by batch, and what a naive twin makes of them.

A life is (birth, death, row): the row is there at every moment m with birth <= m < death.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

import numpy as np
from hypothesis import strategies as st

from freshet.native.change import Change, MomentBatch
from freshet.oneshot.table import Table

LAST = 60  # all lives have ended by then

Life = tuple[int, int, tuple[int, ...]]


def lives_of(rows: st.SearchStrategy[tuple[int, ...]], most: int = 50) -> st.SearchStrategy[list[Life]]:
    """Lives of rows."""
    life = st.tuples(st.integers(0, 40), st.integers(0, 15), rows).map(lambda life: (life[0], sum(life[:2]), life[2]))
    return st.lists(life, max_size=most)


batch_ends = st.lists(st.integers(0, LAST - 1), max_size=6, unique=True).map(lambda ends: [*sorted(ends), LAST])


def batches_of(ends: Sequence[int], due: Iterable[int] | None = None) -> Iterator[MomentBatch]:
    """The batches of moments up to and including each end; all moments are due where nothing else is said."""
    first, asked = 0, sorted(range(LAST + 1) if due is None else due)
    for number, last in enumerate(ends, 1):
        yield MomentBatch(number, first, last, np.array([each for each in asked if first <= each <= last], np.int64))
        first = last + 1


def table_of(rows: Sequence[tuple[int, ...]], names: Sequence[str]) -> Table:
    values = np.array(rows, np.int64).reshape(len(rows), len(names))
    return Table({name: values[:, at].copy() for at, name in enumerate(names)}, len(rows))


def rows_of(table: Table, names: Sequence[str]) -> list[tuple[int, ...]]:
    return list(zip(*(table.column(name).tolist() for name in names), strict=True)) if names else [()] * table.count


def events(lives: Sequence[Life], batch: MomentBatch, at: int) -> list[tuple[int, tuple[int, ...]]]:
    """The births (at 0) or deaths (1) of a batch in order of moments."""
    within = [(life[at], life[2]) for life in lives if batch.first <= life[at] <= batch.last]
    return sorted(within, key=lambda event: event[0])


class TimedRows:
    """An operator that gives rows with lives."""

    def __init__(self, lives: Sequence[Life], names: Sequence[str]) -> None:
        self._lives, self._names = lives, names

    def changes(self, batch: MomentBatch) -> Change:
        (came, came_at), (went, went_at) = (self._side(batch, at) for at in (0, 1))
        return Change(came, came_at, went, went_at)

    def _side(self, batch: MomentBatch, at: int) -> tuple[Table, np.ndarray]:
        found = events(self._lives, batch, at)
        return table_of([row for _, row in found], self._names), np.array([moment for moment, _ in found], np.int64)


def check_changes(
    changes: Callable[[MomentBatch], Change],
    batches: Iterable[MomentBatch],
    names: Sequence[str],
    expected: Callable[[int], Counter[Hashable]],
    *,
    exact: bool = True,
) -> None:
    """After every moment (`exact`: by nothing more than what changes there) the bag is what is expected."""
    bag: Counter[Hashable] = Counter()
    for batch in batches:
        change = changes(batch)
        sides = [
            list(zip(moments.tolist(), rows_of(table, names), strict=True))
            for table, moments in ((change.came, change.came_at), (change.went, change.went_at))
        ]
        for side in sides:
            moments = [moment for moment, _ in side]
            assert moments == sorted(moments)
            assert all(batch.first <= moment <= batch.last for moment in moments)
        for moment in range(batch.first, batch.last + 1):
            came, went = (Counter(row for at, row in side if at == moment) for side in sides)
            before, bag = bag, bag + came
            assert not went - bag
            bag = bag - went
            assert bag == expected(moment), f"at {moment}"
            assert not exact or (came, went) == (bag - before, before - bag)
