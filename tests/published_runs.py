"""Answer a published query over recorded streams twice, by `freshet.Session` and by the reference, and compare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyoxigraph as ox

import freshet
from comparing import differences, reports_of
from reference.evaluator import evaluate
from reference.rewriting import rewrite

NAME = "published"

Reports = list[dict[str, Any]]
Texts = Mapping[str, bytes]


def compared(text: str, streams: Texts, graphs: Texts, *, dialect: str, folder: Path) -> Reports:
    """The reports of both, which must be the same. `graphs` are N-Triples by name, "" the default graph."""
    expected = reference_reports(text, streams, graphs)
    found = native_reports(text, streams, graphs, dialect=dialect, folder=folder)
    differ = differences(found, expected)
    assert not differ, differ[:2000]
    return found


def native_reports(text: str, streams: Texts, graphs: Texts, *, dialect: str, folder: Path) -> Reports:
    """What the native engine reports."""
    session = freshet.Session()
    for number, (graph, triples) in enumerate(graphs.items()):
        path = folder / f"graph{number}.nt"
        path.write_bytes(triples)
        session.load(path, graph=graph or None)
    for iri in streams:
        session.stream(iri)
    query = session.register(text, name=NAME, dialect=dialect)
    for iri, lines in streams.items():
        session.push(iri, lines)
    session.finish()
    return [json.loads(session.ndjson(report)) | {"query": NAME} for report in query.take()]


def reference_reports(text: str, streams: Texts, graphs: Texts) -> Reports:
    """What the reference finds."""
    stored = [
        ox.Quad(*quad.triple, ox.NamedNode(graph) if graph else ox.DefaultGraph())
        for graph, triples in graphs.items()
        for quad in ox.parse(triples, ox.RdfFormat.N_TRIPLES)
    ]
    lines = {iri: [timed(line) for line in data.decode().splitlines()] for iri, data in streams.items()}
    return reports_of(evaluate(text, lines, stored=stored), NAME, rewrite(text, streams).output)


def timed(line: str) -> tuple[int, str]:
    """A line of timed N-Triples in its two parts."""
    time_ms, _, statement = line.partition("\t")
    return int(time_ms), statement
