"""How much memory the windows of registered queries may take, and whether a batch still fits.

What windows hold is counted from time to time, not with every element: each count says how many elements fit even if
they match every pattern, and it is counted again when that number has come. Elements that wait for a window to move
count as what they may take then. Results of joins, rows of operators and groups show in the next count.

A stream that is ahead of others may fill no more than half: its windows move on when the others come, so there must be
room for those.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from freshet.native.buffers.constant_filter import ConstantFilter
from freshet.native.buffers.leaf_buffer import LeafBuffer
from freshet.native.buffers.one_way_index import OneWayIndex
from freshet.native.buffers.result_buffer import ResultBuffer
from freshet.native.buffers.ring_index import RingIndex
from freshet.native.buffers.row_buffer import RowBuffer
from freshet.native.buffers.row_log import RowLog
from freshet.native.memory.term_collector import parts_of
from freshet.native.operators.parameters import ParametersOp
from freshet.native.queries.parameter_rows import ParameterRows
from freshet.native.queries.plan_members import PlanMembers
from freshet.native.s2r.feed import Feed
from freshet.native.s2r.waiting import WaitingElements
from freshet.native.service.service_thread import ServiceQueryThread
from freshet.native.streams.stream import StreamState
from freshet.native.streams.stream_router import StreamRouter
from freshet.rdf.errors import BudgetError
from freshet.rdf.wording import show_count

MOST_UNSEEN = 1 << 16  # elements between two counts
_PER_HOLDER = 256  # or this number for each holder, so that counting stays cheap beside what they do
_LOOKS_A_SEARCH = 16
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


# What holds rows, with all that is within it; ring indexes are counted with the buffers whose rows they have.
Holder = Feed | WaitingElements | LeafBuffer | RowBuffer | RowLog | ResultBuffer | OneWayIndex

# What has no holder within it: the rest of these is what grows with the number of queries that share a plan.
_NONE_WITHIN = (RingIndex, PlanMembers, ParameterRows, ParametersOp, ConstantFilter)


class WindowRoom(NamedTuple):
    """What windows hold, may hold for the sake of one stream, and what an element of it takes at most."""

    held_bytes: int
    budget_bytes: int  # less than the whole where the stream is ahead of others
    element_bytes: int
    whole_bytes: int
    partners: frozenset[str] = frozenset()  # the streams that some who wait for this one wait for too

    def as_ahead(self) -> WindowRoom:
        """For a stream that others hold back."""
        return self._replace(budget_bytes=self.whole_bytes // 2)

    def as_whole(self) -> WindowRoom:
        """For a stream that no other holds back."""
        return self._replace(budget_bytes=self.whole_bytes)

    def elements(self, promised_bytes: int = 0) -> int:
        """How many elements fit, where `promised_bytes` are promised to others; -1 where any number does."""
        if not self.element_bytes:
            return -1
        return max(0, self.budget_bytes - self.held_bytes - promised_bytes) // self.element_bytes


class WindowBudget:
    """Counts what the groups of an engine hold. `room` is how many elements fit before it has to be counted again."""

    def __init__(self, budget_bytes: int | None, router: StreamRouter, apart: Iterable[object]) -> None:
        """Half of the memory, where nothing is said. `apart` is what groups have that is no window's."""
        if budget_bytes is None:
            budget_bytes = half_of_memory()
        self.budget_bytes = budget_bytes
        self.room = 0
        self._router = router
        self._apart = list(apart)
        self._holders: list[Holder] = []
        self._looks = 0
        self._lock = Lock()  # pushes into independent streams come at the same time

    def take(self, count: int) -> None:
        """Count elements that come."""
        with self._lock:
            self.room -= count

    def queries_changed(self) -> None:
        """Queries have come or gone: who holds anything is found out anew, soon."""
        self._looks = 0
        self._holders = []  # what is gone is not held here
        self.room = min(self.room, self.budget_bytes >> 16)

    def held_bytes(self) -> int:
        """What windows, and operators over them, hold now."""
        if self._looks == 0:
            self._search()
        self._looks = (self._looks + 1) % _LOOKS_A_SEARCH
        return sum(holder.held_bytes for holder in self._holders) + self._to_come()

    def room_for(self, stream: str) -> WindowRoom:
        """How much room there is for a stream's elements."""
        whole = self.budget_bytes
        router = self._router
        size, partners = router.element_bytes(stream), router.partners(stream)
        room = WindowRoom(self.held_bytes(), whole, size, whole, partners)
        return room.as_ahead() if router.is_ahead(stream) else room

    def check(self, state: StreamState, count: int) -> None:
        """Raise a BudgetError where `count` elements of a stream do not fit."""
        if count <= self.room:
            return
        with self._lock:
            self._check(state, count)

    def _check(self, state: StreamState, count: int) -> None:
        room = self.room_for(state.iri)
        if room.elements() != -1 and room.elements() < count:
            state.refused += 1
            raise BudgetError(
                f"a push of {show_count(count, 'element')} of the stream <{state.iri}> does not fit: each may take"
                f" {room.element_bytes} bytes, and windows hold {room.held_bytes} of {room.budget_bytes}",
                hint=self._hint(room),
            )
        largest = max(1, max(map(self._router.element_bytes, self._router.streams)))
        unseen = max(MOST_UNSEEN, _PER_HOLDER * len(self._holders))
        self.room = max(count, min(unseen, (room.as_ahead().budget_bytes - room.held_bytes) // largest))

    def _hint(self, room: WindowRoom) -> str:
        if room.budget_bytes < room.whole_bytes:
            return f"the stream is ahead of others; all together may take {self.budget_bytes} (window_bytes)"
        return (
            "windows give room when their streams come further, by 'advance' where nothing else moves them;"
            " 'window_bytes' says how much they may hold"
        )

    def _search(self) -> None:
        """Find all that holds rows, wherever groups have it."""
        groups = self._router.groups
        stored = (group.stored_leaves for group in groups)
        seen = {id(each) for each in chain(self._apart, *stored)}
        self._holders = []
        waiting: list[object] = [*groups, *self._router.derived.values()]
        while waiting:
            each = waiting.pop()
            if id(each) in seen:
                continue
            seen.add(id(each))
            if isinstance(each, Holder):
                self._holders.append(each)
            elif not isinstance(each, _NONE_WITHIN):
                waiting += parts_of(each)

    def _to_come(self) -> int:
        """What elements may take in groups that have not got them yet."""
        router = self._router
        queued = sum(group.waiting_bytes for group in router.groups if isinstance(group, ServiceQueryThread))
        derived = router.derived.values()
        return queued + sum(each.waiting * router.element_bytes(each.state.iri) for each in derived)


def half_of_memory() -> int:
    """Half of the memory that this process may have."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = _CGROUP_LIMIT.read_text().strip()
    except OSError:
        limit = ""
    return min(whole, int(limit) if limit.isdigit() else whole) // 2
