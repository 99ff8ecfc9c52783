"""Writes answers in the W3C formats, and reports as lines of JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import orjson

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.results.graphs import write_ntriples, write_turtle
from freshet.results.report import Answer, BooleanAnswer, GraphAnswer, Report, Solutions
from freshet.results.sparql_csv import write_csv
from freshet.results.sparql_json import write_bindings, write_json
from freshet.results.sparql_tsv import write_tsv
from freshet.results.sparql_xml import write_xml

Writer = TypeVar("Writer")

WRITERS: dict[str, Callable[[Solutions | BooleanAnswer, Dictionary], bytes]] = {
    "json": write_json,
    "csv": write_csv,
    "tsv": write_tsv,
    "xml": write_xml,
}
GRAPH_WRITERS: dict[str, Callable[[GraphAnswer, Dictionary], bytes]] = {"nt": write_ntriples, "ttl": write_turtle}


def write_answer(answer: Answer, dictionary: Dictionary, format: str | None = None) -> bytes:
    """An answer in a format that fits its form: `json`, `csv`, `tsv`, `xml` for SELECT and ASK, `nt`, `ttl` for graphs.

    Without a format it is JSON or Turtle.
    """
    if isinstance(answer, GraphAnswer):
        return _writer(GRAPH_WRITERS, format or "ttl", "a graph")(answer, dictionary)
    kind = "the answer to ASK" if isinstance(answer, BooleanAnswer) else "solutions"
    return _writer(WRITERS, format or "json", kind)(answer, dictionary)


def report_json(report: Report, dictionary: Dictionary) -> bytes:
    """A report as one line: `{"query": name, "time": ms, "stream": "rstream", "bindings": [...]}`.

    A graph is `"triples"`, in N-Triples. Where the query has SERVICE, `"service"` says how fresh the answer is.
    """
    if report.graph is None:
        key, content = b"bindings", write_bindings(report.variables, report.rows, dictionary)
    else:
        key, content = b"triples", orjson.dumps(write_ntriples(report.graph, dictionary).decode())
    fresh = b"" if report.freshness is None else b',"service":%b' % orjson.dumps(report.freshness)
    return b'{"query":%b,"time":%d,"stream":%b,"%b":%b%b}\n' % (
        orjson.dumps(report.query),
        report.time_ms,
        orjson.dumps(report.stream),
        key,
        content,
        fresh,
    )


def _writer(writers: dict[str, Writer], format: str, kind: str) -> Writer:
    if format not in writers:
        raise InputError(f"{kind} cannot be written as `{format}`", hint=f"one of {', '.join(writers)}")
    return writers[format]
