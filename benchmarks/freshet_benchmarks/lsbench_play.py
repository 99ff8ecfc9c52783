"""Plays LSBench's streams into a session, batch by batch of 100 ms in event time, and keeps the clock."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError
from freshet.results.report import Report
from freshet.runtime.session import Session
from freshet_benchmarks.lsbench_queries import continuous_query
from freshet_benchmarks.social import SocialNetwork
from freshet_benchmarks.social_columns import Encoder
from freshet_benchmarks.social_streams import BATCH_MS, RATES, TIMELESS, SocialStreams
from freshet_benchmarks.social_triples import encoded_network

Batches = Sequence[Mapping[str, Elements]]
_NOTHING: Mapping[str, Elements] = {}


@dataclass(frozen=True, slots=True)
class Length:
    """How long everything is measured."""

    batches: int = 100  # for each query alone, and for all
    rounds: int = 6  # of one-shot queries
    seconds: float = 2.0  # of a round, with each kind of load
    most_multiple: int = 32
    first_queries: int = 1_000  # of the mixed load
    registering_seconds: float = 150.0


USUAL = Length()
SHORT = Length(3, 1, 0.3, 1, 20, 0.0)


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """Seconds: to take in a batch of each stream, and from then until all queries have answered."""

    injection: Mapping[str, float]
    answers: float

    @property
    def whole(self) -> float:
        return sum(self.injection.values()) + self.answers


@dataclass(slots=True)
class Reports:
    """When a query last reported, and what."""

    last: float = 0.0
    reports: int = 0
    rows: int = 0

    def __call__(self, report: Report) -> None:
        self.last = time.perf_counter()
        self.reports += 1
        self.rows += len(report.rows)


@dataclass
class Player:
    """A session with a network in it and the streams that go on over it.

    Batches are encoded ahead, so that the clock runs for the engine only. Their terms are held by nothing until they
    are pushed, which is why the dictionary is pinned as long as the player is.
    """

    network: SocialNetwork
    rate: float
    session: Session = field(default_factory=Session)
    triples: int = 0
    next_batch: int = 0
    retracts: bool = False  # whether elements of the streams may delete

    def __post_init__(self) -> None:
        self.streams = SocialStreams(self.network, self.rate)
        self.session.dictionary.pins.__enter__()
        self._encoder = Encoder(self.session.dictionary)
        self._failures = 0

    @property
    def user(self) -> int:
        """One of those who are online, and most of whose friends are."""
        return int(self.streams.online[self.streams.online.size // 2])

    def load(self) -> None:
        """Store the network, and declare the streams."""
        for block in encoded_network(self.network, self.session.dictionary):
            self.session.engine.load(*block)
            self.triples += block.subjects.size
            log_progress(f"{self.triples:,} triples loaded")
        for stream in RATES:
            self.session.stream(stream, absorb=stream in TIMELESS, retracts=self.retracts)

    def at_rate(self, rate: float) -> None:
        """From the next batch on, this is the rate."""
        self.streams = self.streams.at_rate(rate, self.next_batch)

    def batches(self, count: int) -> Batches:
        """The next batches, encoded. All that were asked for before must have been played."""
        return list(islice(self.streams.elements(self._encoder, self.next_batch), count))

    def play(self, batch: Mapping[str, Elements], deleted: Mapping[str, Elements] = _NOTHING) -> BatchTimes:
        """Push a batch of all streams, with what it deletes first, and close what it closes."""
        injection = {}
        for stream, elements in batch.items():
            started = time.perf_counter()
            if stream in deleted:
                self.session.push(stream, deleted[stream], retract=True)
            self.session.push(stream, elements)
            injection[stream] = time.perf_counter() - started
        self.next_batch += 1
        started = time.perf_counter()
        for stream in batch:
            self.session.advance(stream, self.next_batch * BATCH_MS)
        return BatchTimes(injection, time.perf_counter() - started)

    @contextmanager
    def asking(
        self, names: Sequence[str], user: int | None = None, *, answered: bool = False
    ) -> Iterator[dict[str, Reports]]:
        """Queries by their names, registered meanwhile. Where it says so, each must have been `answered` in the end."""
        asked = self.user if user is None else user
        reports = {name: Reports() for name in names}
        registered = [
            self.session.register(continuous_query(name, asked), on_report=reports[name]).name for name in names
        ]
        try:
            yield reports
        finally:
            self.raise_failures()
            for name in registered:
                self.session.unregister(name)
        for name, found in reports.items():
            if answered and not found.rows:
                raise FreshetError(f"the query {name} had no answers, so that its time says nothing")

    def raise_failures(self) -> None:
        """An error where a query has failed since the last time."""
        for failure in self.session.failures[self._failures :]:
            raise FreshetError(str(failure))

    @contextmanager
    def play_in_background(self, batches: Batches) -> Iterator[InRealTime]:
        """Play batches in another thread as time passes, until there are no more or the caller has left."""
        thread = InRealTime(self, batches)
        thread.start()
        try:
            yield thread
        finally:
            thread.stop()


class InRealTime(threading.Thread):
    """Plays a batch every 100 ms. `behind` is how late the last was when it was done, in seconds."""

    def __init__(self, player: Player, batches: Batches) -> None:
        super().__init__(name="streams", daemon=True)
        self.behind = 0.0
        self._player = player
        self._batches = batches
        self._stopped = threading.Event()
        self._error: Exception | None = None

    def run(self) -> None:
        began = time.perf_counter()
        try:
            for number, batch in enumerate(self._batches, start=1):
                due = began + number * BATCH_MS / 1000
                if self._stopped.wait(max(0.0, due - time.perf_counter())):
                    return
                self._player.play(batch)
                self.behind = max(0.0, time.perf_counter() - due)
        except Exception as error:  # told to who waits
            self._error = error

    def stop(self) -> None:
        """Play no more; an error where playing failed."""
        self._stopped.set()
        self.join()
        if self._error is not None:
            raise self._error


def log_progress(message: str) -> None:
    """Print what has been done."""
    print(f"freshet: lsbench: {message}", file=sys.stderr, flush=True)
