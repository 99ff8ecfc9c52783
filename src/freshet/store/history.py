"""The stored graphs as they were at a time: what one-shot queries about the past read.

Appended rows have times, so while triples only come, the graphs at a time are those of now without the rows of that
time and after it. A load, a deletion or a compaction loses what is needed for that. So the snapshot before it is kept,
with the time that streams had come to:

| kept snapshot | is read for times        |
| ------------- | ------------------------ |
| before loss 1 | up to the time of loss 1 |
| before loss 2 | after that, up to the time of loss 2 |
| of now        | after that               |
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from freshet.rdf.errors import InputError
from freshet.store.appended import Appended
from freshet.store.ended import EndedView
from freshet.store.graph import BEFORE_ALL_TIME, Reader
from freshet.store.graph_snapshot import GraphSnapshot

Snapshot = TypeVar("Snapshot")


class _Kept(NamedTuple, Generic[Snapshot]):
    """The graphs before something was lost, when streams had come to a time."""

    time_ms: int
    snapshot: Snapshot
    appended: tuple[Appended, ...]  # which have the terms of the snapshot


class History(Generic[Snapshot]):
    """Snapshots of the past, as far back in event time as `keep_ms` says. `now_ms` is what streams have come to."""

    def __init__(self) -> None:
        self.keep_ms = 0
        self.now_ms: Callable[[], int] = lambda: BEFORE_ALL_TIME
        self._kept: deque[_Kept[Snapshot]] = deque()
        self._lost_ms = BEFORE_ALL_TIME  # what was up to then is not known any more
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def begin_at(self, time_ms: int) -> None:
        """What was up to a time is not known."""
        with self._lock:
            self._lost_ms = max(self._lost_ms, time_ms)

    def note_loss(self, time_ms: int, before: Snapshot, appended: Iterable[Appended]) -> None:
        """The graphs up to a time can no longer be found in what is there now."""
        if time_ms == BEFORE_ALL_TIME:
            return
        with self._lock:
            if self.keep_ms and not (self._kept and self._kept[-1].time_ms >= time_ms):
                self._kept.append(_Kept(time_ms, before, tuple(appended)))
            elif not self.keep_ms:
                self._lost_ms = max(self._lost_ms, time_ms)
            oldest_ms = max(time_ms, self.now_ms()) - self.keep_ms
            while self._kept and self._kept[0].time_ms < oldest_ms:
                self._lost_ms = max(self._lost_ms, self._kept.popleft().time_ms)

    def changed_ms(self) -> int:
        """The time of the last change other than that elements came, after which all that was there still is."""
        with self._lock:
            return max(self._lost_ms, *(each.time_ms for each in self._kept), BEFORE_ALL_TIME)

    def snapshot_at(self, time_ms: int, newest: Snapshot) -> Snapshot:
        """What has all triples that were there at a time, and perhaps some that were absorbed later.

        Raises:
            InputError: That is not known any more.
        """
        with self._lock:
            if time_ms <= self._lost_ms:
                kept = "as the session keeps no history" if not self.keep_ms else f"with a history of {self.keep_ms} ms"
                raise InputError(
                    f"the stored data at {_text(time_ms)} are not known any more, {kept}: "
                    f"they are from {_text(self._lost_ms + 1)} on"
                )
            return next((each.snapshot for each in self._kept if each.time_ms >= time_ms), newest)


def reader_before(reader: Reader, time_ms: int) -> Reader:
    """A graph without the rows that were absorbed at a time or later."""
    if not isinstance(reader, GraphSnapshot) or not reader.appended.rows:
        return reader
    appended, ended = reader.appended, reader.ended
    later = np.flatnonzero(appended.times() >= time_ms)
    if ended is not None:
        later = later[ended.live_appended(0, appended.rows)[later]]
    if not len(later):
        return reader
    number = 1 if ended is None else max(1, ended.number)
    ends = np.zeros(appended.rows, np.int32)
    if ended is not None:
        known = ended.appended[: appended.rows]
        ends[: len(known)] = known
    ends[later] = number
    predicates = dict.fromkeys(np.unique(appended.at(later).predicates).tolist(), 1)
    if ended is None:
        nothing = np.zeros(len(reader.base), np.int32)
        view = EndedView(nothing, nothing, ends, number, np.empty((0, 3), np.int32), len(later), predicates)
    else:
        view = ended._replace(
            appended=ends, total=ended.total + len(later), predicates={**ended.predicates, **predicates}
        )
    return GraphSnapshot(reader.base, appended, view)


def _text(time_ms: int) -> str:
    """A time for people."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return f"{time_ms} ms"
