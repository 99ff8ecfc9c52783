"""Shared: the rows of one operator for several readers.

    ΔR is computed for the first that asks in a batch, and given to the others as it is

| batch | first reader | second reader | child is asked |
| ---- | ------------ | ------------- | -------------- |
| 1    | + a          | + a           | once           |
| 2    | - a + b      | - a + b       | once           |

Two copies of an operator that asks endpoints would ask twice, and could get different answers in one step.
"""

from __future__ import annotations

from freshet.native.change import NOTHING, Change, MomentBatch, Operator


class SharedOp:
    """The rows of its child, for readers each of which asks at every batch."""

    def __init__(self, child: Operator) -> None:
        self._child = child
        self._number = 0  # of the batch that the change is of
        self._change = NOTHING  # here a sweep finds it while a reader waits for remote data

    def changes(self, batch: MomentBatch) -> Change:
        if batch.number != self._number:
            self._change = self._child.changes(batch)
            self._number = batch.number
        return self._change
