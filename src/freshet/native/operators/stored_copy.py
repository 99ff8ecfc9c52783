"""The rows of a stored leaf that has few, in arrays, so that a join with them is one call of a kernel.

A stored leaf reads the store in place, which Python has to do: a look-up in the midst of a join costs some 20 µs. Few
rows are better copied, once for all queries of a group. Where they become many, leaves are read in place again.
"""

from __future__ import annotations

from collections.abc import Sequence

from freshet.native.buffers.inputs import Input
from freshet.native.buffers.row_buffer import RowBuffer
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.change import MomentBatch
from freshet.native.operators.scan import ScanOp

FEW_STORED = 1 << 12  # rows of a leaf that are copied
MANY_STORED = 1 << 14  # rows of a copy that are too many


class StoredCopy(RowBuffer):
    """A row buffer that follows a stored leaf. Its group lets it follow, right after the leaf's own step."""

    def __init__(self, leaf: StoredLeaf) -> None:
        names = tuple(map(str, range(len(leaf.pattern.columns))))
        super().__init__(ScanOp(Input(leaf, names, frozenset(names), False), frozenset(names)), names)
        self._leaf = leaf
        self._is_new = True

    @property
    def is_outgrown(self) -> bool:
        """Whether it has more rows than are worth a copy."""
        return self.live > MANY_STORED

    @property
    def is_settled(self) -> bool:
        """Whether nothing has begun in the last batch that it followed."""
        return not self._is_new and not len(self._fresh)

    def rows_per_value(self, columns: Sequence[int]) -> float:
        """How many rows there are for each value of some columns, by what the leaf knew last."""
        rows, distinct = self._leaf.sizes()
        return rows / max(1, *(distinct[column] for column in columns))

    def follow_leaf(self, batch: MomentBatch, *, changed: bool) -> None:
        """Take in what begins in a batch; `changed` says whether anything does."""
        if changed or self._is_new or len(self._fresh):
            self._is_new = False
            self.follow(batch)
