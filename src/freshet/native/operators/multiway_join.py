"""The multiway join, by increments.

    (R1 + d1) ⋈ R2 ⋈ … = (R1 ⋈ R2 ⋈ …)  ∪  d1 ⋈ (R2 ⋈ …)        rows come: equations 1 and 3
    (R1 - d1) ⋈ R2 ⋈ … = (R1 ⋈ R2 ⋈ …)  ∖  those that point to d1  rows go: equation 2, by pointers

| leaf a (?x ?y) | leaf b (?y ?z) | new results      |
| -------------- | -------------- | ---------------- |
| + (1 2)        | (2 7) (2 8)    | (1 2 7), (1 2 8) |

Variables that an input may leave unbound are not looked up but compared after the look-up: unbound agrees with all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from freshet.algebra.free_variables import variables_of
from freshet.expressions.evaluate import test
from freshet.native.change import Change
from freshet.native.inputs import Input
from freshet.native.one_way_index import Ids, Mask, Rows
from freshet.native.plan import PlanCondition
from freshet.native.result_buffer import Pointers, ResultBuffer
from freshet.native.row_buffer import RowBuffer
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary

EVERY_STEP = 2**62

Home = tuple[int, int]  # an input and its column


@dataclass(slots=True)
class _Found:
    """Rows found so far: pointers into some inputs, and which of their columns have the variables' values."""

    pointers: dict[int, Rows]
    sure: dict[str, Home]  # bound in every row
    perhaps: dict[str, list[Home]]  # bound in some
    conditions: list[tuple[PlanCondition, set[str]]]

    @property
    def count(self) -> int:
        return len(next(iter(self.pointers.values())))


