"""Two streams with queries of their own, pushed to by two threads: how many cores that uses, and what it gains.

Part of `freshet bench operators`. Each stream has a join and an AVG by group over a window that moves with every
element. The same pushes are done by one thread, one stream after the other, and by two threads. Beside the cores that
these use stands what two threads can use that do nothing but sort, in turns with them: on a busy machine that is less
than two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Thread
from typing import NamedTuple

import numpy as np

from freshet.rdf.elements import Elements
from freshet.rdf.terms import XSD
from freshet.runtime.registered_query import RegisteredQuery
from freshet.runtime.session import Session
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.operator_forms import BASE
from freshet_benchmarks.registered import raise_failures, take_rows
from freshet_benchmarks.social_columns import Encoder

_STREAMS = (f"{BASE}left", f"{BASE}right")
_SUBJECTS, _VALUES = 5_000, 10_000


class Spent(NamedTuple):
    """Processor time of all threads, and time by the clock."""

    processor: float = 0.0
    clock: float = 0.0

    def plus(self, other: Spent) -> Spent:
        return Spent(self.processor + other.processor, self.clock + other.clock)

    @property
    def cores(self) -> float:
        return self.processor / max(self.clock, 1e-9)


def independent_figures(size: int, *, window: int, rounds: int, pushes: int) -> list[Figure]:
    """Push batches of `size` elements into both streams, some in each round, after one round that is not counted."""
    session = Session()
    queries = [_register(session, stream, window) for stream in _STREAMS]
    pushed = _Batches(session, size)
    sorting, one, two = Spent(), Spent(), Spent()
    numbers = np.random.default_rng(3).random(size * pushes)
    for number in range(rounds + 1):
        first, second = ([pushed.next(stream, pushes) for stream in _STREAMS] for _ in range(2))
        times = (
            _spent([lambda: np.sort(numbers)] * 2, threads=True),
            _spent([_play(session, *each) for each in zip(_STREAMS, queries, first, strict=True)], threads=False),
            _spent([_play(session, *each) for each in zip(_STREAMS, queries, second, strict=True)], threads=True),
        )
        if number:
            sorting, one, two = (total.plus(more) for total, more in zip((sorting, one, two), times, strict=True))
    raise_failures(session)
    elements, name = 2 * size * pushes * rounds, f"independent_streams_batches_of_{size}"
    return [
        Figure(f"{name}_cores", two.cores, "cores", Baseline("two threads that sort", sorting.cores)),
        Figure(
            f"{name}_elements_per_second",
            elements / max(two.clock, 1e-9),
            "elements/s",
            Baseline("the same from one thread, by the clock", elements / max(one.clock, 1e-9)),
        ),
    ]


def _register(session: Session, stream: str, window: int) -> list[RegisteredQuery]:
    session.stream(stream)
    name = stream.rpartition("/")[2]
    left, right = f"<{BASE}{name}0>", f"<{BASE}{name}1>"
    in_window = f"STREAM <{stream}> [TRIPLES {window}]"
    return [
        session.register(f"SELECT * WHERE {{ {in_window} {{ ?s {left} ?a . ?s {right} ?b }} }}", name=f"join {name}"),
        session.register(
            f"SELECT ?s (AVG(?a) AS ?mean) WHERE {{ {in_window} {{ ?s {left} ?a }} }} GROUP BY ?s", name=f"mean {name}"
        ),
    ]


class _Batches:
    """Elements of both streams, each an instant of its own, of terms that the session keeps."""

    def __init__(self, session: Session, size: int) -> None:
        self._size = size
        self._random = np.random.default_rng(11)
        encoder = Encoder(session.dictionary)
        self._subjects = encoder.numbered(f"<{BASE}s", ">", np.arange(_SUBJECTS))
        self._values = encoder.numbered('"', f'"^^<{XSD}integer>', np.arange(_VALUES))
        names = [stream.rpartition("/")[2] for stream in _STREAMS]
        self._predicates = {
            stream: np.array([encoder.iri(f"{BASE}{name}{at}") for at in range(2)])
            for stream, name in zip(_STREAMS, names, strict=True)
        }
        for ids in (self._subjects, self._values, *self._predicates.values()):
            session.engine.collector.keep_rows(ids)
        self._now_ms = dict.fromkeys(_STREAMS, 0)

    def next(self, stream: str, count: int) -> list[Elements]:
        return [self._batch(stream) for _ in range(count)]

    def _batch(self, stream: str) -> Elements:
        size, first_ms = self._size, self._now_ms[stream] + 1
        self._now_ms[stream] += size
        return Elements(
            np.arange(first_ms, first_ms + size),
            self._subjects[self._random.integers(0, _SUBJECTS, size)],
            self._predicates[stream][self._random.integers(0, 2, size)],
            self._values[self._random.integers(0, _VALUES, size)],
        )


def _play(
    session: Session, stream: str, queries: Sequence[RegisteredQuery], batches: Sequence[Elements]
) -> Callable[[], None]:
    def play() -> None:
        for batch in batches:
            session.push(stream, batch)
            for query in queries:
                take_rows(query)

    return play


def _spent(work: Sequence[Callable[[], object]], *, threads: bool) -> Spent:
    processor, clock = time.process_time(), time.perf_counter()
    if threads:
        running = [Thread(target=each) for each in work]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    else:
        for each in work:
            each()
    return Spent(time.process_time() - processor, time.perf_counter() - clock)
