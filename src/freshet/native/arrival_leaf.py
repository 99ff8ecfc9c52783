"""The leaves of one join for batches in which every arrival is evaluated: rows with their births and deaths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.windows import WindowOperator
from freshet.kernels.arrivals import Arrived
from freshet.kernels.lives import (
    BASE,
    COLUMNS,
    END,
    FIRST,
    KEYS,
    LINK_WIDTH,
    LINKS,
    ROOM,
    ROWS,
    Batch,
    LifeArrays,
    RingLinks,
    let_in,
    let_out,
    link_born,
)
from freshet.native.aligned import aligned
from freshet.native.leaf_buffer import LeafPattern
from freshet.native.one_way_index import Ids, OneWayIndex, Rows
from freshet.native.ring_index import RingKeys

_FIRST_ROOM = 256
_QUEUED_BYTES = 12  # a place and a row
_SPARE_ROOM = 64  # at least, for arrivals to come, so that batches of few elements seldom have to look for room
_MOST_SPARE_ROOM = 1024


@dataclass(frozen=True, slots=True)
class ArrivalLeaf:
    """A pattern with the names of its variables, in a window or (None) in the stored graph."""

    window: WindowOperator | None
    pattern: LeafPattern
    names: tuple[str, ...]


class RingPlace(NamedTuple):
    """A ring index of a leaf: its number and slot, the number of its variables and where its words stand (see
    `RingLinks`), and the names of the variables, or the leaf where there are none.
    """

    leaf: int
    number: int
    slot: int
    variables: int
    word: int
    on: tuple[str, ...] | int


class ArrivalLeaves:
    """Rows and ring indexes of the leaves of one join, in one set of arrays.

    After `step`, `batch` names the rows whose lives began and ended. The dead stay in the ring indexes until
    `end_step`, for results that lived within the batch; their values and moments can be read until the next step.
    """

    def __init__(self, leaves: Sequence[ArrivalLeaf]) -> None:
        self.leaves = leaves
        self.width = max(len(leaf.names) for leaf in leaves)
        count = len(leaves)
        self.row_entries = OneWayIndex(1 + self.width)  # the values of the rows of all leaves
        self.life = LifeArrays(
            records=np.empty((0, LINKS + LINK_WIDTH), np.int64),
            heirs=np.empty(0, np.int32),
            places=np.empty(count * _FIRST_ROOM, np.int64),
            inside=np.empty(count * _FIRST_ROOM, np.int32),
            queues=np.zeros((count, 4), np.int64),
        )
        self.life.queues[:, BASE] = np.arange(count) * _FIRST_ROOM
        self.life.queues[:, ROOM] = _FIRST_ROOM
        self.key_columns = _widest_key(leaves)
        self.ring_entries = RingKeys(1 + self.key_columns, _most_sharing(leaves))  # the keys of all ring indexes
        self.rings = RingLinks(
            slots=np.full((count, 1), -1, np.int64),
            columns=np.empty((0, COLUMNS + self.key_columns), np.int64),
            sizes=np.empty((0, 2), np.int64),
        )
        self._in_window = np.array([leaf.window is not None for leaf in leaves])
        self._indexes: dict[tuple[int, tuple[int, ...]], RingPlace] = {}
        self._on_variables: dict[tuple[str, ...] | int, list[RingPlace]] = {}
        self._make_rows()
        self._room = 0  # how many arrivals fit for certain
        self._arrays: tuple[NDArray[Any], ...] | None = None
        self._no_batch = self.batch = _no_batch(count)

    @property
    def values(self) -> Ids:
        """One row a leaf row: the leaf's number, then the values of its variables."""
        return self.row_entries.keys

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays, as `freshet.kernels.arrival_batches` takes them."""
        if self._arrays is None:
            self._arrays = (*self.row_entries.arrays, *self.life, *self.ring_entries.arrays, *self.rings)
        return self._arrays

    @property
    def row_capacity(self) -> int:
        return self.row_entries.capacity

    @property
    def row_bytes(self) -> int:
        """What an arrival takes at most, one whose row nobody else brought."""
        rings = int(self.rings.slots.shape[1]) * self.ring_entries.entry_bytes
        life = self.life.records.strides[0] + self.life.heirs.itemsize
        return _QUEUED_BYTES + life + self.row_entries.entry_bytes + rings

    @property
    def held_bytes(self) -> int:
        """What the arrivals in windows take at most; those of the stored graph are not counted."""
        queued = self.life.queues[:, END] - self.life.queues[:, FIRST]
        return int(queued[self._in_window].sum()) * self.row_bytes

    def live_rows(self, leaf: int) -> Rows:
        """The rows of a leaf that are alive."""
        rows = self.row_entries.live_entries()
        of_leaf: Rows = rows[self.values[rows, 0] == leaf]
        return of_leaf

    def dead(self, leaf: int) -> Rows:
        """The rows of a leaf that died in the batch."""
        ends = self.batch.dead_ends
        rows: Rows = self.batch.dead[ends[leaf] : ends[leaf + 1]]
        return rows

    def arrivals_inside(self, leaf: int) -> int:
        """How many arrivals the window of a leaf holds."""
        queue = self.life.queues[leaf]
        return int(queue[END] - queue[FIRST])

    def step(self, arrived: Arrived, first: int) -> None:
        """Let a batch in, whose first moment is `first`."""
        self.make_room((arrived.ends[1:] - arrived.ends[:-1]).tolist())
        self.batch = let_in(self.row_entries.arrays, self.life, self.ring_entries.arrays, self.rings, arrived, first)

    def make_room(self, of_each: Sequence[int]) -> None:
        """See that so many arrivals of each leaf fit."""
        arrivals = sum(of_each)
        if arrivals > self._room:
            spare = min(max(arrivals, _SPARE_ROOM), _MOST_SPARE_ROOM)
            self.row_entries.make_room(arrivals + spare)
            self._make_rows()
            self._make_queues([count + spare for count in of_each])
            self._make_ring_entries(arrivals + spare)
            queued = min(queue[ROOM] - queue[END] + queue[FIRST] for queue in self.life.queues.tolist())
            self._room = min(self.row_entries.room, self.ring_entries.room // self.rings.slots.shape[1], queued)
            self._arrays = None
        self._room -= arrivals

    def end_step(self) -> None:
        """The batch is done with: its dead leave the ring indexes."""
        let_out(self.row_entries.arrays, self.life, self.ring_entries.arrays, self.rings, self.batch)
        self.batch = self._no_batch

    def index_on(self, leaf: int, columns: tuple[int, ...]) -> RingPlace:
        """A leaf's ring index on these columns, made the first time it is asked for."""
        if (leaf, columns) not in self._indexes:
            self._indexes[leaf, columns] = self._new_index(leaf, columns)
        return self._indexes[leaf, columns]

    def sharing(self, place: RingPlace, leaves: Collection[int]) -> RingPlace | None:
        """A ring index of one of these leaves that has the same keys, if there is one."""
        return next((other for other in self._on_variables[place.on] if other.leaf in leaves), None)

    def rows_per_key(self) -> list[int]:
        """For each ring index how many rows a probe that hits may expect, in hundredths, from the counters."""
        return [100 * size[ROWS] // max(1, size[KEYS]) for size in self.rings.sizes.tolist()]

    def _new_index(self, leaf: int, columns: tuple[int, ...]) -> RingPlace:
        # Leaves that have nothing in common are joined by a key without columns, which each has for itself.
        on = tuple(self.leaves[leaf].names[column] for column in columns) or leaf
        sharing = self._on_variables.setdefault(on, [])
        variables = list(self._on_variables).index(on)
        rings = self.rings
        number = len(rings.sizes)
        free = np.flatnonzero(rings.slots[leaf] < 0)
        if len(free) == 0:
            records = self.life.records
            wider = aligned((len(records), records.shape[1] + LINK_WIDTH), np.int64)
            wider[:, : records.shape[1]] = records
            self.life = self.life._replace(records=wider)
            slots = np.column_stack((rings.slots, np.full(len(rings.slots), -1, np.int64)))
            rings = rings._replace(slots=slots)
            free = np.array([slots.shape[1] - 1])
        slot = int(free[0])
        rings.slots[leaf, slot] = number
        place = RingPlace(leaf, number, slot, variables, 1 + self.key_columns + len(sharing), on)
        sharing.append(place)
        padded = np.full((1, COLUMNS + self.key_columns), -1, np.int64)
        padded[0, : COLUMNS + len(columns)] = (place.variables, place.word, *columns)
        self.rings = rings._replace(
            columns=np.concatenate((rings.columns, padded)),
            sizes=np.concatenate((rings.sizes, np.zeros((1, 2), np.int64))),
        )
        rows = np.concatenate((self.live_rows(leaf), self.dead(leaf)))
        ends = np.zeros(len(self.leaves) + 1, np.int64)
        ends[leaf + 1 :] = len(rows)
        self._make_ring_entries(len(rows))
        self._room = 0  # more entries an arrival from now on
        self._arrays = None
        link_born(self.ring_entries.arrays, self.rings, self.life.records, self.values, rows, ends, number)
        return place

    def _make_ring_entries(self, rows: int) -> None:
        self.ring_entries.make_room(rows * self.rings.slots.shape[1])

    def _make_rows(self) -> None:
        capacity = self.row_entries.capacity
        old = len(self.life.heirs)
        if old == capacity:
            return
        records = aligned((capacity, self.life.records.shape[1]), np.int64)
        records.fill(-1)
        heirs = np.full(capacity, -1, np.int32)
        records[:old], heirs[:old] = self.life.records, self.life.heirs
        self.life = self.life._replace(records=records, heirs=heirs)

    def _make_queues(self, arrivals: Sequence[int]) -> None:
        """See that each leaf's arrivals fit its circle; where one does not, all are laid out anew."""
        queues = self.life.queues
        wanted = []
        fits = True
        for queue, more in zip(queues.tolist(), arrivals, strict=True):  # numbers: arrays of a few take longer
            room = queue[ROOM]
            while queue[END] - queue[FIRST] + more > room:
                room *= 2
                fits = False
            wanted.append(room)
        if fits:
            return
        rooms = np.array(wanted, np.int64)
        bases = np.concatenate(([0], np.cumsum(rooms)[:-1]))
        places, inside = np.empty(rooms.sum(), np.int64), np.empty(rooms.sum(), np.int32)
        for queue, base, room in zip(queues, bases, rooms, strict=True):
            there = np.arange(queue[FIRST], queue[END])
            old = queue[BASE] + (there & (queue[ROOM] - 1))
            new = base + (there & (room - 1))
            places[new], inside[new] = self.life.places[old], self.life.inside[old]
        queues[:, BASE], queues[:, ROOM] = bases, rooms
        self.life = self.life._replace(places=places, inside=inside)


def _most_sharing(leaves: Sequence[ArrivalLeaf]) -> int:
    """The most leaves that any variable stands in: how many ring indexes can share a key."""
    return max(Counter(name for leaf in leaves for name in leaf.names).values(), default=1)


def _widest_key(leaves: Sequence[ArrivalLeaf]) -> int:
    """The most columns of a leaf that can be known when it is probed.

    Probing goes on for as long as it can with leaves that have a variable in common with those before. So what is known
    of a leaf stands in others that hang together without it.
    """
    widest = 1
    for at, leaf in enumerate(leaves):
        together: list[set[str]] = []  # the variables of leaves that hang together
        for other in (*leaves[:at], *leaves[at + 1 :]):
            near = [names for names in together if not names.isdisjoint(other.names)]
            together = [names for names in together if names not in near] + [set(other.names).union(*near)]
        widest = max([widest, *(len(names.intersection(leaf.names)) for names in together)])
    return widest


def _no_batch(leaves: int) -> Batch:
    nothing, ends = np.empty(0, np.int32), np.zeros(leaves + 1, np.int64)
    return Batch(nothing, ends, nothing, ends, nothing)
