"""Writes answers in the W3C formats, and reports as lines of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import orjson

from freshet.algebra.nodes import StreamOperator
from freshet.kernels.json_terms import json_terms
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.terms import key_text
from freshet.results.answers import AnswerBatch
from freshet.results.graphs import (
    json_ld_pieces,
    ntriples_pieces,
    rdf_xml_pieces,
    statement_frame,
    trig_pieces,
    turtle_pieces,
    write_ntriples,
)
from freshet.results.report import QUAD, Answer, BooleanAnswer, Freshness, GraphAnswer, Report, Solutions
from freshet.results.rows import each_cell, write_groups
from freshet.results.sparql_csv import csv_pieces
from freshet.results.sparql_json import bindings_frame, json_pieces, write_bindings
from freshet.results.sparql_tsv import tsv_pieces
from freshet.results.sparql_xml import xml_pieces

Writer = TypeVar("Writer")

WRITERS: dict[str, Callable[[Solutions | BooleanAnswer, Dictionary], Iterator[bytes]]] = {
    "json": json_pieces,
    "csv": csv_pieces,
    "tsv": tsv_pieces,
    "xml": xml_pieces,
}
GRAPH_WRITERS: dict[str, Callable[[GraphAnswer, Dictionary], Iterator[bytes]]] = {
    "nt": ntriples_pieces,
    "ttl": turtle_pieces,
    "rdfxml": rdf_xml_pieces,
    "jsonld": json_ld_pieces,
    "nq": ntriples_pieces,
    "trig": trig_pieces,
}
QUAD_WRITERS = {name: GRAPH_WRITERS[name] for name in ("trig", "nq", "jsonld")}


def write_answer(answer: Answer, dictionary: Dictionary, format: str | None = None) -> bytes:
    """An answer in a format that fits its form: `json`, `csv`, `tsv`, `xml` for SELECT and ASK, `nt`, `ttl`, `rdfxml`,
    `jsonld`, `nq`, `trig` for graphs, of which `nq`, `trig`, `jsonld` take named graphs.

    Without a format it is JSON, Turtle or TriG.
    """
    return b"".join(write_pieces(answer, dictionary, format))


def write_pieces(answer: Answer, dictionary: Dictionary, format: str | None = None) -> Iterator[bytes]:
    """The same, a piece at a time."""
    if isinstance(answer, GraphAnswer) and answer.graphs is not None:
        return _writer(QUAD_WRITERS, format or "trig", "an answer with named graphs")(answer, dictionary)
    if isinstance(answer, GraphAnswer):
        return _writer(GRAPH_WRITERS, format or "ttl", "a graph")(answer, dictionary)
    kind = "the answer to ASK" if isinstance(answer, BooleanAnswer) else "solutions"
    return _writer(WRITERS, format or "json", kind)(answer, dictionary)


def report_json(report: Report, dictionary: Dictionary) -> bytes:
    """A report as one line: `{"query": name, "time": ms, "stream": "rstream", "bindings": [...]}`.

    A graph is `"triples"`, in N-Triples; where the template of CONSTRUCT has GRAPH, it is `"quads"`, in N-Quads. Where
    the query has SERVICE, `"service"` says how fresh the answer is.
    """
    is_graph, width = report.graph is not None, len(report.shown.variables)
    start, middle, tail = _around(report.query, report.stream, report.freshness, width, is_graph=is_graph)
    if report.graph is None:
        content = write_bindings(report.variables, report.rows, dictionary)[1:-1]
    else:
        content = orjson.dumps(write_ntriples(report.graph, dictionary).decode())[1:-1]
    return b"%b%d%b%b%b" % (start, report.time_ms, middle, content, tail)


def batch_json(batch: AnswerBatch) -> bytes:
    """The reports of a batch, a line each, as `report_json` writes them."""
    names, rows, offsets = batch.shown
    if not (offsets[1:] > offsets[:-1]).all():
        return b"".join(report_json(report, batch.dictionary) for report in batch.reports())
    if len(batch) == 0:
        return b""
    is_graph = batch.triples is not None
    start, middle, tail = _around(batch.query, batch.output, batch.freshness, len(names), is_graph=is_graph)
    heads = [b"%b%d%b" % (start, time_ms, middle) for time_ms in batch.times.tolist()]
    frame, write = bindings_frame(names), json_terms
    if is_graph:  # N-Triples or N-Quads within a string of JSON
        frame, write = statement_frame(len(names), " .\\n"), each_cell(_json_term)
    groups = rows[offsets[0] : offsets[-1]], offsets - offsets[0]
    return write_groups(groups, batch.dictionary, write, frame, heads, tail)


def _around(
    query: str, stream: StreamOperator, freshness: Freshness | None, width: int, *, is_graph: bool
) -> tuple[bytes, bytes, bytes]:
    """What stands before the time of a report, between it and the solutions, triples or quads, and after them."""
    opened, closed = b'"bindings":[', b"]"
    if is_graph:
        opened, closed = b'"quads":"' if width == len(QUAD) else b'"triples":"', b'"'
    fresh = b"" if freshness is None else b',"service":%b' % orjson.dumps(freshness)
    start = b'{"query":%b,"time":' % orjson.dumps(query)
    return start, b',"stream":%b,%b' % (orjson.dumps(stream), opened), b"%b%b}\n" % (closed, fresh)


def _json_term(key: str) -> str:
    """A term of N-Triples within a string of JSON."""
    return orjson.dumps(key_text(key)).decode()[1:-1]


def _writer(writers: dict[str, Writer], format: str, kind: str) -> Writer:
    if format not in writers:
        raise InputError(f"{kind} cannot be written as `{format}`", hint=f"one of {', '.join(writers)}")
    return writers[format]
