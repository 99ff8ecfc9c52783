"""The newest reports of registered queries, each with an id, so that a subscriber can resume after a break.

A query reports at a moment at most once, and in order. So the id of a report is the moment, with the number of the
registration before it: a query that is registered again under the same name begins anew. After a restart the session
delivers again what it cannot know to have been received; what the log has already is left out by the moment.

The log is bounded: the oldest reports of all queries go first. In a session with a checkpoint it is in a folder too.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from freshet.rdf.errors import FreshetError, InputError
from freshet.results.answers import AnswerBatch
from freshet.results.write import batch_json
from freshet.runtime.durable_files import CheckpointError
from freshet.runtime.journal import Header, Journal

MOST_BYTES = 64 << 20
_FILES = 8  # that the folder has, about
NOTHING = -(1 << 63)


class ReportsGoneError(FreshetError):
    """The reports after an id are not there any more, or never were."""


@dataclass(frozen=True)
class LoggedReports:
    """Reports of a query that came together: their moments, and each as a line of JSON with its id, without its end.

    The texts are made once for all who take them.
    """

    sequence: int
    query: str
    registration: int
    moments: list[int]
    lines: list[bytes]

    @cached_property
    def ndjson(self) -> bytes:
        """A line a report."""
        return b"\n".join([*self.lines, b""])

    @cached_property
    def events(self) -> bytes:
        """Server-sent events, https://html.spec.whatwg.org/multipage/server-sent-events.html"""
        return b"".join(
            b"id: %d-%d\ndata: %b\n\n" % (self.registration, moment, line)
            for moment, line in zip(self.moments, self.lines, strict=True)
        )

    @property
    def nbytes(self) -> int:
        return sum(map(len, self.lines))

    def first(self, count: int) -> LoggedReports:
        """The first reports."""
        return LoggedReports(self.sequence, self.query, self.registration, self.moments[:count], self.lines[:count])

    def last(self, count: int) -> LoggedReports:
        """The last reports."""
        if count >= len(self.lines):
            return self
        return LoggedReports(self.sequence, self.query, self.registration, self.moments[-count:], self.lines[-count:])

    def after(self, moment: int) -> LoggedReports:
        """The reports that are later than a moment."""
        first = bisect_right(self.moments, moment)
        if not first:
            return self
        return LoggedReports(self.sequence, self.query, self.registration, self.moments[first:], self.lines[first:])


@dataclass(slots=True)
class _Kept:
    """What the log has of one registration: `last` is its newest moment, `dropped` the newest that is not there."""

    registration: int
    last: int = NOTHING
    dropped: int = NOTHING
    count: int = 0  # of reports since the start
    reports: deque[LoggedReports] = field(default_factory=deque)


