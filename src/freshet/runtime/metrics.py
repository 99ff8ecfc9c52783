"""Counts of a running pipeline: the runtime writes them batch by batch, the progress view reads them. Thread-safe."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from freshet.results.report import Freshness
from freshet.rml.join_counts import JoinCounts

RESERVOIR_SIZE = 8192
KEPT_ROWS = 12


@dataclass(slots=True)
class StreamCounts:
    """What came in on one stream. `watermark_ms` is None until an element has come. `waited` counts the batches that
    had to wait until windows had room for them."""

    records: int = 0
    rejected: int = 0
    late: int = 0
    batches: int = 0
    waited: int = 0
    watermark_ms: int | None = None
    last_batch_seconds: float = 0.0
    last_batch_at: float | None = None


@dataclass(slots=True)
class QueryCounts:
    """What one query reported; the last report is kept as text for the eye. `failure` says why it was removed."""

    reports: int = 0
    rows: int = 0
    last_time_ms: int | None = None
    variables: tuple[str, ...] = ()
    last_rows: tuple[tuple[str, ...], ...] = ()
    last_row_count: int = 0
    failure: str | None = None
    freshness: Freshness | None = None  # of the last evaluation, where remote data are in it
    refreshes: int = 0
    missed: int = 0  # evaluations that missed what their owner asked for
    last_missed: tuple[str, ...] = ()  # what the last of them missed
    latencies_ms: Reservoir = field(default_factory=lambda: Reservoir())  # without those of the backlog
    backlog: int = 0  # reports over data that arrived before the run's first report


class Reservoir:
    """A fixed-size uniform sample of any number of values (Vitter's algorithm R), for percentiles."""

    def __init__(self, size: int = RESERVOIR_SIZE, seed: int = 0) -> None:
        self.count = 0
        self._size = size
        self._values: list[float] = []
        self._random = random.Random(seed)

    def add(self, value: float) -> None:
        """Count a value, and keep it with probability size / count."""
        self.count += 1
        if len(self._values) < self._size:
            self._values.append(value)
        elif (slot := self._random.randrange(self.count)) < self._size:
            self._values[slot] = value

    def values(self) -> list[float]:
        """The sample, in no order that means anything."""
        return list(self._values)

    def copy(self) -> Reservoir:
        """A copy that later values do not change."""
        other = Reservoir(self._size)
        other.count, other._values = self.count, list(self._values)
        return other


def percentiles(values: Iterable[float], *ranks: float) -> tuple[float, ...] | None:
    """The percentiles of the values, or None where there are none.

    >>> percentiles([1.0, 2.0, 3.0], 50)
    (2.0,)
    """
    array = np.fromiter(values, dtype=np.float64)
    return tuple(float(value) for value in np.percentile(array, ranks)) if array.size else None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The counts at one moment, immutable.

    `elapsed_seconds` run from the first batch until now, `active_seconds` until the end of the last batch.
    """

    elapsed_seconds: float
    active_seconds: float
    now: float
    now_ms: int
    streams: dict[str, StreamCounts]
    queries: dict[str, QueryCounts]
    window_bytes: int = 0  # what windows hold
    most_window_bytes: int = 0  # and may hold
    joins: dict[str, JoinCounts] = field(default_factory=dict)
    first_report_seconds: float | None = None  # from the start of the run

    @property
    def backlog(self) -> int:
        """Reports over data that arrived before the first report: their latencies contain the start of the run."""
        return sum(query.backlog for query in self.queries.values())

    @property
    def waited(self) -> int:
        """Batches of all streams that had to wait until windows had room for them."""
        return sum(stream.waited for stream in self.streams.values())

    @property
    def records(self) -> int:
        """Records of all streams, rejected and late ones included."""
        return sum(stream.records for stream in self.streams.values())

    @property
    def rejected(self) -> int:
        """Records that could not be read or mapped."""
        return sum(stream.rejected for stream in self.streams.values())

    @property
    def late(self) -> int:
        """Records behind the watermark, dropped."""
        return sum(stream.late for stream in self.streams.values())

    @property
    def batches(self) -> int:
        """Micro-batches of all streams."""
        return sum(stream.batches for stream in self.streams.values())

    @property
    def reports(self) -> int:
        """Window evaluations that put something out."""
        return sum(query.reports for query in self.queries.values())

    @property
    def rows(self) -> int:
        """Solutions in all reports."""
        return sum(query.rows for query in self.queries.values())

    @property
    def latencies_ms(self) -> list[float]:
        """A sample of the latencies, arrival to report, of all queries."""
        return [value for query in self.queries.values() for value in query.latencies_ms.values()]


class Metrics:
    """The counts of one run. `clock` is in seconds and only goes forward; `wall` is seconds since 1970."""

    def __init__(
        self,
        streams: Iterable[str] = (),
        queries: Iterable[str] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._lock = threading.Lock()
        self._clock, self._wall = clock, wall
        self._streams = {name: StreamCounts() for name in streams}
        self._queries = {name: QueryCounts() for name in queries}
        self._joins: dict[str, JoinCounts] = {}
        self._started = clock()
        self._first_batch: float | None = None
        self._first_report: float | None = None
        self._first_report_ms = 0.0  # the same by the wall clock
        self._window_bytes = self._most_window_bytes = 0

    def batch(
        self,
        stream: str,
        *,
        records: int,
        rejected: int = 0,
        late: int = 0,
        watermark_ms: int | None = None,
        seconds: float = 0.0,
    ) -> None:
        """A micro-batch of a stream has gone through. `records` are all that came, bad and late ones included."""
        with self._lock:
            counts = self._streams.setdefault(stream, StreamCounts())
            now = self._clock()
            if self._first_batch is None:
                # The batch's own time counts, or a run of one batch would have taken none.
                self._first_batch = max(self._started, now - seconds)
            counts.records += records
            counts.rejected += rejected
            counts.late += late
            counts.batches += 1
            counts.last_batch_seconds, counts.last_batch_at = seconds, now
            if watermark_ms is not None and (counts.watermark_ms is None or watermark_ms > counts.watermark_ms):
                counts.watermark_ms = watermark_ms

    def waits(self, stream: str) -> None:
        """A batch has to wait until windows have room for it."""
        with self._lock:
            self._streams.setdefault(stream, StreamCounts()).waited += 1

    def windows_hold(self, held_bytes: int, most_bytes: int) -> None:
        """What windows hold now, and may hold."""
        with self._lock:
            self._window_bytes, self._most_window_bytes = held_bytes, most_bytes

    def late(self, stream: str, records: int) -> None:
        """Records that came too late to be joined with others."""
        with self._lock:
            self._streams.setdefault(stream, StreamCounts()).late += records

    def add_join_counts(self, join: str, more: JoinCounts) -> JoinCounts:
        """What a join of live streams has counted since the last time; gives its counts since the start."""
        with self._lock:
            self._joins[join] = self._joins.get(join, JoinCounts()).then(more)
            return self._joins[join]

    def report(
        self,
        query: str,
        *,
        time_ms: int,
        variables: Sequence[str] = (),
        rows: int,
        first_rows: Iterable[Sequence[str]] = (),
        latency_ms: float | None = None,
        freshness: Freshness | None = None,
        earlier: int = 0,
        earlier_rows: int = 0,
    ) -> None:
        """A query has reported `rows` solutions; `first_rows` are the first few as text (KEPT_ROWS are kept).

        `earlier` reports of the same batch, with `earlier_rows` solutions in all, are counted with it. Latencies are
        those of data that arrived while the run was up: what was there before the first report waited for the start.
        """
        kept = tuple(tuple(row) for _, row in zip(range(KEPT_ROWS), first_rows, strict=False))
        with self._lock:
            now_ms = self._wall() * 1000
            if self._first_report is None:
                self._first_report, self._first_report_ms = self._clock(), now_ms
            counts = self._queries.setdefault(query, QueryCounts())
            counts.reports += 1 + earlier
            counts.rows += rows + earlier_rows
            counts.last_time_ms = time_ms
            counts.variables, counts.last_rows, counts.last_row_count = tuple(variables), kept, rows
            if latency_ms is not None and now_ms - latency_ms < self._first_report_ms:
                counts.backlog += 1 + earlier
            elif latency_ms is not None:
                for _ in range(1 + earlier):
                    counts.latencies_ms.add(latency_ms)
            if freshness is not None:
                counts.refreshes += freshness.refreshes
                _count_evaluation(counts, freshness)

    def silent_evaluation(self, query: str, freshness: Freshness) -> None:
        """A query with remote data had nothing to report. Its refreshes are part of the next report."""
        with self._lock:
            _count_evaluation(self._queries.setdefault(query, QueryCounts()), freshness)

    def failed(self, query: str, reason: str) -> None:
        """A query has failed and was removed."""
        with self._lock:
            self._queries.setdefault(query, QueryCounts()).failure = reason

    def snapshot(self) -> Snapshot:
        """A copy of all counts. Time runs from the first batch, so that Spark's start does not count as work."""
        with self._lock:
            now = self._clock()
            began = self._started if self._first_batch is None else self._first_batch
            ends = [counts.last_batch_at for counts in self._streams.values() if counts.last_batch_at is not None]
            return Snapshot(
                elapsed_seconds=now - began,
                active_seconds=max(ends, default=began) - began,
                now=now,
                now_ms=int(self._wall() * 1000),
                streams={name: replace(counts) for name, counts in self._streams.items()},
                queries={
                    name: replace(counts, latencies_ms=counts.latencies_ms.copy())
                    for name, counts in self._queries.items()
                },
                window_bytes=self._window_bytes,
                most_window_bytes=self._most_window_bytes,
                joins=dict(self._joins),
                first_report_seconds=None if self._first_report is None else self._first_report - self._started,
            )


def _count_evaluation(counts: QueryCounts, freshness: Freshness) -> None:
    counts.freshness = freshness
    counts.missed += bool(freshness.missed)
    counts.last_missed = freshness.missed or counts.last_missed
