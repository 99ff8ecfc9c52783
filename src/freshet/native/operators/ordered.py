"""ORDER BY, DISTINCT, OFFSET and LIMIT: the rows of its child in order, from one rank to another.

    Δ(slice(order R)) = slice(order(R + ΔR)) - slice(order R)      at due moments, in O(|ΔR| log |R|)

| due moment | rows     | ORDER BY ?x LIMIT 2 | came | went |
| ---------- | -------- | ------------------- | ---- | ---- |
| 1          | + 5, + 7 | 5, 7                | 5, 7 |      |
| 2          | + 3      | 3, 5                | 3    | 7    |
| 3          | - 5      | 3, 7                | 7    | 5    |

Rows that are equal by all conditions, or where there is none, are in order of arrival; of equal rows the newest goes.
What happens between due moments is seen at the next.
"""

from __future__ import annotations

import numpy as np

from freshet.algebra.expressions import Expression, Variable
from freshet.algebra.free_variables import variables_of
from freshet.expressions.evaluate import evaluate
from freshet.kernels.direct_call import DirectCall
from freshet.kernels.order_keys import OTHER_COLUMNS, SCRATCH_BYTES, TERM_WIDTH, TermArrays, Texts, find_records
from freshet.kernels.order_tree import LINK_WIDTH, NIL, TreeArrays
from freshet.kernels.ordered import (
    FREE,
    LISTED,
    SIZES,
    USED,
    OrderedArrays,
    RowArrays,
    RowEvents,
    Slice,
    ordered_changes,
    ordered_slices,
)
from freshet.native.buffers.accumulators import longer
from freshet.native.buffers.aligned import aligned
from freshet.native.buffers.one_way_index import Ids, OneWayIndex
from freshet.native.change import NOTHING, Change, MomentBatch, Operator
from freshet.native.plan.plan import PlanOrdered
from freshet.native.r2s.bags import as_rows
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.values import value_table, values

_FIRST_CAPACITY = 64
_NO_END = 2**62
_NO_ROWS = Table({}, 0)


