"""A streaming query that Spark runs, as the pipeline sees it: started, looked at, started again, stopped."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from freshet.rdf.errors import InputError
from freshet.spark.window_join import METRICS

_LOOK_SECONDS = 1.0
# What Kafka's client says when a broker is away for a while; with anything else it is no use to try again.
_AWAY = (
    "kafka.common.errors.TimeoutException",
    "kafka.common.errors.DisconnectException",
    "kafka.common.errors.NotLeaderOrFollowerException",
    "kafka.common.errors.CoordinatorNotAvailableException",
    "kafka.common.errors.BrokerNotAvailableException",
    "kafka.common.errors.NetworkException",
)


class RunningStream:
    """A stream that Spark runs. An error of the batch's taker is kept as it was, for `check` to raise.

    `trouble` says what keeps the stream from being read, empty where nothing does. A query that ends because its broker
    is away starts again, from its checkpoint, when the broker is back.
    """

    def __init__(self, name: str, trouble: Callable[[], str] = lambda: "", *, joins: bool = False) -> None:
        self.name = name
        self._trouble = trouble
        self._joins = joins
        self._seen_batch = -1
        self._query: StreamingQuery | None = None
        self._begin: Callable[[], StreamingQuery | None] | None = None
        self._start: Callable[[], StreamingQuery | None] | None = None
        self._error: BaseException | None = None
        self._take: Callable[[DataFrame, int], None] | None = None
        self._looked_at = 0.0
        self._last_trouble = ""

    def begin(self, start: Callable[[], StreamingQuery | None], *, wait: bool) -> None:
        """Start the query; if it cannot start yet and is to `wait`, try again whenever somebody looks at it."""
        self._start = start if wait else None
        if trouble := self._trouble():
            if not wait:
                raise InputError(f"the stream {self.name} cannot be read: {trouble}")
            self._last_trouble = trouble
            self._begin = start
            return
        self._query = start()
        self._begin = start if wait and self._query is None else None

    def guard(self, take: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        """The taker of batches as Spark calls it. Spark never lets go of what it calls; `stop` lets go of the taker."""
        self._take = take

        def guarded(batch: DataFrame, number: int) -> None:
            try:
                if self._take is not None:
                    self._take(batch, number)
                    return
            except BaseException as error:
                self._error = error
            # Spark must see that the batch was not taken; why, is told by `check`.
            raise RuntimeError("the batch was not taken")

        return guarded

    @property
    def active(self) -> bool:
        return self._begin is not None or (self._query is not None and self._query.isActive)

    def doing(self) -> str:
        """`waits` where the source was looked at and there is nothing new; `ended`; `works` while the query starts, has
        a batch, or cannot reach its source; empty while it looks whether there is something new."""
        if not self.active:
            return "ended"
        query = self._query
        if self._begin is not None or query is None or self._last_trouble:
            return "works"
        status = query.status
        if status["isTriggerActive"]:
            return "works" if status["isDataAvailable"] else ""
        return "waits" if status["message"].startswith("Waiting") else "works"

    def trouble(self) -> str:
        """What keeps the stream from being read, as it was found at most a second ago."""
        now = time.monotonic()
        if now - self._looked_at >= _LOOK_SECONDS:
            self._last_trouble = self._trouble()
            self._looked_at = time.monotonic()
        return self._last_trouble

    def late(self) -> int:
        """How many records have come too late to be joined since this was asked last."""
        query = self._query
        if query is None or not self._joins:
            return 0
        late = 0
        for progress in query.recentProgress:
            if progress.batchId > self._seen_batch:
                self._seen_batch = progress.batchId
                counts = progress.observedMetrics.get(METRICS)
                late += counts["late"] if counts is not None else 0
        return late

    def check(self) -> None:
        """Raise what has gone wrong, if anything has."""
        if self._begin is not None and not self.trouble():
            self.begin(self._begin, wait=True)
        if self._query is None or self._query.isActive or self._begin is not None:
            return
        if self._error is not None and not _is_away(self._error):
            raise self._error
        failed = self._query.exception()
        if failed is None and self._error is None:
            return
        if self._start is not None and _is_away(self._error or failed):
            self._error = None
            self._begin = self._start
            return
        raise RuntimeError(f"the stream {self.name} failed: {_reason(failed)}")

    def drain(self) -> None:
        """Until everything that is there now has been taken."""
        self.check()
        if self._query is not None:
            self._query.processAllAvailable()

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()
        self._take = self._begin = self._start = None


def _is_away(error: BaseException | None) -> bool:
    said = str(error)
    return any(name in said for name in _AWAY)


def _reason(failed: StreamingQueryException | None) -> str:
    """The line of Spark's error that says something: of a Python source its last, else the first."""
    lines = [line.strip() for line in str(failed).splitlines() if line.strip()]
    named = [line for line in lines if line.startswith(("freshet.rdf.errors.", "Caused by: org.apache.kafka"))]
    return (named[-1].partition(": ")[2] if named else lines[0]) if lines else "for no reason that Spark gives"