class ReportLog:
    """Reports by query. `on_reports` and `on_end` are called by the thread that reports, in order.

    Calls may come from several threads. Of one query, one thread at a time reports.
    """

    def __init__(self, folder: Path | None = None, *, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.RLock()
        self._queries: dict[str, _Kept] = {}
        self._order: deque[LoggedReports] = deque()
        self._bytes = 0
        self._sequence = 0
        self._registrations = 0
        self._unwritten: deque[tuple[Header, bytes]] = deque()
        self._journal: Journal | None = None
        self._files: deque[int] = deque()  # the first entry of each file, the oldest first
        self._file_bytes = 0
        self.problem = ""  # what was found to be damaged
        self.on_reports: Callable[[LoggedReports], None] = lambda reports: None
        self.on_end: Callable[[str, str], None] = lambda query, reason: None
        if folder is not None:
            self._journal = Journal(folder, sync=False, most_bytes=1 << 62)
            self._recover(self._journal)

    @property
    def sequence(self) -> int:
        """The number that the next reports get."""
        return self._sequence

    @property
    def nbytes(self) -> int:
        """What the reports that are kept take."""
        return self._bytes

    # ---- what a session does

    def begin(self, query: str) -> None:
        """A query is registered: what an earlier one of this name reported is gone.

        Its number is on the disk then. Reports can be made again after a loss of power, but their ids need the number.
        """
        with self._lock:
            self._begin(query)
        self._sync_if_possible()

    def _begin(self, query: str) -> None:
        self._registrations = max(self._registrations + 1, int(time.time() * 1000))
        self._forget(query)
        self._queries[query] = _Kept(self._registrations)
        self._write({"kind": "begin", "query": query, "registration": self._registrations})

    def _sync_if_possible(self) -> None:
        with suppress(CheckpointError):  # `trouble` says so
            self.sync()

    def end(self, query: str, reason: str) -> None:
        """A query is gone."""
        with self._lock:
            if self._forget(query):
                self._write({"kind": "end", "query": query})
        self.on_end(query, reason)

    def go_on(self, queries: Iterable[str]) -> None:
        """Say which queries a session has that was taken up again."""
        names = set(queries)
        with self._lock:
            for gone in [name for name in self._queries if name not in names]:
                self.end(gone, "it is not registered any more")
            begun = names - self._queries.keys()
            for name in begun:
                self._begin(name)
        if begun:
            self._sync_if_possible()

    def add(self, batch: AnswerBatch) -> None:
        """Keep reports, those that are not there yet, and pass them on."""
        with self._lock:
            kept = self._queries.get(batch.query)
            if kept is None:
                return  # it is gone
            batch = batch.after(kept.last)
            if not len(batch):
                return
            moments = batch.moments.tolist()
            reports = LoggedReports(
                self._sequence, batch.query, kept.registration, moments, _lines(batch, kept.registration)
            )
            header = {"kind": "reports", "query": batch.query, "registration": kept.registration, "moments": moments}
            self._write(header, reports.ndjson)
            self._keep(kept, reports)
            kept.count += len(moments)
        self.on_reports(reports)

    def sync(self) -> None:
        """Bring everything to the disk; a CheckpointError where that cannot be done."""
        if self._journal is not None:
            with self._lock:
                self._write_waiting()
            self._journal.sync()

    def close(self) -> None:
        if self._journal is not None:
            try:
                self.sync()
            finally:
                self._journal.close()

    # ---- what those do who take reports

    def counts(self) -> dict[str, int]:
        """How many reports each query has made since the start."""
        with self._lock:
            return {name: kept.count for name, kept in self._queries.items()}

    @property
    def trouble(self) -> str:
        """Why reports cannot be written to the disk, or nothing."""
        return "reports cannot be written to the checkpoint folder" if self._unwritten else ""

    def last_id(self, query: str) -> str | None:
        """The id of a query's newest report, or None where it has not reported yet."""
        with self._lock:
            kept = self._queries.get(query)
            return None if kept is None or kept.last == NOTHING else f"{kept.registration}-{kept.last}"

    def after(self, query: str, report_id: str) -> list[LoggedReports]:
        """All reports of a query after one, in order; `start` is before the oldest that is there.

        Raises:
            ReportsGoneError: They are not all there any more.
            InputError: The id is none of a report.
        """
        with self._lock:
            kept = self._queries.get(query)
            if kept is None:
                raise ReportsGoneError(f"there is no query named {query}")
            if report_id == "start":
                return list(kept.reports)
            registration, moment = _parse_id(report_id)
            if registration != kept.registration:
                raise ReportsGoneError(f"the query {query} was registered again since the report {report_id}")
            if moment < kept.dropped:
                raise ReportsGoneError(f"reports of {query} after {report_id} were dropped to make room")
            return [reports.after(moment) for reports in kept.reports if reports.moments[-1] > moment]

    def find(self, query: str, report_id: str) -> tuple[int, bytes]:
        """The moment of a report, and its line.

        Raises:
            ReportsGoneError: It is not there any more, or never was.
            InputError: The id is none of a report.
        """
        with self._lock:
            registration, moment = _parse_id(report_id)
            kept = self._queries.get(query)
            if kept is None or registration != kept.registration:
                raise ReportsGoneError(f"the query {query} was registered again since the report {report_id}")
            for reports in kept.reports:
                at = bisect_left(reports.moments, moment)
                if at < len(reports.moments) and reports.moments[at] == moment:
                    return moment, reports.lines[at]
            raise ReportsGoneError(f"the report {report_id} of {query} is not there any more, or never was")

    def ids_at(self, query: str, time_ms: int) -> list[str]:
        """The ids of the reports of a query with a time."""
        with self._lock:
            kept = self._queries.get(query)
            found = [moment for reports in (kept.reports if kept else ()) for moment in reports.moments]
            return [f"{kept.registration}-{moment}" for moment in found if kept and moment >> 1 == time_ms]

    def newest(self, query: str, count: int) -> list[LoggedReports]:
        """The newest reports of a query, as many as are asked for and there, in order."""
        with self._lock:
            kept = self._queries.get(query)
            found: deque[LoggedReports] = deque()
            left = count
            for reports in reversed(kept.reports if kept is not None else ()):
                if left <= 0:
                    break
                found.appendleft(reports.last(left))
                left -= len(reports.lines)
            return list(found)

    # ---- keeping

    def _keep(self, kept: _Kept, reports: LoggedReports) -> None:
        self._sequence += 1
        kept.last = reports.moments[-1]
        kept.reports.append(reports)
        self._order.append(reports)
        self._bytes += reports.nbytes
        while self._bytes > self._most_bytes and len(self._order) > 1:
            self._drop(self._order.popleft())

    def _drop(self, oldest: LoggedReports) -> None:
        self._bytes -= oldest.nbytes
        kept = self._queries.get(oldest.query)
        if kept is not None and kept.reports and kept.reports[0] is oldest:
            kept.reports.popleft()
            kept.dropped = oldest.moments[-1]

    def _forget(self, query: str) -> bool:
        kept = self._queries.pop(query, None)
        return kept is not None  # what it has reported is dropped when its turn comes

    # ---- the folder

    def _write(self, header: Header, body: bytes = b"") -> None:
        """Write an entry. One that cannot be written waits: the session goes on, and `sync` says so."""
        if self._journal is None:
            return
        self._unwritten.append((header, body))
        with suppress(CheckpointError):
            self._write_waiting()

    def _write_waiting(self) -> None:
        assert self._journal is not None
        while self._unwritten:
            header, body = self._unwritten[0]
            if self._file_bytes > self._most_bytes // _FILES:
                self._begin_file(self._journal)
            self._journal.append(header, body)
            self._file_bytes += len(body) + 100
            self._unwritten.popleft()

    def _begin_file(self, journal: Journal) -> None:
        """Begin a file with all that is known, and delete those that are not needed for the reports that are kept."""
        journal.rotate()
        self._file_bytes = 0
        known = {name: [kept.registration, kept.last, kept.dropped] for name, kept in self._queries.items()}
        first = journal.append({"kind": "queries", "queries": known})
        self._files.append(first)
        if len(self._files) > _FILES + 1:
            self._files.popleft()
            journal.trim(self._files[0])

    def _recover(self, journal: Journal) -> None:
        _, self.problem = journal.recover(journal.first_sequence)
        for entry in journal.read(journal.first_sequence):
            header = entry.header
            match header["kind"]:
                case "begin":
                    self._forget(header["query"])
                    self._queries[header["query"]] = _Kept(header["registration"])
                case "end":
                    self._forget(header["query"])
                case "queries":
                    self._files.append(entry.sequence)
                    for name, (registration, last, dropped) in header["queries"].items():
                        if name not in self._queries:  # the first file that is left
                            self._queries[name] = _Kept(registration, last, max(last, dropped))
                case "reports":
                    kept = self._queries.setdefault(header["query"], _Kept(header["registration"]))
                    lines = entry.body.split(b"\n")[:-1]
                    moments = header["moments"]
                    self._keep(kept, LoggedReports(self._sequence, header["query"], kept.registration, moments, lines))
        self._registrations = max((kept.registration for kept in self._queries.values()), default=0)
        self._file_bytes = self._most_bytes  # the next entry begins a file


def _lines(batch: AnswerBatch, registration: int) -> list[bytes]:
    """Each report as an object of JSON that begins with its id."""
    lines = batch_json(batch).split(b"\n")
    return [
        b'{"id":"%d-%d",%b' % (registration, moment, line[1:])
        for moment, line in zip(batch.moments.tolist(), lines, strict=False)
    ]


def moment_of(report_id: str) -> int:
    """The moment of an id; `start` is before all."""
    return NOTHING if report_id == "start" else _parse_id(report_id)[1]


def _parse_id(report_id: str) -> tuple[int, int]:
    registration, dash, moment = report_id.partition("-")
    try:
        if not dash:
            raise ValueError
        return int(registration), int(moment)
    except ValueError:
        raise InputError(f"'{report_id[:80]}' is not the id of a report") from None