class OrderedOp:
    """The slice of its child's rows. It is asked for changes or for slices, always for the same of both."""

    def __init__(self, child: Operator, plan: PlanOrdered, dictionary: Dictionary) -> None:
        self._child = child
        self._dictionary = dictionary
        self._generation = dictionary.generation
        self._variables = plan.variables
        self._conditions = [each.expression for each in plan.conditions]
        others = (variables_of(plan.conditions) & plan.child.names) - set(plan.variables)
        self._names = (*plan.variables, *sorted(others))
        self._slice = _slice(plan)
        self._index, self._groups = OneWayIndex(len(self._names)), OneWayIndex(len(plan.variables))
        rows = _no_rows(OTHER_COLUMNS + TERM_WIDTH * len(plan.conditions))
        self._arrays = OrderedArrays(rows, _empty_tree(), _empty_tree(), self._index.arrays, self._groups.arrays)
        self._room = 0  # rows that fit at least
        self._scratch = np.empty(SCRATCH_BYTES, np.uint8)
        self._nothing = np.empty((0, len(self._names)), np.int64)
        self._no_ids = np.empty((0, len(plan.conditions)), np.int64)
        self._run_changes, self._run_slices = DirectCall(ordered_changes), DirectCall(ordered_slices)

    def __len__(self) -> int:
        """How many rows are kept, those that are to be put out as gone included."""
        sizes = self._arrays.rows.sizes
        return int(sizes.item(USED)) - int(sizes.item(FREE))

    @property
    def held_bytes(self) -> int:
        """What the rows take that are there."""
        rows, tree, members, _, _ = self._arrays
        links = (tree.links, members.links) if self._slice.distinct else (tree.links,)
        row_bytes: int = sum(array.strides[0] for array in (*rows[:-2], *links))
        return len(self) * row_bytes + self._index.held_bytes + self._groups.held_bytes

    def changes(self, batch: MomentBatch) -> Change:
        """The rows that enter the slice and those that leave it, at due moments; at each moment in order."""
        change = self._child.changes(batch)
        if change.is_empty and not (self._arrays.rows.sizes.item(LISTED) and len(batch.due)):
            return NOTHING
        came, came_at, went, went_at = self._run(self._run_changes, change, batch)
        return Change(self._table(came, came_at), came_at, self._table(went, went_at), went_at)

    def slices(self, batch: MomentBatch) -> tuple[Table, Ids]:
        """The whole slice in order at every due moment, and for each row the place of its moment in `batch.due`."""
        slices, places = self._run(self._run_slices, self._child.changes(batch), batch)
        return self._table(slices, places), places

    def _run(self, kernel: DirectCall, change: Change, batch: MomentBatch) -> list[Ids]:
        events = self._events(change)
        if change.came.count > self._room:
            self._make_room(change.came.count)
        self._room -= change.came.count
        if self._dictionary.generation != self._generation:
            self._generation = self._dictionary.generation
            rows = self._arrays.rows
            find_records(self._dictionary.arrays.slots, rows.keys, rows.sizes.item(USED))
        due = np.ascontiguousarray(batch.due)
        found: list[Ids]
        *found, is_known = kernel.run(self._arrays, self._terms(), self._slice, events, due)
        if not is_known:
            values(self._dictionary, events.ids.reshape(-1))  # which are known from then on
            *found, _ = kernel.run(self._arrays, self._terms(), self._slice, events, due)
        return found

    def _events(self, change: Change) -> RowEvents:
        came, came_at, went, went_at = change
        ids = self._no_ids
        if came.count and self._conditions:
            ids = np.empty((came.count, len(self._conditions)), np.int64)
            for at, condition in enumerate(self._conditions):
                ids[:, at] = self._ids(condition, came)
        return RowEvents(
            as_rows(came, self._names) if came.count else self._nothing,
            ids,
            np.ascontiguousarray(came_at),
            as_rows(went, self._names) if went.count else self._nothing,
            np.ascontiguousarray(went_at),
        )

    def _ids(self, condition: Expression, table: Table) -> Ids:
        if isinstance(condition, Variable):
            return table.column(condition.name)
        return evaluate(condition, table.columns, table.count, self._dictionary)

    def _terms(self) -> TermArrays:
        """The texts and values of terms that are known now."""
        slots, heap, _ = self._dictionary.arrays
        return TermArrays(slots, Texts(heap, self._scratch), *value_table(self._dictionary).known)

    def _make_room(self, more: int) -> None:
        """See that `more` rows can come."""
        rows, tree, members = self._arrays[:3]
        self._index.make_room(more)
        if self._slice.distinct:
            self._groups.make_room(more)
        if self._index.capacity > len(rows.newest):
            rows = rows._replace(newest=longer(rows.newest, self._index.capacity, int(NIL)))
        used = rows.sizes.item(USED) - rows.sizes.item(FREE)
        if used + more > len(rows.flags):
            capacity = max(used + more, 2 * len(rows.flags), _FIRST_CAPACITY)
            keys = aligned((capacity, rows.keys.shape[1]), np.int64)
            keys[: len(rows.keys)] = rows.keys
            rows = RowArrays._make([keys, *(longer(array, capacity) for array in rows[1:-2]), *rows[-2:]])
            tree = tree._replace(links=longer(tree.links, capacity))
            if self._slice.distinct:
                members = members._replace(links=longer(members.links, capacity))
        self._arrays = OrderedArrays(rows, tree, members, self._index.arrays, self._groups.arrays)
        self._room = min(self._index.room, len(rows.flags) - used)
        if self._slice.distinct:
            self._room = min(self._room, self._groups.room)

    def _table(self, columns: Ids, moments: Ids) -> Table:
        count = len(moments)
        return Table({name: columns[at] for at, name in enumerate(self._variables)}, count) if count else _NO_ROWS


def _slice(plan: PlanOrdered) -> Slice:
    end = _NO_END if plan.limit is None else min(plan.offset + plan.limit, _NO_END)
    descending = np.array([each.descending for each in plan.conditions], np.bool_)
    return Slice(plan.offset, end, len(plan.variables), plan.distinct, descending)


def _no_rows(width: int) -> RowArrays:
    numbers = np.empty(0, np.int32)
    return RowArrays(
        keys=np.empty((0, width), np.int64),
        entries=numbers,
        older=numbers,
        flags=np.empty(0, np.uint8),
        free=numbers,
        moved=numbers,
        newest=numbers,
        sizes=np.zeros(SIZES, np.int64),
    )


def _empty_tree() -> TreeArrays:
    return TreeArrays(np.empty((0, LINK_WIDTH), np.int32), np.array([NIL, 0], np.int64))
