"""Metrics for Prometheus, and a health check for load balancers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from freshet import __version__
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.server.queries import json_response
from freshet.server.served import served

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from freshet.runtime.report_log import LoggedReports
    from freshet.server.served import Served

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """What is counted as it happens. What a session knows anyway is asked when Prometheus asks."""

    def __init__(self, shared: Served) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "freshet_http_requests", "Requests", ["path", "method", "status"], registry=self.registry
        )
        self.request_seconds = Histogram(
            "freshet_http_request_seconds", "Time of requests", ["path"], buckets=_SECONDS, registry=self.registry
        )
        self._report_seconds = Histogram(
            "freshet_report_seconds",
            "From the arrival of a POST to a report that it brings about",
            ["query"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._began = threading.local()
        self.registry.register(_SessionCollector(shared))
        ProcessCollector(registry=self.registry)

    def begin_push(self, began: float) -> None:
        """This thread pushes what arrived at a time of `perf_counter`."""
        self._began.at = began

    def end_push(self) -> None:
        self._began.at = None

    def note_reports(self, reports: LoggedReports) -> None:
        """A query has reported, in the thread that pushes, or in one of its own."""
        if (began := getattr(self._began, "at", None)) is not None:
            self._report_seconds.labels(_family(reports.query)).observe(time.perf_counter() - began)


class _SessionCollector(Collector):
    """What a session knows: its streams, queries, windows and stored data."""

    def __init__(self, shared: Served) -> None:
        self._shared = shared

    def collect(self) -> Iterator[Metric]:
        yield from self._streams()
        yield from self._queries()
        yield from self._bytes()

    def _streams(self) -> Iterator[Metric]:
        counts = {
            name: CounterMetricFamily(f"freshet_stream_{name}", text, labels=["stream"])
            for name, text in (
                ("records", "Records that came, before mapping; of RDF, each statement is one"),
                ("elements", "Elements that came"),
                ("late", "Elements that came too late and were dropped"),
                ("rejected", "Posts and records that could not be read"),
            )
        }
        watermark = GaugeMetricFamily("freshet_stream_watermark_seconds", "Event time reached", labels=["stream"])
        lag = GaugeMetricFamily("freshet_stream_lag_seconds", "Wall clock less the watermark", labels=["stream"])
        now, rejected, records = time.time(), self._shared.rejects.counts(), self._shared.records.counts()
        for state in self._shared.session.streams():
            values = {
                "records": records[state.iri],
                "elements": state.elements,
                "late": state.late,
                "rejected": rejected[state.iri],
            }
            for name, family in counts.items():
                family.add_metric([state.iri], values[name])
            if state.watermark_ms > BEFORE_ALL_TIME:
                watermark.add_metric([state.iri], state.watermark_ms / 1000)
                lag.add_metric([state.iri], now - state.watermark_ms / 1000)
        yield from counts.values()
        yield watermark
        yield lag

    def _queries(self) -> Iterator[Metric]:
        standing = self._shared.standing
        reports = CounterMetricFamily("freshet_query_reports", "Reports", labels=["query"])
        subscribers = GaugeMetricFamily("freshet_query_subscribers", "Subscribers", labels=["query"])
        moments = GaugeMetricFamily(
            "freshet_query_moment_seconds", "Event time of the last evaluation", labels=["query"]
        )
        made: dict[str, int] = {}
        taking: dict[str, int] = {}
        for name, count in standing.log.counts().items():
            made[_family(name)] = made.get(_family(name), 0) + count
            taking[_family(name)] = taking.get(_family(name), 0) + standing.subscribers.of(name)
        for name, count in made.items():
            reports.add_metric([name], count)
            subscribers.add_metric([name], taking[name])
        session = self._shared.session
        for name, moment in (session.engine.passed() if session.has_engine else {}).items():
            if "?" not in name and moment > 2 * BEFORE_ALL_TIME:
                moments.add_metric([name], (moment >> 1) / 1000)
        failed = CounterMetricFamily("freshet_query_failures", "Queries that failed and were removed")
        failed.add_metric([], len(session.failures))
        cut = CounterMetricFamily("freshet_subscribers_cut_off", "Subscribers that read too slowly")
        cut.add_metric([], standing.subscribers.cut_off)
        yield from (reports, subscribers, moments, failed, cut)

    def _bytes(self) -> Iterator[Metric]:
        held = GaugeMetricFamily("freshet_bytes", "Memory in use", labels=["part"])
        for part, size in self._shared.session.sizes().items():
            held.add_metric([part], size)
        held.add_metric(["reports"], self._shared.standing.log.nbytes)
        yield held


def _family(query: str) -> str:
    """What a query is counted under: one with parameters counts as one."""
    return query.partition("?")[0]


async def metrics(request: Request) -> Response:
    """Metrics in Prometheus' text format."""
    shared = served(request)
    text = await shared.asking.submit(generate_latest, shared.metrics.registry)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


async def health(request: Request) -> Response:
    """Whether requests can be answered, and what is the trouble if not."""
    trouble = served(request).session.trouble
    content = {"status": "failing" if trouble else "ok", "version": __version__}
    return json_response(content | ({"detail": trouble} if trouble else {}), 503 if trouble else 200)
