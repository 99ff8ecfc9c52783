"""Reports as messages of a Kafka topic, each there once, also after a restart.

A message says whose it is and which: its key is the query, its headers have the run (one name for all runs of a
checkpoint), the query, the time of the report and its number among those of that time. A resumed run looks for the
newest message of its name and query, and writes only what comes after it.
"""

from __future__ import annotations

from typing import Protocol

from freshet.results.answers import AnswerBatch
from freshet.results.write import batch_json
from freshet.spark.live.topics import Place, TopicToWrite


class Writer(Protocol):
    """What brings messages to a topic."""

    def newest(self, run: str, query: str) -> Place | None:
        """The place of the newest report of a run's query in the topic; None where there is none."""

    def write(self, run: str, query: str, place: Place, value: bytes) -> None: ...
    def flush(self) -> None:
        """Wait until everything is in the topic; an error where it cannot be."""

    def close(self) -> None: ...


class KafkaSink:
    """A sink whose writer is there once Spark is."""

    def __init__(self, topic: TopicToWrite, query: str, *, run: str, resume: bool) -> None:
        self.topic = topic
        self._run = run
        self._query = query
        self._resume = resume
        self._writer: Writer | None = None
        self._last: Place | None = None  # the newest that was there before this run
        self._now = Place(-(2**62), -1)

    def open(self, writer: Writer) -> None:
        self._writer = writer
        if self._resume:
            self._last = writer.newest(self._run, self._query)

    def deliver(self, batch: AnswerBatch) -> None:
        assert self._writer is not None, "the sink is not open"
        for place, value in zip(self._places(batch), batch_json(batch).splitlines(), strict=True):
            if self._last is None or place > self._last:
                self._writer.write(self._run, self._query, place, value)

    def skip(self, batch: AnswerBatch) -> None:
        self._places(batch)

    def _places(self, batch: AnswerBatch) -> list[Place]:
        places = []
        for time_ms in batch.times.tolist():
            number = self._now.number + 1 if time_ms == self._now.time_ms else 0
            self._now = Place(time_ms, number)
            places.append(self._now)
        return places

    def flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()

    def sync(self) -> None:
        """What is flushed is in the topic."""
        self.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.flush()
            self._writer.close()
