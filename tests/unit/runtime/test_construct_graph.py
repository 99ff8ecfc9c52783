"""CONSTRUCT with GRAPH in its template: quads in every form that answers and reports have."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph
import pytest

import freshet
from command_line import CommandLine
from freshet.rdf.errors import InputError
from freshet.results.read_report import read_report
from freshet.results.write import write_answer

S = "http://example.org/s"
QUERY = """PREFIX : <http://example.org/>
REGISTER STREAM :named AS
CONSTRUCT { ?s a :Thing . GRAPH ?s { ?s :p ?v } GRAPH :all { ?s :p ?v } }
FROM STREAM :s [RANGE 10s STEP 10s]
WHERE { ?s :p ?v }"""
LINE = '{}\t<http://example.org/{}> <http://example.org/p> "{}" .\n'
ELEMENTS = LINE.format(1000, "a", 1) + LINE.format(2000, "b", 2)
QUADS = {
    f"<http://example.org/{s}> {rest}"
    for s, v in (("a", 1), ("b", 2))
    for rest in (
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/Thing> .",
        f'<http://example.org/p> "{v}" <http://example.org/{s}> .',
        f'<http://example.org/p> "{v}" <http://example.org/all> .',
    )
}


def named_session(**options: object) -> tuple[freshet.Session, freshet.RegisteredQuery]:
    session = freshet.Session(**options)
    session.stream(S)
    return session, session.register(QUERY)


def test_a_report_is_n_quads_in_json() -> None:
    session, query = named_session()
    session.push(S, ELEMENTS)
    session.finish()
    [report] = query.take()
    line = session.ndjson(report)
    assert set(json.loads(line)["quads"].splitlines()) == QUADS
    with session.dictionary.pins:
        again = read_report(line, report.variables, 20_000, session.dictionary)
    assert session.ndjson(again) == line


def test_a_report_has_triple_terms_and_base_directions_in_json() -> None:
    session = freshet.Session()
    session.stream(S)
    query = session.register(
        f"SELECT ?s ?o FROM NAMED WINDOW <w> ON <{S}> [RANGE PT1S STEP PT1S] WHERE {{ WINDOW <w> {{ ?s ?p ?o }} }}"
    )
    session.push(S, '1\t<a:s> <a:p> <<( <a:s> <a:p> "x\\ty"@ar--rtl )>> .\n1\t_:b <a:p> "z"@ar--ltr .')
    session.finish()
    [report] = query.take()
    with session.dictionary.pins:
        again = read_report(session.ndjson(report), report.variables, 1, session.dictionary)
    assert [*again.bindings()] == [*report.bindings()]


def test_columns_have_the_graph_null_for_the_default_graph() -> None:
    session, query = named_session()
    assert query.take_arrow().column_names == ["time", "subject", "predicate", "object", "graph"]
    session.push(S, ELEMENTS)
    session.finish()
    rows = query.take_arrow().to_pylist()
    assert [row["graph"] for row in rows].count(None) == 2
    assert {row["graph"] for row in rows} == {None, *(f"http://example.org/{name}" for name in ("a", "b", "all"))}


def test_a_stream_of_answers_has_a_triple_of_several_graphs_once() -> None:
    session, _ = named_session()
    counted = session.register("""PREFIX : <http://example.org/>
        REGISTER QUERY counted AS SELECT ?s ?p ?o FROM STREAM :named [RANGE TRIPLES 3] WHERE { ?s ?p ?o }""")
    session.push(S, ELEMENTS)
    session.finish()
    assert len(counted.take()[-1].rows) == 3


def test_why_follows_quads_to_their_elements() -> None:
    session, query = named_session(why_elements=100)
    session.push(S, ELEMENTS)
    session.finish()
    [report] = query.take()
    for row, binding in enumerate(report.bindings()):
        why = query.why(report, row)
        assert [element.triple[0] for element in why.elements] == [binding["subject"]]
        assert ("graph" in why.row) == ("graph" in binding)


def test_reports_of_before_a_restart_have_their_graphs(tmp_path: Path) -> None:
    session = freshet.Session(checkpoint=tmp_path)
    session.stream(S)
    session.register(QUERY)
    session.push(S, ELEMENTS + LINE.format(12_000, "c", 3))
    session.close()
    session = freshet.Session(checkpoint=tmp_path)
    [report] = session.registered("http://example.org/named").take()
    assert set(json.loads(session.ndjson(report))["quads"].splitlines()) == QUADS


@pytest.mark.parametrize(
    ("form", "parsed_as"),
    [(None, "TRIG"), ("trig", "TRIG"), ("nq", "N_QUADS"), ("jsonld", "JSON_LD")],
)
def test_one_shot_answers_are_written_with_their_graphs(form: str | None, parsed_as: str) -> None:
    session = freshet.Session()
    answer = session.query("""PREFIX : <http://example.org/>
        CONSTRUCT { ?s a :Thing . GRAPH ?s { ?s :p ?v } GRAPH :all { ?s :p ?v } }
        WHERE { VALUES (?s ?v) { (:a "1") (:b "2") } }""")
    written = write_answer(answer, session.dictionary, form)
    assert {f"{quad} ." for quad in pyoxigraph.parse(written, getattr(pyoxigraph.RdfFormat, parsed_as))} == QUADS


@pytest.mark.parametrize("form", ["ttl", "nt", "rdfxml"])
def test_a_format_without_graphs_is_refused_by_name(form: str) -> None:
    session = freshet.Session()
    answer = session.query("CONSTRUCT { GRAPH <http://example.org/g> { <http://example.org/a> a 1 } } {}")
    with pytest.raises(InputError, match=f"an answer with named graphs cannot be written as `{form}`"):
        write_answer(answer, session.dictionary, form)


def test_replay_writes_graphs_with_their_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.tnt").write_text(ELEMENTS)
    (tmp_path / "q.rq").write_text(QUERY)
    cli = CommandLine(monkeypatch, capfd)
    found = cli("replay", "-s", f"{S}={tmp_path}/s.tnt", "-q", f"{tmp_path}/q.rq", "--format", "rdf")
    quads = list(pyoxigraph.parse(found.out.encode(), pyoxigraph.RdfFormat.TRIG))
    times = {quad.subject.value for quad in quads if quad.predicate.value.endswith("generatedAtTime")}
    report = "urn:freshet:report:http:%2F%2Fexample.org%2Fnamed:10000"
    assert times == {report, *(f"{report}:{number}" for number in (1, 2, 3))}
    versions = {quad.object.value for quad in quads if quad.predicate.value.endswith("isVersionOf")}
    assert versions == {f"http://example.org/{name}" for name in ("a", "b", "all")}
    assert len(quads) == len(times) + len(versions) + len(QUADS)


def test_replay_reads_its_graphs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each at its own time, also where reports have graphs of one name."""
    (tmp_path / "s.tnt").write_text(ELEMENTS + LINE.format(12_000, "a", 3))
    (tmp_path / "q.rq").write_text(QUERY)
    cli = CommandLine(monkeypatch, capfd)
    cli("replay", "-s", f"{S}={tmp_path}/s.tnt", "-q", tmp_path / "q.rq", "--format", "rdf", "-o", tmp_path / "r.trig")
    (tmp_path / "all.rq").write_text(
        f"PREFIX : <http://example.org/> SELECT ?v FROM NAMED WINDOW <w> ON <{S}> [RANGE PT1S STEP PT1S]"
        " { WINDOW <w> { ?s :p ?v } }"
    )
    given = ("-q", tmp_path / "all.rq", "--time-predicate", "http://www.w3.org/ns/prov#generatedAtTime")
    found = cli("replay", "-s", f"{S}={tmp_path}/r.trig", *given, "--format", "csv").out.split()
    assert sorted(line.split(",")[1:4:2] for line in found[1:]) == [["11000", "1"], ["11000", "2"], ["21000", "3"]]
