"""The multiway join, by increments.

    (R1 + d1) ⋈ R2 ⋈ … = (R1 ⋈ R2 ⋈ …)  ∪  d1 ⋈ (R2 ⋈ …)        rows come: equations 1 and 3
    (R1 - d1) ⋈ R2 ⋈ … = (R1 ⋈ R2 ⋈ …)  ∖  those that point to d1  rows go: equation 2, by pointers

| leaf a (?x ?y) | leaf b (?y ?z) | new results      |
| -------------- | -------------- | ---------------- |
| + (1 2)        | (2 7) (2 8)    | (1 2 7), (1 2 8) |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from freshet.algebra.free_variables import variables_of
from freshet.expressions.evaluate import test
from freshet.native.leaf_buffer import LeafBuffer
from freshet.native.one_way_index import Ids, Rows
from freshet.native.plan import PlanFilter
from freshet.native.result_buffer import Pointers
from freshet.rdf.dictionary import Dictionary

EVERY_STEP = 2**62


class MultiwayJoinOp:
    """Probes the other leaves with the new rows of each, in the order that the counters say is cheapest."""

    def __init__(
        self,
        leaves: Sequence[LeafBuffer],
        names: Sequence[tuple[str, ...]],
        filters: Iterable[PlanFilter],
        dictionary: Dictionary,
    ) -> None:
        self._leaves = leaves
        self._names = names
        self._dictionary = dictionary
        self._filters = [(f, variables_of(f.condition) & f.scope) for f in filters]
        self._home: dict[str, tuple[int, int]] = {}
        for leaf, columns in enumerate(names):
            for column, name in enumerate(columns):
                self._home.setdefault(name, (leaf, column))

    def all(self) -> Pointers:
        """Every result there is, from scratch."""
        rows = self._leaves[0].live_rows()
        return self._probe(0, rows, EVERY_STEP, EVERY_STEP)

    def fresh(self, since: int) -> Pointers:
        """The results that the rows born after a step add.

        A result of several new rows is found once: from the last of them, since a probe sees the new rows only of
        the leaves before its own.
        """
        found = [
            self._probe(at, rows, EVERY_STEP, since + 1)
            for at, leaf in enumerate(self._leaves)
            if len(rows := leaf.fresh(since))
        ]
        return np.concatenate(found) if found else np.empty((0, len(self._leaves)), np.int32)

    def column(self, pointers: Pointers, name: str) -> Ids:
        """The values of a variable."""
        leaf, column = self._home[name]
        values: Ids = self._leaves[leaf].values[pointers[:, leaf], column]
        return values

    def columns(self, pointers: Pointers, names: Iterable[str]) -> dict[str, Ids]:
        return {name: self.column(pointers, name) for name in names if name in self._home}

    def _probe(self, start: int, rows: Rows, before_earlier: int, before_later: int) -> Pointers:
        nothing = np.empty((0, len(self._leaves)), np.int32)
        if any(leaf.live == 0 for leaf in self._leaves):
            return nothing
        pointers: dict[int, Rows] = {start: rows}
        bound = {name: (start, column) for column, name in enumerate(self._names[start])}
        filters = list(self._filters)
        pointers = self._filter(pointers, bound, filters)
        while len(pointers) < len(self._leaves) and len(pointers[start]):
            leaf, columns = self._cheapest(pointers, bound)
            buffer, names = self._leaves[leaf], self._names[leaf]
            keys = np.empty((len(pointers[start]), len(columns)), np.int64)
            for at, column in enumerate(columns):
                keys[:, at] = self._value(pointers, bound, names[column])
            before = before_later if leaf > start else before_earlier
            lefts, hits = buffer.index_on(columns).probe(keys, buffer.born, before)
            pointers = {other: held[lefts] for other, held in pointers.items()}
            pointers[leaf] = hits
            for column, name in enumerate(names):
                bound.setdefault(name, (leaf, column))
            pointers = self._filter(pointers, bound, filters)
        if not len(pointers[start]):
            return nothing
        return np.column_stack([pointers[leaf] for leaf in range(len(self._leaves))])

    def _cheapest(self, done: dict[int, Rows], bound: dict[str, tuple[int, int]]) -> tuple[int, tuple[int, ...]]:
        """The next leaf to probe, and on which columns: fewest rows to expect for each probe (algorithm 5)."""
        best: tuple[tuple[bool, float], int, tuple[int, ...]] | None = None
        for leaf, names in enumerate(self._names):
            if leaf in done:
                continue
            columns = tuple(column for column, name in enumerate(names) if name in bound)
            # Leaves that share nothing with what is bound come last; the index on no columns is made only for them.
            rows = self._leaves[leaf].index_on(columns).rows_per_key() if columns else self._leaves[leaf].live
            cost = (not columns, rows)
            if best is None or cost < best[0]:
                best = (cost, leaf, columns)
        assert best is not None
        return best[1], best[2]

    def _value(self, pointers: dict[int, Rows], bound: dict[str, tuple[int, int]], name: str) -> Ids:
        leaf, column = bound[name]
        values: Ids = self._leaves[leaf].values[pointers[leaf], column]
        return values

    def _filter(
        self,
        pointers: dict[int, Rows],
        bound: dict[str, tuple[int, int]],
        filters: list[tuple[PlanFilter, set[str]]],
    ) -> dict[int, Rows]:
        """Apply, and strike off, every filter whose variables are all bound now."""
        for pair in [pair for pair in filters if pair[1] <= bound.keys()]:
            filters.remove(pair)
            count = len(next(iter(pointers.values())))
            if count == 0:
                continue
            columns = {name: self._value(pointers, bound, name) for name in pair[1]}
            keep = test(pair[0].condition, columns, count, self._dictionary)
            if not keep.all():
                pointers = {leaf: held[keep] for leaf, held in pointers.items()}
        return pointers
