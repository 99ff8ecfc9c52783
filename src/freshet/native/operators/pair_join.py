"""The join of two inputs on variables that both always bind, by increments, with a step in one call of a kernel.

    Δ(R ⋈ S) = ΔR ⋈ S  ∪  (R + ΔR) ⋈ ΔS

| R (?x ?y) | S (?y ?z)       | out                  |
| --------- | --------------- | -------------------- |
| + (1 2)   |                 |                      |
|           | + (2 7)         | + (1 2 7)            |
|           | + (2 8) - (2 7) | + (1 2 8), - (1 2 7) |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from freshet.kernels.few_rows import pair_step_few
from freshet.kernels.pair_join import pair_step, pair_values
from freshet.native.change import Change
from freshet.native.direct_call import DirectCall
from freshet.native.inputs import NOTHING_MOVED, Input, Moved
from freshet.native.leaf_buffer import LeafBuffer
from freshet.native.one_way_index import Ids
from freshet.native.result_buffer import ResultBuffer
from freshet.native.ring_index import RingIndex
from freshet.native.row_buffer import RowBuffer
from freshet.native.stored_leaf import StoredLeaf
from freshet.oneshot.table import Table

_EVERY_STEP = 2**62
_FIRST_ROOM = 64  # rows; a step with more gets arrays of its own
_NO_TABLE = Table({}, 0)
_NOTHING = Change(_NO_TABLE, _NO_TABLE)


def is_pair(inputs: Sequence[Input]) -> bool:
    """Whether there are two inputs with rows of their own, and what they share is bound in every row of both."""
    if len(inputs) != 2:
        return False
    left, right = inputs
    if isinstance(left.buffer, StoredLeaf) or isinstance(right.buffer, StoredLeaf):
        return False
    shared = set(left.names).intersection(right.names)
    return shared <= left.certain and shared <= right.certain


class PairJoinOp:
    """A join of two, of which an input whose rows can go comes first.

    Changes are to be had as tables, and as rows by those who would make rows of the tables.
    """

    def __init__(self, inputs: Sequence[Input], wanted: Iterable[str]) -> None:
        left, right = inputs
        self._inputs = (left, right)
        self._buffers = (left.buffer, right.buffer)
        self._followed = [each.buffer for each in inputs if isinstance(each.buffer, RowBuffer)]
        self._results = ResultBuffer(2, sum(each.expires for each in inputs))
        self._seen: int | None = None  # the last step it has taken in
        shared = [name for name in left.names if name in right.names]
        columns = [tuple(map(each.names.index, shared)) for each in inputs]
        self._columns = (columns[0], columns[1])
        self._keys = (np.array(columns[0], np.int64), np.array(columns[1], np.int64))
        self._nobody = RingIndex(columns[0])
        self._rings = [self._nobody, self._nobody]  # made when they are probed first
        self._are_made = False  # both
        self._gather()
        self._step_few, self._values = DirectCall(pair_step_few), DirectCall(pair_values)
        self.names: tuple[str, ...] = ()
        self.arrange(tuple(name for name in wanted if name in left.names or name in right.names))

    def arrange(self, names: tuple[str, ...]) -> bool:
        """Give rows with these columns from now on, if it has them all."""
        left, right = self._inputs
        if not set(names) <= {*left.names, *right.names}:
            return False
        self.names = names
        places = [(0, left.names.index(n)) if n in left.names else (1, right.names.index(n)) for n in names]
        self._homes = np.array(places, np.int64).reshape(-1, 2)
        self._nothing = np.empty((0, len(names)), np.int64)
        self._out = self._room(_FIRST_ROOM)
        self._pairs = np.empty((_FIRST_ROOM, 2), np.int32)
        return True

    @property
    def has_equal_rows(self) -> bool:
        """Whether two results may be equal in all columns that it gives, so that one may come as the other goes."""
        names = set(self.names)
        return not all(isinstance(each.buffer, LeafBuffer) and names.issuperset(each.names) for each in self._inputs)

    def changes(self, number: int) -> Change:
        came, went = self.row_changes(number)
        return Change(self._table(came.copy()), self._table(went.copy())) if len(came) or len(went) else _NOTHING

    def rows(self) -> Table:
        return self._table(self.row_values())

    def row_changes(self, number: int) -> tuple[Ids, Ids]:
        """What came and went, as rows that are good until the next step."""
        for buffer in self._followed:
            buffer.follow(number)
        since, self._seen = self._seen, number
        left, right = self._buffers
        if since is None:
            return self._stepped((left.live_rows(), NOTHING_MOVED[1]), NOTHING_MOVED, _EVERY_STEP - 1)
        return self._stepped(left.moved(since), right.moved(since), since)

    def row_values(self) -> Ids:
        """All that there is, as rows."""
        left, right = self._buffers
        rows = np.empty((len(self._results), len(self._homes)), np.int64)
        self._values.run(self._results.plain, left.values, right.values, self._homes, rows)
        return rows

    def _stepped(self, left_moved: Moved, right_moved: Moved, since: int) -> tuple[Ids, Ids]:
        left_ring, right_ring = self._rings
        if not self._are_made:
            self._make_rings(probed=(len(right_moved[0]) > 0, len(left_moved[0]) > 0))
        elif left_ring.arrays is not self._of_left or right_ring.arrays is not self._of_right:
            self._gather()
        left, right, results, homes = self._left, self._right, self._results, self._homes
        came, went = self._out
        coming, going, lacking = self._step_few.run(
            left, left_moved, right, right_moved, results.plain, homes, since, came, went, self._pairs
        )
        if lacking:
            moved = (left, left_moved, right, right_moved)
            coming, going, lacking = pair_step(*moved, results.plain, homes, since, came, went)
            while lacking:
                results.make_room(lacking, max(len(left[0]), len(right[0])))
                came, went = self._room(lacking)
                coming, going, lacking = pair_step(*moved, results.plain, homes, since, came, went)
        return came[:coming] if coming else self._nothing, went[:going] if going else self._nothing

    def _gather(self) -> None:
        """Find the arrays that kernels take. When a buffer has others, so have its rings."""
        (left, right), (left_keys, right_keys) = self._buffers, self._keys
        self._of_left, self._of_right = self._rings[0].arrays, self._rings[1].arrays
        self._left = (left.values, left.born, left_keys, self._of_left)
        self._right = (right.values, right.born, right_keys, self._of_right)

    def _make_rings(self, probed: tuple[bool, bool]) -> None:
        """Ask for the indexes that are probed for the first time."""
        for at, buffer in enumerate(self._buffers):
            if probed[at] and self._rings[at] is self._nobody:
                ring = buffer.index_on(self._columns[at])
                assert isinstance(ring, RingIndex)
                self._rings[at] = ring
        self._are_made = self._nobody not in self._rings
        self._gather()

    def _room(self, rows: int) -> tuple[Ids, Ids]:
        shape = (rows, len(self.names))
        return np.empty(shape, np.int64), np.empty(shape, np.int64)

    def _table(self, rows: Ids) -> Table:
        return Table({name: rows[:, at] for at, name in enumerate(self.names)}, len(rows))
