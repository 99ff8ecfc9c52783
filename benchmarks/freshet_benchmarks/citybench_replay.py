"""CityBench's RSP-QL queries all together over its recorded streams: by increments, beside evaluating every close anew.

The baseline has the same elements, encoded, and at every close the one-shot evaluator answers each query over what its
windows then hold; stored graphs are indexed before. Both must report the same number of rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyoxigraph

from freshet.algebra.nodes import Graph, Node, Query, Window
from freshet.algebra.rewrite.rules import rewrite
from freshet.algebra.rewrite.walk import bottom_up
from freshet.algebra.windows import SlidingWindow, WindowOperator
from freshet.oneshot.answer import answer
from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError, QuerySyntaxError
from freshet.rdf.ntriples import scan_timed
from freshet.rdf.terms import Iri
from freshet.rdf.triples import DEFAULT_GRAPH, Triples
from freshet.results.report import Report, Solutions
from freshet.runtime.session import Session
from freshet.store.dataset import DatasetSnapshot
from freshet.store.triple_index import TripleIndex
from freshet.syntax.parser import parse_query
from freshet_benchmarks.citybench import SERVICES, CityBench, Excerpt
from freshet_benchmarks.figures import Baseline, Figure

FOLDERS = ("rspql-from-rsp4j", "aligned/rspql_query")
ALIGNED_SERVICES = "http://localhost/CityBenchDataStream/SampleEventService#"
EXCERPT = Excerpt(start_ms=1_407_754_800_000, length_ms=60_000, speed=300)  # from 11 August 2014, 11:00
BATCH_MS = 1000
EVENTS = {"AarhusCulturalEvents": "AarhusCulturalEvents.n3", "AarhusLibraryEvents": "AarhusLibraryEvents.n3"}


@dataclass(frozen=True)
class Published:
    """A query with its name and the prefix that the services in its data have."""

    name: str
    text: str
    query: Query
    services: str


def citybench_figures(folder: Path, excerpt: Excerpt = EXCERPT) -> Sequence[Figure]:
    """Elements a second through all queries together; `folder` is CityBench's."""
    queries = published_queries(folder)
    session = _loaded(folder, queries)
    streams = _streams(CityBench(folder), queries, excerpt, session)
    elements = sum(len(stream.times) for stream in streams.values())
    anew_seconds, anew_rows = evaluate_anew(session, queries, streams)
    seconds, rows = replay(session, queries, streams, excerpt)
    if rows != anew_rows:
        raise FreshetError(f"by increments {rows} rows were reported, by evaluating anew {anew_rows}")
    return [
        Figure(
            "citybench_elements_per_second",
            elements / seconds,
            "elements/s",
            Baseline("evaluating every close anew", elements / anew_seconds),
        ),
        Figure("citybench_queries", len(queries), "queries"),
        Figure("citybench_elements", elements, "elements"),
        Figure("citybench_rows", rows, "rows"),
    ]


def published_queries(folder: Path) -> list[Published]:
    """The RSP-QL queries; files that are not queries are left out."""
    found = []
    for part in FOLDERS:
        for path in sorted((folder / part).iterdir()):
            text = path.read_text(encoding="utf-8")
            try:
                query = parse_query(text, file=path.name, dialect="rspql")
            except QuerySyntaxError:
                continue
            name = f"{part}/{path.stem}"
            services = ALIGNED_SERVICES if part.startswith("aligned") else SERVICES
            found.append(Published(name, text, replace(query, name=name), services))
    return found


def _loaded(folder: Path, queries: Iterable[Published]) -> Session:
    """A session with the graphs that queries name; the usual repository stands in for those that are not there."""
    session = Session()
    names = {iri.value for each in queries for iri in (*each.query.default_graphs, *each.query.named_graphs)}
    with TemporaryDirectory() as scratch:
        for name in sorted(names):
            stem = name.rpartition("/")[2].partition(".")[0]
            source = folder / "dataset" / EVENTS.get(stem, "SensorRepository.n3")
            path = Path(scratch) / f"{source.stem}.nt"
            if not path.exists():
                quads = pyoxigraph.parse(path=str(source), format=pyoxigraph.RdfFormat.TURTLE, base_iri=SERVICES)
                pyoxigraph.serialize((quad.triple for quad in quads), str(path), pyoxigraph.RdfFormat.N_TRIPLES)
            session.load(path, graph=name)
    return session


