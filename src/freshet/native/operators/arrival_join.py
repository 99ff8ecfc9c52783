"""The multiway join over a batch of arrivals, with the answers of one at a time.

The operator-aware structures' algorithms 3 to 5:

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

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np

from freshet.kernels.alive import SOURCES, by_moment, column_of, join_born, ranking_of, result_deaths, results_born
from freshet.kernels.arrival_batches import pass_through, pass_through_kept
from freshet.kernels.lives import ENTRY, LINK_WIDTH, LINKS, OPEN
from freshet.native.arrival_leaf import ArrivalLeaves
from freshet.native.arrival_source import ArrivalSource, Ready
from freshet.native.direct_call import DirectCall
from freshet.native.one_way_index import Ids, Mask
from freshet.native.operators.arrival_instant import InstantJoin
from freshet.native.result_buffer import Pointers, ResultBuffer

_RANKED_ROWS = 256


class Timed(NamedTuple):
    """Results as pointers to leaf rows, in order of the moments beside them."""

    pointers: Pointers
    moments: Ids


class ArrivalJoinOp:
    """Gives the results that were born in a batch, and where `deaths` is set those that died.

    Only where deaths are asked for are results kept from one batch to the next; those of a single leaf are its rows,
    and need not be kept at all.
    """

    def __init__(self, leaves: ArrivalLeaves, *, deaths: bool = False) -> None:
        self._leaves = leaves
        self._names = [leaf.names for leaf in leaves.leaves]
        self._home: dict[str, tuple[int, int]] = {}
        for leaf, columns in enumerate(self._names):
            for column, name in enumerate(columns):
                self._home.setdefault(name, (leaf, column))
        self._orders: dict[int, Ids] = {}
        self._current = np.empty((0, 0, 0), np.int64)  # the orders as last chosen
        self._until_ranking = 0  # new rows until they are chosen again
        self._ranking = DirectCall(ranking_of)
        self._step_width = SOURCES + 2 * leaves.key_columns
        self.keeps_results = deaths
        self._pass_through, self._pass_through_kept = DirectCall(pass_through), DirectCall(pass_through_kept)
        self.results = ResultBuffer(len(self._names), len(self._names))
        self._instant = InstantJoin(leaves, self.results, keeps=deaths)

    def step(self, first: int, steps: int) -> tuple[Timed, Timed]:
        """What was born and what died in a batch that the leaves have let in: moments first to first + steps."""
        leaves, orders = self._leaves, self._probing_orders(len(self._leaves.batch.born))
        pointers, births = results_born(
            leaves.ring_entries.arrays,
            leaves.life.records,
            leaves.values,
            leaves.batch,
            orders,
        )
        born = _in_order(pointers, births, first, steps)
        if not self.keeps_results:
            return born, Timed(born.pointers[:0], born.moments[:0])
        died = self._died(born)
        return born, died if len(died.moments) < 2 else _in_order(*died, first, steps)

    def pass_through(self, source: ArrivalSource, ready: Ready, kept_out: Mask, homes: Ids) -> Ids:
        """Let a batch in and out in one go: the results born, their times and then columns as `homes` says."""
        orders = self._make_ready(source, ready)
        rows: Ids
        rows, source.steps = self._pass_through.run(
            source.plain_plans,
            len(source.streams),
            (*ready.elements, ready.offsets, source.numbers, kept_out),
            self._leaves.arrays,
            orders,
            homes,
            source.first,
        )
        return rows

    def pass_through_kept(self, source: ArrivalSource, ready: Ready, kept_out: Mask, homes: Ids) -> tuple[Ids, Ids]:
        """As `pass_through`: the results that were born and those that died."""
        orders = self._make_ready(source, ready)
        born: Ids
        died: Ids
        born, died, left_over, source.steps = self._pass_through_kept.run(
            source.plain_plans,
            len(source.streams),
            (*ready.elements, ready.offsets, source.numbers, kept_out),
            self._leaves.arrays,
            tuple(self.results.arrays),
            orders,
            homes,
            source.first,
        )
        if len(left_over):
            self.results.add(left_over, [self._leaves.row_capacity])
        return born, died

    def pass_instant(self, source: ArrivalSource, ready: Ready, kept_out: Mask, homes: Ids) -> tuple[Ids, Ids]:
        """As `pass_through_kept` for a few elements of one instant, without times; good until the next step.

        Where results are not kept nothing is said of those that died.
        """
        orders = self._probing_orders(len(ready.elements.times))
        self._leaves.make_room([len(ready.elements.times)] * len(self._names))
        return self._instant.step(source, ready, kept_out, orders, homes)

    def _make_ready(self, source: ArrivalSource, ready: Ready) -> Ids:
        """See that a batch fits; gives the probing orders."""
        orders = self._probing_orders(len(ready.elements.times))
        self._leaves.make_room(source.most_arrivals(ready))
        return orders

    def all(self, moment: int) -> Pointers:
        """Every result that is alive at the last moment, from scratch."""
        last = len(self._names) - 1
        rows = self._leaves.live_rows(last)
        ends = np.zeros(last + 2, np.int64)
        ends[-1] = len(rows)
        orders = np.zeros((last + 1, last, self._step_width), np.int64)
        orders[last] = np.array(self._order(last), np.int64).reshape(last, self._step_width)
        leaves = self._leaves
        pointers: Pointers
        pointers, _ = join_born(
            leaves.ring_entries.arrays,
            leaves.life.records,
            leaves.values,
            rows,
            np.full(len(rows), moment),
            ends,
            orders,
        )
        return pointers

    def column(self, pointers: Pointers, name: str) -> Ids:
        """The values of a variable."""
        leaf, column = self._home[name]
        if len(pointers) == 1:  # a kernel takes longer to be called
            return np.array([self._leaves.values.item(pointers.item(0, leaf), 1 + column)], np.int64)
        values: Ids = column_of(self._leaves.values, pointers, leaf, 1 + column)
        return values

    def columns(self, pointers: Pointers, names: Iterable[str]) -> dict[str, Ids]:
        return {name: self.column(pointers, name) for name in names if name in self._home}

    def _died(self, born: Timed) -> Timed:
        """The deaths of a batch; the results that are still alive are kept for the batches to come."""
        records = self._leaves.life.records
        if len(self._names) == 1:
            rows = self._leaves.batch.dead.reshape(-1, 1)
            return Timed(rows, result_deaths(records, rows))
        gone = [
            self.results.invalidate(leaf, rows)
            for leaf in range(len(self._names))
            if len(rows := self._leaves.dead(leaf))
        ]
        if not gone and len(born.moments) == 0:
            return born
        deaths = result_deaths(records, born.pointers)
        alive = deaths == OPEN
        self.results.add(born.pointers[alive], [self._leaves.row_capacity])
        pointers = np.concatenate((*gone, born.pointers[~alive]))
        return Timed(pointers, result_deaths(records, pointers))

    def homes(self, names: Iterable[str]) -> Ids:
        """For each variable the leaf and the column that has its values; -1 where none has."""
        return np.array([self._home.get(name, (-1, -1)) for name in names], np.int64).reshape(-1, 2)

    def _probing_orders(self, new_rows: int) -> Ids:
        """For every leaf the order in which its new rows, of which there are so many, probe the others.

        Each step takes the leaf with the fewest rows to expect for a probe (algorithm 5). That depends only on how the
        ring indexes rank by this, so orders are computed once for each ranking. Small batches together count as one.
        """
        self._until_ranking -= new_rows
        if self._until_ranking > 0:
            return self._current
        self._until_ranking = _RANKED_ROWS
        ranking = self._ranking.run(self._leaves.rings.sizes)
        orders = self._orders.get(ranking)
        if orders is None:
            count = len(self._leaves.rings.sizes)
            found = [self._order(start) for start in range(len(self._names))]
            if len(self._leaves.rings.sizes) > count:  # indexes were made on the way, which may rank elsewhere
                self._until_ranking = 0
                return self._probing_orders(new_rows)
            orders = np.array(found, np.int64).reshape(len(self._names), len(self._names) - 1, self._step_width)
            self._orders[ranking] = orders
        self._current = orders
        return orders

    def _order(self, start: int) -> list[list[int]]:
        bound = {name: (start, column) for column, name in enumerate(self._names[start])}
        steps: list[list[int]] = []
        done = {start}
        while len(done) < len(self._names):
            leaf, columns = self._cheapest(done, bound)
            sources = [bound[self._names[leaf][column]] for column in columns]
            padding = self._leaves.key_columns - len(columns)
            index = self._leaves.index_on(leaf, columns)
            near = self._leaves.sharing(index, done)
            via = (-1, -1) if near is None else (near.leaf, LINKS + LINK_WIDTH * near.slot + ENTRY)
            steps.append([index.variables, index.word, leaf, index.slot, *via, *chain(*sources), *[-1, -1] * padding])
            done.add(leaf)
            for column, name in enumerate(self._names[leaf]):
                bound.setdefault(name, (leaf, column))
        return steps

    def _cheapest(self, done: set[int], bound: dict[str, tuple[int, int]]) -> tuple[int, tuple[int, ...]]:
        """The next leaf to probe, and on which columns; leaves that share nothing with what is bound come last."""
        best: tuple[tuple[bool, int], int, tuple[int, ...]] | None = None
        for leaf, names in enumerate(self._names):
            if leaf in done:
                continue
            # In order of their names: ring indexes on the same variables share their keys.
            columns = tuple(names.index(name) for name in sorted(set(names).intersection(bound)))
            cost = (not columns, self._expected(leaf, columns) if columns else self._leaves.arrivals_inside(leaf))
            if best is None or cost < best[0]:
                best = (cost, leaf, columns)
        assert best is not None
        return best[1], best[2]

    def _expected(self, leaf: int, columns: tuple[int, ...]) -> int:
        index = self._leaves.index_on(leaf, columns)
        return self._leaves.rows_per_key()[index.number]


def _in_order(pointers: Pointers, moments: Ids, first: int, steps: int) -> Timed:
    return Timed(*by_moment(pointers, moments, first, steps))
