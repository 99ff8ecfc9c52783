"""What is evaluated anew follows graphs that are loaded while streams run."""

from __future__ import annotations

from pathlib import Path

import freshet
from declaring import register

S = "http://example.org/s"
QUERY = """PREFIX : <http://example.org/>
REGISTER RSTREAM :q AS SELECT ?g ?v FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT10S]
WHERE { WINDOW :w { ?x :is ?y } GRAPH ?g { ?x :has ?v } }"""


def test_named_graphs_that_come_and_grow(tmp_path: Path) -> None:
    def load(graph: str, value: str) -> None:
        data = tmp_path / "data.nt"
        data.write_text(f'<http://example.org/x> <http://example.org/has> "{value}" .\n', encoding="utf-8")
        session.load(data, graph=f"http://example.org/{graph}")

    session = freshet.Session()
    query = register(session, QUERY)
    line = "{}\t<http://example.org/x> <http://example.org/is> <http://example.org/y> .\n"
    seen = []
    for close, (graph, value) in enumerate([("g", "1"), ("g", "2"), ("h", "3"), ("g", "4")]):
        session.push(S, line.format(10_000 * close + 1))
        load(graph, value)
        session.advance(S, 10_000 * (close + 1))
        (report,) = query.take()
        seen.append(sorted(row["v"].lexical for row in session.bindings(report)))
    assert seen == [["1"], ["1", "2"], ["1", "2", "3"], ["1", "2", "3", "4"]]
