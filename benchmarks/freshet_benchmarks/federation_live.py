"""The same experiment through the whole engine: a window joined with a real endpoint, held back on purpose.

The counts and mentions are those of `federation_data`, a minute of them in SLIDE_MS. At each evaluation the endpoint
has the counts of that minute. Two ways to ask: an entry a request, as the paper has it, all that the latency allows;
and in bulk, as much as an accuracy of 0.75 needs. Requests and entries are held against asking every time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from freshet.federation.settings import ServiceSettings
from freshet.results.report import Freshness, Report
from freshet.runtime.session import Session
from freshet_benchmarks.federation_data import Mentions, Remote, mentions
from freshet_benchmarks.federation_endpoint import SlowEndpoint
from freshet_benchmarks.figures import Baseline, Figure

DELAYS_MS = (5, 50)
LATENCY_MS = 200
SLIDE_MS = 250
EVALUATIONS = 120
WARMING = 10  # evaluations in which kernels are made ready and the view is loaded, and that do not count
_EX = "http://example.org/"
_STREAM = _EX + "mentions"
_QUERY = f"""PREFIX : <{_EX}> REGISTER RSTREAM <live> AS SELECT ?user ?count
FROM NAMED WINDOW <w> ON <{_STREAM}> [RANGE PT{SLIDE_MS / 1000}S STEP PT{SLIDE_MS / 1000}S]
WHERE {{ WINDOW <w> {{ ?user :isMentioned :now }} SERVICE <%s> {{ ?user :followers ?count }} }}"""


@dataclass(frozen=True, slots=True)
class Way:
    """How the endpoint is asked."""

    name: str
    single: bool
    accuracy: float | None


WAYS = (Way("single", single=True, accuracy=None), Way("bulk", single=False, accuracy=0.75))


def live_figures(
    remote: Remote, delays_ms: Sequence[int] = DELAYS_MS, evaluations: int = EVALUATIONS, ways: Sequence[Way] = WAYS
) -> list[Figure]:
    """Every way with every delay."""
    stream = mentions(remote.users, evaluations, seed=0)
    turtle = "\n".join(f"<{_EX}u{user}> <{_EX}followers> {count} ." for user, count in enumerate(remote.values[0]))
    figures: list[Figure] = []
    for delay_ms in delays_ms:
        for way in ways:
            endpoint = SlowEndpoint(turtle)
            try:
                figures += _figures(f"live_{delay_ms}ms_{way.name}", _run(endpoint, remote, stream, delay_ms, way), way)
            finally:
                endpoint.close()
    return figures


@dataclass(frozen=True, slots=True)
class _Run:
    told: list[Freshness]
    right: list[float]
    requests: int
    candidates: int

    @property
    def refreshes(self) -> int:
        return sum(each.refreshes for each in self.told)


def _run(endpoint: SlowEndpoint, remote: Remote, stream: Mentions, delay_ms: int, way: Way) -> _Run:
    hosts = ("127.0.0.1",)
    settings = ServiceSettings(hosts, single_bindings=hosts if way.single else ())
    session = Session(services=settings)
    session.stream(_STREAM)
    query = session.register(_QUERY % endpoint.url, latency_ms=LATENCY_MS, accuracy=way.accuracy)
    told, right, candidates = [], [], 0
    start = time.monotonic()
    for evaluation in range(len(stream.lives)):
        if evaluation == WARMING:
            endpoint.delay(delay_ms)
        endpoint.update(_changes(remote, evaluation))
        users = stream.mentioned(evaluation)
        at_ms = evaluation * SLIDE_MS
        session.push(_STREAM, "\n".join(f"{at_ms}\t<{_EX}u{user}> <{_EX}isMentioned> <{_EX}now> ." for user in users))
        session.advance(_STREAM, at_ms + SLIDE_MS)
        session.engine.drain()
        if evaluation >= WARMING:
            candidates += len(users)
            for report in query:
                assert report.freshness is not None
                told.append(report.freshness)
                right.append(_right(session, report, remote.values[evaluation + 1]) / len(users))
        else:
            query.take()
        time.sleep(max(0.0, start + (evaluation + 1) * SLIDE_MS / 1000 - time.monotonic()))
    requests = endpoint.seen
    session.services.close()
    return _Run(told, right, requests, candidates)


def _changes(remote: Remote, evaluation: int) -> str:
    """The counts that changed before an evaluation, as an update."""
    before, after = remote.values[evaluation], remote.values[evaluation + 1]
    users = np.flatnonzero(before != after)
    gone = " ".join(f"<{_EX}u{user}> <{_EX}followers> {before[user]} ." for user in users)
    new = " ".join(f"<{_EX}u{user}> <{_EX}followers> {after[user]} ." for user in users)
    return f"DELETE DATA {{ {gone} }} ; INSERT DATA {{ {new} }}"


def _right(session: Session, report: Report, counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> int:
    """How many answers are what the endpoint has now."""
    rows = [(str(row["user"]), str(row["count"])) for row in session.bindings(report)]
    return sum(int(count.split('"')[1]) == counts[int(user[len(_EX) + 2 : -1])] for user, count in rows)


def _figures(name: str, run: _Run, way: Way) -> list[Figure]:
    latencies = np.array([each.latency_ms for each in run.told])
    every_time = run.candidates if way.single else len(run.told)
    return [
        Figure(f"{name}_latency_kept", float((latencies <= LATENCY_MS).mean()), "share", Baseline("asked", 0.99)),
        Figure(f"{name}_latency_p99", float(np.percentile(latencies, 99)), "ms", Baseline("asked", LATENCY_MS)),
        Figure(f"{name}_requests", run.requests, "requests", Baseline("asking every time", every_time)),
        Figure(f"{name}_entries", run.refreshes, "entries", Baseline("asking every time", run.candidates)),
        Figure(f"{name}_accuracy", float(np.mean(run.right)), "share"),
        Figure(f"{name}_estimated_accuracy", float(np.mean([each.accuracy for each in run.told])), "share"),
    ]