class MultiwayJoinOp:
    """Probes the other inputs with the new rows of each, in the order that the counters say is cheapest.

    The inputs whose rows can go come first. With `overlapping` a pair of two inputs counts only where some variable is
    bound on both sides.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        conditions: Iterable[PlanCondition],
        wanted: Iterable[str],
        dictionary: Dictionary,
        *,
        overlapping: bool = False,
    ) -> None:
        self.inputs = inputs
        self._overlapping = overlapping
        self.seen: int | None = None  # the last step it has taken in
        self._followed = [each.buffer for each in inputs if isinstance(each.buffer, RowBuffer)]
        self._dictionary = dictionary
        self._conditions = [(each, variables_of(each.expression) & each.scope) for each in conditions]
        self._expiring = sum(each.expires for each in inputs)
        self._results = ResultBuffer(len(inputs), self._expiring)
        self._homes = {name: self._homes_of(name) for name in wanted}
        self._nothing = np.empty((0, len(inputs)), np.int32)

    def changes(self, number: int) -> Change:
        came, went = self.pointer_changes(number)
        return Change(self.table(came), self.table(went))

    def rows(self) -> Table:
        return self.table(self._results.live())

    def pointer_changes(self, number: int) -> tuple[Pointers, Pointers]:
        """The results that came and went, as pointers to the inputs' rows."""
        for buffer in self._followed:
            buffer.follow(number)
        went = self._nothing
        if self.seen is None:
            came = self._probe(0, self.inputs[0].buffer.live_rows(), EVERY_STEP, EVERY_STEP)
        else:
            gone = [
                self._results.invalidate(at, rows)
                for at in range(self._expiring)
                if len(rows := self.inputs[at].buffer.dead(self.seen))
            ]
            if gone:
                went = gone[0] if len(gone) == 1 else np.concatenate(gone)
            came = self._fresh(self.seen)
        self.seen = number
        if len(came):
            self._results.add(came, [each.buffer.row_capacity for each in self.inputs[: self._expiring]])
        return came, went

    def live(self) -> Pointers:
        """The pointers of all results."""
        return self._results.live()

    def table(self, pointers: Pointers) -> Table:
        """The values of the wanted variables."""
        columns = {name: self._column(pointers, homes) for name, homes in self._homes.items() if homes}
        return Table(columns, len(pointers))

    def _homes_of(self, name: str) -> list[Home]:
        homes = [(at, each.names.index(name)) for at, each in enumerate(self.inputs) if name in each.names]
        sure = [home for home in homes if name in self.inputs[home[0]].certain]
        return sure[:1] or homes

    def _column(self, pointers: Pointers, homes: list[Home]) -> Ids:
        values: Ids | None = None
        for at, column in homes:
            found: Ids = self.inputs[at].buffer.values[pointers[:, at], column]
            values = found if values is None else np.where(values != 0, values, found)
        assert values is not None
        return values

    def _fresh(self, since: int) -> Pointers:
        """The results that the rows born after a step add.

        A result of several new rows is found once: from the last of them, since a probe sees the new rows only of
        the inputs before its own.
        """
        found = [
            self._probe(at, rows, EVERY_STEP, since + 1)
            for at, each in enumerate(self.inputs)
            if len(rows := each.buffer.fresh(since))
        ]
        found = [each for each in found if len(each)]
        if not found:
            return self._nothing
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _probe(self, start: int, rows: Rows, before_earlier: int, before_later: int) -> Pointers:
        for each in self.inputs:
            if each.buffer.live == 0:
                return self._nothing
        found = _Found({start: rows}, {}, {}, list(self._conditions))
        self._bind(found, start)
        self._filter(found)
        while len(found.pointers) < len(self.inputs) and len(found.pointers[start]):
            at, columns = self._cheapest(found)
            buffer, names = self.inputs[at].buffer, self.inputs[at].names
            keys = np.empty((found.count, len(columns)), np.int64)
            for place, column in enumerate(columns):
                keys[:, place] = self._value(found, names[column])
            before = before_later if at > start else before_earlier
            lefts, hits = buffer.index_on(columns).probe(keys, buffer.born, before)
            for other, held in found.pointers.items():
                found.pointers[other] = held[lefts]
            found.pointers[at] = self._agreeing(found, at, columns, hits)
            self._bind(found, at)
            self._filter(found)
        self._filter(found, at_last=True)
        if self._overlapping and len(found.pointers) == len(self.inputs):
            self._keep(found, self._overlap(found))
        if not len(found.pointers[start]):
            return self._nothing
        return np.column_stack([found.pointers[at] for at in range(len(self.inputs))])

    def _cheapest(self, found: _Found) -> tuple[int, tuple[int, ...]]:
        """The next input to probe, and on which columns: fewest rows to expect for each probe (algorithm 5)."""
        best: tuple[tuple[bool, float], int, tuple[int, ...]] | None = None
        for at, each in enumerate(self.inputs):
            if at in found.pointers:
                continue
            columns = tuple(
                column for column, name in enumerate(each.names) if name in found.sure and name in each.certain
            )
            # Inputs that share nothing with what is bound come last; the index on no columns is made only for them.
            rows = each.buffer.index_on(columns).rows_per_key() if columns else each.buffer.live
            cost = (not columns, rows)
            if best is None or cost < best[0]:
                best = (cost, at, columns)
        assert best is not None
        return best[1], best[2]

    def _agreeing(self, found: _Found, at: int, columns: tuple[int, ...], hits: Rows) -> Rows:
        """Keep the pairs that agree on what one side may leave unbound."""
        keep: Mask | None = None
        for column, name in enumerate(self.inputs[at].names):
            if column in columns or not (name in found.sure or name in found.perhaps):
                continue
            here, there = self.inputs[at].buffer.values[hits, column], self._value(found, name)
            same = (here == there) | (here == 0) | (there == 0)
            keep = same if keep is None else keep & same
        if keep is None:
            return hits
        self._keep(found, keep)
        return hits[keep]

    def _bind(self, found: _Found, at: int) -> None:
        each = self.inputs[at]
        for column, name in enumerate(each.names):
            if name in each.certain:
                found.sure.setdefault(name, (at, column))
            else:
                found.perhaps.setdefault(name, []).append((at, column))

    def _value(self, found: _Found, name: str) -> Ids:
        homes = [found.sure[name]] if name in found.sure else found.perhaps[name]
        values: Ids | None = None
        for at, column in homes:
            ids: Ids = self.inputs[at].buffer.values[found.pointers[at], column]
            values = ids if values is None else np.where(values != 0, values, ids)
        assert values is not None
        return values

    def _filter(self, found: _Found, *, at_last: bool = False) -> None:
        """Apply, and strike off, every condition whose variables are all bound now, or whatever they are at last."""
        for pair in list(found.conditions):
            condition, names = pair
            if not (at_last or names <= found.sure.keys()):
                continue
            found.conditions.remove(pair)
            count = found.count
            if count == 0:
                continue
            columns = {name: self._value(found, name) for name in names if name in found.sure or name in found.perhaps}
            self._keep(found, test(condition.expression, columns, count, self._dictionary))

    def _overlap(self, found: _Found) -> Mask:
        left, right = self.inputs
        overlap: Mask = np.zeros(found.count, np.bool_)
        for column, name in enumerate(left.names):
            if name in right.names:
                others = right.buffer.values[found.pointers[1], right.names.index(name)]
                overlap |= (left.buffer.values[found.pointers[0], column] != 0) & (others != 0)
        return overlap

    @staticmethod
    def _keep(found: _Found, keep: Mask) -> None:
        if not keep.all():
            for at, held in found.pointers.items():
                found.pointers[at] = held[keep]
