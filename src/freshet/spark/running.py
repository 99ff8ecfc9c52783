"""A streaming query that Spark runs, as the pipeline sees it: started, looked at, started again, stopped."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from freshet.rdf.errors import InputError
from freshet.rml.join_counts import JoinCounts
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
# Spark gives the Python process that looks at a stateful processor ten seconds to start: on a busy machine too few.
_NOT_STARTED = "failed to connect back"
_STARTS = 3
# The metrics of a join that JoinCounts has. In a stream the records without a time are those that cannot be read.
_COUNTED = ("children", "parents", "pairs", "untimed", "keyless", "late", "given_up", "waiting_records")


class RunningStream:
    """A stream that Spark runs. An error of the batch's taker is kept as it was, for `check` to raise.

    `trouble` says what keeps the stream from being read, empty where nothing does. A query that ends because its broker
    is away starts again, from its checkpoint, when the broker is back. One that ends before its first batch because a
    Python process of Spark's took too long to start is started up to three times in all.
    """

    def __init__(
        self,
        name: str,
        trouble: Callable[[], str] = lambda: "",
        *,
        joins: bool = False,
        counts: Callable[[], JoinCounts | None] | None = None,
    ) -> None:
        """`joins`: whether Spark joins records, and counts them; where they are joined elsewhere `counts` says how many
        have come since it was asked last."""
        self.name = name
        self._trouble = trouble
        self._joins = joins
        self._counts = counts
        self._seen_batch = -1
        self._query: StreamingQuery | None = None
        self._begin: Callable[[], StreamingQuery | None] | None = None
        self._start: Callable[[], StreamingQuery | None] | None = None
        self._waits = False
        self._starts = 0
        self._took = False
        self._error: BaseException | None = None
        self._take: Callable[[DataFrame, int], None] | None = None
        self._looked_at = 0.0
        self._last_trouble = ""

    def begin(self, start: Callable[[], StreamingQuery | None], *, wait: bool) -> None:
        """Start the query; if it cannot start yet and is to `wait`, try again with every `check`."""
        self._start, self._waits = start, wait
        if trouble := self._trouble():
            if not wait:
                raise InputError(f"the stream {self.name} cannot be read: {trouble}")
            self._last_trouble = trouble
            self._begin = start
            return
        self._starts, self._took = self._starts + 1, False
        self._query = start()
        self._begin = start if wait and self._query is None else None

    def guard(self, take: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        """The taker of batches as Spark calls it. Spark never releases what it calls; `stop` releases the taker."""
        self._take = take

        def guarded(batch: DataFrame, number: int) -> None:
            self._starts, self._took = 0, True
            try:
                if self._take is not None:
                    self._take(batch, number)
                    return
            except BaseException as error:
                self._error = error
            # Spark must see that the batch was not taken; `check` raises the reason.
            raise RuntimeError("the batch was not taken")

        return guarded

    @property
    def active(self) -> bool:
        if self._begin is not None:
            return True
        return self._query is not None and (self._query.isActive or self._may_start_again())

    def _may_start_again(self) -> bool:
        """Whether the query has ended before it did anything, for a reason that may be gone the next time."""
        if self._query is None or self._start is None or self._took or self._starts >= _STARTS:
            return False
        return _NOT_STARTED in str(self._query.exception())

    def activity(self) -> str:
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

    @property
    def progress(self) -> list[StreamingQueryProgress]:
        """Spark's progress of the last micro-batches."""
        return [] if self._query is None else list(self._query.recentProgress)

    def join_counts(self) -> JoinCounts | None:
        """What a join has counted since this was asked last; None where there is no join, or nothing came."""
        if self._counts is not None:
            return self._counts()
        found: JoinCounts | None = None
        for progress in self.progress if self._joins else ():
            counts = progress.observedMetrics.get(METRICS)
            if progress.batchId > self._seen_batch and counts is not None:
                self._seen_batch = progress.batchId
                more = JoinCounts(*(counts[name] for name in _COUNTED))
                found = (found or JoinCounts()).then(more)
        return found

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
        if self._start is not None and self._may_start_again():
            self.begin(self._start, wait=self._waits)
            return
        if self._waits and _is_away(self._error or failed):
            self._error = None
            self._starts, self._begin = 0, self._start
            return
        raise RuntimeError(f"the stream {self.name} failed: {_reason(failed)}")

    def drain(self) -> None:
        """Until everything that is there now has been taken."""
        self.check()
        while (query := self._query) is not None:
            try:
                query.processAllAvailable()
                return
            except StreamingQueryException:
                self.check()
                if self._query is query:
                    return  # it starts again when its broker is back

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