def _streams(
    bench: CityBench, queries: Iterable[Published], excerpt: Excerpt, session: Session
) -> Mapping[str, Elements]:
    """The streams that queries read, encoded."""
    found: dict[str, Elements] = {}
    for each in queries:
        for declared in each.query.windows:
            iri = _stream_of(declared.window)
            if iri not in found:
                text = bench.replay(iri.rpartition("#")[2], excerpt, services=each.services)
                found[iri], _ = scan_timed(text, session.dictionary, iri, blank_scope=f"s{len(found)}")
    return found


def replay(
    session: Session, queries: Iterable[Published], streams: Mapping[str, Elements], excerpt: Excerpt
) -> tuple[float, int]:
    """Seconds of processor time to push all streams, second by second, and the rows reported."""
    rows = 0

    def count(report: Report) -> None:
        nonlocal rows
        rows += len(report.rows)

    for iri in streams:
        session.stream(iri)
    for each in queries:
        session.engine.register(each.name, each.query, count)
    started = time.process_time()
    with session.dictionary.pins:  # nothing holds the terms of elements that are still to come
        for start_ms in range(0, excerpt.length_ms, BATCH_MS):
            for iri, elements in streams.items():
                session.push(iri, _between(elements, start_ms, start_ms + BATCH_MS))
        session.finish()
    return time.process_time() - started, rows


def evaluate_anew(session: Session, queries: Iterable[Published], streams: Mapping[str, Elements]) -> tuple[float, int]:
    """Seconds of processor time to answer every query at each of its closes from nothing, and the rows found."""
    prepared = [(each.query, rewrite(_over_graphs(each.query)), _stored(session, each.query)) for each in queries]
    seconds, rows = 0.0, 0
    for query, over_graphs, stored in prepared:
        started = time.process_time()
        for close_ms in _closes(query, streams):
            graphs = {
                session.dictionary.encode(declared.name): _content(declared.window, close_ms, streams)
                for declared in query.windows
            }
            if any(len(content.subjects) for content in graphs.values()):
                held = {name: TripleIndex(content) for name, content in graphs.items()}
                found = answer(over_graphs, DatasetSnapshot({DEFAULT_GRAPH: stored} | held), session.dictionary)
                assert isinstance(found, Solutions)
                rows += len(found.rows)
        seconds += time.process_time() - started
    return seconds, rows


def _over_graphs(query: Query) -> Query:
    """The query with a named graph in the place of each window."""
    root = bottom_up(query.root, (_as_graph,), (_as_graph,))
    return replace(query, root=root, windows=(), default_graphs=(), named_graphs=())


def _as_graph(node: Node) -> Node:
    return Graph(node.name, node.child) if isinstance(node, Window) else node


def _stored(session: Session, query: Query) -> TripleIndex:
    """The query's default graph: those that FROM names, in one, with what is asked often in order."""
    names = [session.dictionary.encode(iri) for iri in query.default_graphs]
    parts = [session.stored.elements(name) for name in names] or [session.stored.elements()]
    merged = TripleIndex(
        Triples(*(np.concatenate(columns) for columns in zip(*(part[1:] for part in parts), strict=True)))
    )
    len(merged)
    return merged


def _closes(query: Query, streams: Mapping[str, Elements]) -> range:
    """The closes from the first to the last at which a window can hold something; all slide in the same steps."""
    windows = [declared.window for declared in query.windows]
    times = np.concatenate([streams[_stream_of(window)].times for window in windows])
    slide_ms = max(window.slide_ms for window in windows if isinstance(window, SlidingWindow))
    width_ms = max(window.width_ms for window in windows if isinstance(window, SlidingWindow))
    return range(0, int(times.max()) + width_ms + slide_ms, slide_ms)


def _stream_of(window: WindowOperator) -> str:
    assert isinstance(window.stream, Iri)
    return window.stream.value


def _content(window: WindowOperator, close_ms: int, streams: Mapping[str, Elements]) -> Triples:
    assert isinstance(window, SlidingWindow)
    held = _between(streams[_stream_of(window)], close_ms - window.width_ms, close_ms)
    return Triples(*held[1:])


def _between(elements: Elements, start_ms: int, end_ms: int) -> Elements:
    first, last = np.searchsorted(elements.times, [start_ms, end_ms])
    return Elements(*(column[first:last] for column in elements))
