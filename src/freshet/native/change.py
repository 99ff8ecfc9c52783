"""What operators hand on: how a bag of rows changes from moment to moment in a batch.

Moments are integers in order of event time (`freshet.native.moments`). A row that comes at moment b and goes at moment
d holds at every moment m with b <= m < d: that is its life. A batch has all moments that the watermarks allow at once,
so that Python runs once per batch and operator, and loops over rows and moments run in kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from freshet.native.buffers.one_way_index import Ids
from freshet.native.moments import OPEN as OPEN
from freshet.native.streams.stream import is_in_order
from freshet.oneshot.table import Table, stack_tables

_NO_MOMENTS = np.empty(0, np.int64)


class MomentBatch(NamedTuple):
    """The moments from `first` to `last`, both included, and those among them at which the query is evaluated (`due`,
    in order). Batches follow each other without a gap, and are numbered from 1.
    """

    number: int
    first: int
    last: int
    due: Ids


class Change(NamedTuple):
    """The rows that come and go in a batch, each with its moment, both in order of moments.

    At one moment rows come before others go, so that a row that goes and comes at once is there throughout.
    A row that goes is equal to one that came, in this batch or before.
    """

    came: Table
    came_at: Ids
    went: Table
    went_at: Ids

    @property
    def is_empty(self) -> bool:
        return len(self.came_at) == 0 == len(self.went_at)


NOTHING = Change(Table({}, 0), _NO_MOMENTS, Table({}, 0), _NO_MOMENTS)


def stack_changes(change: Change) -> tuple[Table, Ids, Ids]:
    """The rows that come, and behind them those that go, and the moments of both."""
    came, went = change.came, change.went
    if went.count == 0 or came.count == 0:
        return came if went.count == 0 else went, change.came_at, change.went_at
    if came.columns.keys() != went.columns.keys():
        return stack_tables([came, went]), change.came_at, change.went_at
    columns = {name: np.concatenate((ids, went.columns[name])) for name, ids in came.columns.items()}
    return Table(columns, came.count + went.count), change.came_at, change.went_at


def merge_changes(changes: Sequence[Change]) -> Change:
    """The changes of several in a batch as one."""
    some = [each for each in changes if not each.is_empty]
    if not some:
        return NOTHING
    if len(some) == 1:
        return some[0]
    return Change(
        *_merge([(each.came, each.came_at) for each in some]), *_merge([(each.went, each.went_at) for each in some])
    )


def _merge(parts: Sequence[tuple[Table, Ids]]) -> tuple[Table, Ids]:
    parts = [part for part in parts if len(part[1])]
    if not parts:
        return NOTHING.came, _NO_MOMENTS
    if len(parts) == 1:
        return parts[0]
    table, moments = stack_tables([table for table, _ in parts]), np.concatenate([moments for _, moments in parts])
    if is_in_order(moments):
        return table, moments
    order = np.argsort(moments, kind="stable")
    return table.take(order), moments[order]


class Operator(Protocol):
    """A bag of rows that follows its inputs. It is asked once per batch; the first time it gives everything."""

    def changes(self, batch: MomentBatch) -> Change: ...


@runtime_checkable
class StackedChanges(Operator, Protocol):
    """An operator that has what comes and goes one behind the other."""

    def stacked_changes(self, batch: MomentBatch) -> tuple[Table, Ids, Ids]:
        """As `stack_changes` gives its changes."""


def stacked_changes_of(operator: Operator) -> Callable[[MomentBatch], tuple[Table, Ids, Ids]]:
    """What gives the changes of an operator one behind the other."""
    if isinstance(operator, StackedChanges):
        return operator.stacked_changes
    return lambda batch: stack_changes(operator.changes(batch))


class RowsAtHand(Operator, Protocol):
    """An operator that has all rows which hold after a batch."""

    def rows(self) -> Table: ...
