"""The multiway join over a batch of arrivals, with the answers of one at a time (seed 000, algorithms 3 to 5).

    born at m:  rows r1 … rn that join, each alive at m, one of them born at m          equations 1 and 3
    died at m:  results one of whose rows died at m, by pointers                        equation 2

A result is born with the last of its rows, so the new rows of each leaf probe the others for rows that are alive at
that moment; of rows born at the same moment the one of the last leaf finds the result. It dies with the first of them.

| moment | leaf a (?x ?y) | leaf b (?y ?z) | born    | died    |
| ------ | -------------- | -------------- | ------- | ------- |
| 1      | + (1 2)        |                |         |         |
| 2      |                | + (2 7)        | (1 2 7) |         |
| 3      | - (1 2)        | + (2 8)        |         | (1 2 7) |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from freshet.algebra.free_variables import variables_of
from freshet.expressions.evaluate import test
from freshet.kernels.lives import OPEN, lower_deaths, moment_order
from freshet.native.arrival_leaf import ArrivalLeaf
from freshet.native.one_way_index import Ids
from freshet.native.plan import PlanFilter
from freshet.native.result_buffer import Pointers, ResultBuffer
from freshet.rdf.dictionary import Dictionary

Bound = dict[str, tuple[int, int]]


class Timed(NamedTuple):
    """Results as pointers to leaf rows, in order of the moments beside them."""

    pointers: Pointers
    moments: Ids


class ArrivalJoinOp:
    """Gives the results that were born in a batch, and where `deaths` is set those that died."""

    def __init__(
        self,
        leaves: Sequence[ArrivalLeaf],
        names: Sequence[tuple[str, ...]],
        filters: Iterable[PlanFilter] = (),
        dictionary: Dictionary | None = None,
        *,
        deaths: bool = False,
    ) -> None:
        self._leaves = leaves
        self._names = names
        self._dictionary = dictionary
        self._filters = [(f, variables_of(f.condition) & f.scope) for f in filters]
        self._home: Bound = {}
        for leaf, columns in enumerate(names):
            for column, name in enumerate(columns):
                self._home.setdefault(name, (leaf, column))
        self.results = ResultBuffer(len(leaves), len(leaves)) if deaths else None

    def step(self, first: int, steps: int) -> tuple[Timed, Timed]:
        """What was born and what died in a batch that the leaves have let in: moments first to first + steps."""
        found = [self._probe(at) for at, leaf in enumerate(self._leaves) if len(leaf.born)]
        found = [part for part in found if len(part.moments)]
        born = _in_order(found, len(self._leaves), first, steps)
        if self.results is None:
            return born, self._nothing()
        return born, _in_order(self._died(born), len(self._leaves), first, steps)

    def column(self, pointers: Pointers, name: str) -> Ids:
        """The values of a variable."""
        return self._value(pointers, self._home, name)

    def columns(self, pointers: Pointers, names: Iterable[str]) -> dict[str, Ids]:
        return {name: self.column(pointers, name) for name in names if name in self._home}

    def _died(self, born: Timed) -> list[Timed]:
        """The deaths of a batch; the results that are still alive are kept for the batches to come."""
        assert self.results is not None
        gone = [
            self.results.invalidate(at, leaf.dead)
            for at, leaf in enumerate(self._leaves)
            if len(leaf.dead) and len(self.results)
        ]
        parts = [Timed(pointers, self._deaths(pointers)) for pointers in gone if len(pointers)]
        if len(born.moments):
            deaths = self._deaths(born.pointers)
            alive = deaths == OPEN
            if alive.all():
                kept = born.pointers
            else:
                kept = born.pointers[alive]
                parts.append(Timed(born.pointers[~alive], deaths[~alive]))
            self.results.add(kept, [leaf.row_capacity for leaf in self._leaves])
        return parts

    def _deaths(self, pointers: Pointers) -> Ids:
        deaths = np.full(len(pointers), OPEN)
        for at, leaf in enumerate(self._leaves):
            if len(leaf.dead):
                lower_deaths(deaths, pointers, at, leaf.arrays.deaths)
        return deaths

    def _probe(self, start: int) -> Timed:
        """The results whose last row is one of the new rows of a leaf."""
        leaf = self._leaves[start]
        if any(other.present == 0 for other in self._leaves):
            return self._nothing()
        pointers = np.empty((len(leaf.born), len(self._leaves)), np.int32)
        pointers[:, start] = leaf.born
        found = Timed(pointers, leaf.arrays.births[leaf.born])
        bound = {name: (start, column) for column, name in enumerate(self._names[start])}
        filters = list(self._filters)
        found = self._filter(found, bound, filters)
        done = {start}
        while len(done) < len(self._leaves) and len(found.moments):
            following, columns = self._cheapest(done, bound)
            names = self._names[following]
            keys = np.empty((len(found.moments), len(columns)), np.int64)
            for at, column in enumerate(columns):
                keys[:, at] = self._value(found.pointers, bound, names[column])
            index = self._leaves[following].index_on(columns)
            lives = self._leaves[following].arrays
            found = Timed(*index.probe_alive(lives, keys, *found, following, ties=following < start))
            done.add(following)
            for column, name in enumerate(names):
                bound.setdefault(name, (following, column))
            found = self._filter(found, bound, filters)
        return found

    def _cheapest(self, done: set[int], bound: Bound) -> tuple[int, tuple[int, ...]]:
        """The next leaf to probe, and on which columns: fewest rows to expect for each probe (algorithm 5)."""
        best: tuple[tuple[bool, float], int, tuple[int, ...]] | None = None
        for leaf, names in enumerate(self._names):
            if leaf in done:
                continue
            columns = tuple(column for column, name in enumerate(names) if name in bound)
            # Leaves that share nothing with what is bound come last; the index on no columns is made only for them.
            rows = self._leaves[leaf].index_on(columns).rows_per_key() if columns else self._leaves[leaf].present
            cost = (not columns, rows)
            if best is None or cost < best[0]:
                best = (cost, leaf, columns)
        assert best is not None
        return best[1], best[2]

    def _value(self, pointers: Pointers, bound: Bound, name: str) -> Ids:
        leaf, column = bound[name]
        values: Ids = self._leaves[leaf].values[pointers[:, leaf], column]
        return values

    def _filter(self, found: Timed, bound: Bound, filters: list[tuple[PlanFilter, set[str]]]) -> Timed:
        """Apply, and strike off, every filter whose variables are all bound now."""
        for pair in [pair for pair in filters if pair[1] <= bound.keys()]:
            filters.remove(pair)
            if len(found.moments) == 0:
                continue
            assert self._dictionary is not None
            columns = {name: self._value(found.pointers, bound, name) for name in pair[1]}
            keep = test(pair[0].condition, columns, len(found.moments), self._dictionary)
            if not keep.all():
                found = Timed(found.pointers[keep], found.moments[keep])
        return found

    def _nothing(self) -> Timed:
        return Timed(np.empty((0, len(self._leaves)), np.int32), np.empty(0, np.int64))


def _in_order(parts: Sequence[Timed], width: int, first: int, steps: int) -> Timed:
    """Several lots of results as one, in order of moment."""
    if not parts:
        return Timed(np.empty((0, width), np.int32), np.empty(0, np.int64))
    pointers = np.concatenate([part.pointers for part in parts])
    moments = np.concatenate([part.moments for part in parts])
    order = moment_order(moments, first, steps)
    return Timed(pointers[order], moments[order])
