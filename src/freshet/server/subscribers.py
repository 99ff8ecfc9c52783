"""Who takes the reports of queries, and how they reach them.

Reports are made in threads of the engine, and each batch is encoded once. The event loop hands it to every subscriber
of the query: that is a reference in a queue. A subscriber who does not read has a queue up to a number of bytes; then
it is cut off with a reason, and may come back with the id of the last report that it got. The engine never waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import orjson
from starlette.types import Receive, Scope, Send

from freshet.runtime.report_log import NOTHING, LoggedReports, ReportLog, moment_of
from freshet.server.logs import log_fields
from freshet.server.problems import Problem
from freshet.server.settings import Limits

EVENTS, LINES = "text/event-stream", "application/x-ndjson"
_LOG = logging.getLogger("freshet.server.subscribers")
_BEAT_SECONDS = 15.0  # after which an idle connection gets a comment line, so that proxies keep it open


class Subscriber:
    """One connection that takes reports, from a sequence number of the log on."""

    __slots__ = ("_queue", "_wake", "bytes", "ended", "is_events", "limit", "most_bytes", "query", "seen", "since")

    def __init__(self, query: str, media: str, since: int, most_bytes: int, limit: int | None = None) -> None:
        self.query = query
        self.is_events = media == EVENTS
        self.since = since
        self.seen = NOTHING  # the moment of the last report that the client has from before
        self.limit = limit  # of reports
        self.bytes = 0
        self.ended: str | None = None  # why there is nothing more to come
        self._queue: deque[bytes] = deque()
        self.most_bytes = most_bytes
        self._wake = asyncio.Event()

    def put(self, reports: LoggedReports, *, is_bounded: bool = True) -> None:
        """Reports to be sent, unless it had them from the log already."""
        if self.ended is not None or reports.sequence < self.since:
            return
        if reports.moments[0] <= self.seen:  # after a loss of power, reports are made again that a client may have
            reports = reports.after(self.seen)
            if not reports.moments:
                return
        if self.limit is not None:
            if len(reports.lines) >= self.limit:
                reports = reports.first(self.limit)
            self.limit -= len(reports.lines)
        text = reports.events if self.is_events else reports.ndjson
        if is_bounded:
            self.put_bounded(text)
        else:
            self.put_text(text)
        if self.limit == 0:
            self.end("")

    def put_bounded(self, text: bytes) -> None:
        """The same, unless too much waits: then it is cut off."""
        if self.ended is None:
            self.put_text(text)
            if self.bytes > self.most_bytes and len(self._queue) > 1:
                self._queue.clear()
                self.end("it reads too slowly")

    def put_text(self, text: bytes) -> None:
        self._queue.append(text)
        self.bytes += len(text)
        self._wake.set()

    def beat(self) -> None:
        """A sign of life, where nothing waits to be sent."""
        if not self._queue and self.ended is None:
            self.put_text(b":\n\n" if self.is_events else b"\n")

    def end(self, reason: str) -> None:
        """Nothing more comes."""
        if self.ended is None:
            self.ended = reason
            self._wake.set()

    async def next_text(self) -> bytes:
        """What is to be sent now; nothing at the end."""
        while not self._queue:
            if self.ended is not None:
                return b""
            self._wake.clear()
            await self._wake.wait()
        if len(self._queue) == 1:
            text = self._queue.popleft()
        else:
            text = b"".join(self._queue)
            self._queue.clear()
        self.bytes -= len(text)
        return text

    def last_text(self) -> bytes:
        """Why it ends, as the client sees it."""
        if not self.ended:
            return b""
        reason = orjson.dumps({"end": self.ended})
        return b"event: end\ndata: %b\n\n" % reason if self.is_events else reason + b"\n"


class Subscribers:
    """All subscribers, by query. What is called here is called by the event loop, but for what the log calls."""

    def __init__(self, log: ReportLog, limits: Limits, on_left: Callable[[str], None]) -> None:
        self._log = log
        self._limits = limits
        self._on_left = on_left  # hears that a query has lost its last subscriber
        self._by_query: dict[str, set[Subscriber]] = {}
        self._count = 0
        self.cut_off = 0
        self._is_stopped = False
        self._beat: asyncio.TimerHandle | None = None

    def start(self, loop: asyncio.AbstractEventLoop, on_reports: Callable[[LoggedReports], None]) -> None:
        """Reports come from threads from now on; `on_reports` hears of them there."""

        def publish(reports: LoggedReports) -> None:
            on_reports(reports)
            if reports.query in self._by_query:
                loop.call_soon_threadsafe(self._publish, reports)

        def end(query: str, reason: str) -> None:
            if query in self._by_query:
                loop.call_soon_threadsafe(self._end, query, reason)

        self._log.on_reports, self._log.on_end = publish, end
        self._beat = loop.call_later(_BEAT_SECONDS, self._beat_all, loop)

    def stop(self, reason: str) -> None:
        """End all subscriptions, and accept no others."""
        self._is_stopped = True
        if self._beat is not None:
            self._beat.cancel()
        for query in list(self._by_query):
            self._end(query, reason)

    def __len__(self) -> int:
        return self._count

    def of(self, query: str) -> int:
        """How many subscribers a query has."""
        return len(self._by_query.get(query, ()))

    def add(self, query: str, media: str, after: str | None, limit: int | None, newest: int = 0) -> Subscriber:
        """A new subscriber, with the reports after an id, or the newest ones, in its queue."""
        # It is listed before the log is read: what comes meanwhile is passed over by its number.
        subscriber = self.enter(query, media, limit)
        try:
            since = self._log.sequence
            backlog = self._log.newest(query, newest) if after is None else self._log.after(query, after)
            subscriber.seen = NOTHING if after is None else moment_of(after)
            for reports in backlog:
                subscriber.put(reports, is_bounded=False)
            subscriber.since = backlog[-1].sequence + 1 if backlog else since
            subscriber.most_bytes += subscriber.bytes  # what it asked for is not held against it
        except BaseException:
            self.remove(subscriber)
            raise
        return subscriber

    def enter(self, query: str, media: str, limit: int | None = None) -> Subscriber:
        """A new subscriber, with nothing in its queue."""
        if self._is_stopped:
            raise Problem(503, "the server stops")
        if self._count >= self._limits.subscribers:
            raise Problem(503, f"there are {self._count:,} subscribers already")
        subscriber = Subscriber(query, media, 0, self._limits.subscriber_bytes, limit)
        self._by_query.setdefault(query, set()).add(subscriber)
        self._count += 1
        return subscriber

    def remove(self, subscriber: Subscriber) -> None:
        """It has gone."""
        found = self._by_query.get(subscriber.query, set())
        if subscriber in found:
            found.discard(subscriber)
            self._count -= 1
            if not found:
                del self._by_query[subscriber.query]
                self._on_left(subscriber.query)

    def _publish(self, reports: LoggedReports) -> None:
        for subscriber in self._by_query.get(reports.query, ()):
            with self._noting_cut_off(subscriber):
                subscriber.put(reports)

    def put_event(self, subscriber: Subscriber, text: bytes) -> None:
        """An event for one subscriber, which is cut off where it reads too slowly."""
        with self._noting_cut_off(subscriber):
            subscriber.put_bounded(text)

    @contextmanager
    def _noting_cut_off(self, subscriber: Subscriber) -> Iterator[None]:
        was_there = subscriber.ended is None
        yield
        if was_there and subscriber.ended:
            self.cut_off += 1
            _LOG.warning("subscriber cut off: it reads too slowly", extra=log_fields(query=subscriber.query))

    def _end(self, query: str, reason: str) -> None:
        for subscriber in self._by_query.get(query, ()):
            subscriber.end(reason)

    def _beat_all(self, loop: asyncio.AbstractEventLoop) -> None:
        for found in self._by_query.values():
            for subscriber in found:
                subscriber.beat()
        self._beat = loop.call_later(_BEAT_SECONDS, self._beat_all, loop)


class Subscription:
    """The response that sends reports until the client leaves or there are no more."""

    def __init__(self, subscribers: Subscribers, subscriber: Subscriber) -> None:
        self._subscribers = subscribers
        self._subscriber = subscriber

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        subscriber = self._subscriber
        media = EVENTS if subscriber.is_events else LINES
        headers = {"content-type": media, "cache-control": "no-store", "x-accel-buffering": "no"}
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        gone = asyncio.ensure_future(_hung_up(receive))
        gone.add_done_callback(lambda _: subscriber.end(""))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": encoded})
            if scope["method"] != "HEAD":
                while (text := await subscriber.next_text()) and not gone.done():
                    await send({"type": "http.response.body", "body": text, "more_body": True})
            await send({"type": "http.response.body", "body": subscriber.last_text(), "more_body": False})
        finally:
            gone.cancel()
            self._subscribers.remove(subscriber)


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
