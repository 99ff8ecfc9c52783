"""What follows deletions: operators are made anew, over the same windows and the graphs as they are then.

    Δanswer = Q(windows, graphs without the triples) - Q(windows, graphs)

Rows of stored leaves never end, so where stored triples are deleted that a query can read, all rows of its answer go at
the first moment of the next batch, and come again as far as they still hold. Leaf buffers of windows stay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from freshet.native.buffers.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.buffers.leaf_view import LeafView
from freshet.native.buffers.row_buffer import RowBuffer
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.change import MomentBatch, Operator
from freshet.native.plan.build import Builder
from freshet.native.plan.plan import Names, PlanNode, Source
from freshet.oneshot.table import Table

_ANOTHER = -1  # the number of no batch


class QueryLeaves(Protocol):
    """The leaf buffers that a query reads."""

    requested: list[LeafBuffer | StoredLeaf]

    def leaf(self, source: Source, pattern: LeafPattern) -> LeafBuffer | LeafView | StoredLeaf: ...
    def copy_of(self, leaf: StoredLeaf) -> RowBuffer | None: ...


class Rebuild:
    """How the operators of a query are made, once more."""

    def __init__(self, builder: Builder, leaves: QueryLeaves, node: PlanNode, wanted: Names) -> None:
        # The results of the topmost join end, too: what holds is compared with what held.
        self._builder = replace(builder, endless=None)
        self._leaves = leaves
        self._node = node
        self._wanted = wanted

    def root(self) -> Operator:
        """Operators that give everything when they are asked for the first time."""
        parameters = self._builder.parameters
        if parameters is not None:
            parameters.restart()
        self._leaves.requested.clear()
        return self._builder.again().build(self._node, self._wanted)

    def rows_before(self, moment: int) -> Table:
        """The whole answer by what leaves have, of which none has been stepped to the batch that begins at a moment."""
        parameters = self._builder.parameters
        builder = replace(
            self._builder.again(), measurements=None, parameters=None if parameters is None else parameters.before()
        )
        batch = MomentBatch(_ANOTHER, moment, moment, np.empty(0, np.int64))
        return builder.build(self._node, self._wanted).changes(batch).came
