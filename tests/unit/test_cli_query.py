"""`freshet query` from outside: the formats, and how it ends when the input is wrong."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyoxigraph as ox
import pytest

from command_line import CommandLine, in_another_process
from comparing import same_bag, term_json
from sparql_endpoint import EndpointProcess

DATA = """@prefix : <http://example.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a :name "Ann" ; :age 31 ; :knows :b .
:b :name "Bob, \\"the\\" builder"@en ; :age 27 ; :knows :a, :c .
:c :name "tab\\there" ; :age 4.5 .
"""
PREFIX = "PREFIX : <http://example.org/> "
NAMES = PREFIX + "SELECT ?s ?name WHERE { ?s :name ?name }"
QUERIES = [
    NAMES,
    PREFIX + "SELECT * WHERE { ?a :knows ?b . ?b :age ?n FILTER(?n < 30) }",
    PREFIX + "SELECT ?s (COUNT(?o) AS ?n) WHERE { ?s :knows ?o } GROUP BY ?s",
    PREFIX + "SELECT (SUM(?n) AS ?all) (MAX(?n) AS ?most) WHERE { ?s :age ?n }",
    PREFIX + "SELECT ?s WHERE { ?s :knows :nobody }",
    PREFIX + "SELECT DISTINCT ?p WHERE { ?s ?p ?o }",
    PREFIX + "SELECT ?s (?n * 2 AS ?twice) WHERE { ?s :age ?n }",
]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capfd)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "people.ttl"
    path.write_text(DATA, encoding="utf-8")
    return path


def by_pyoxigraph(query: str) -> tuple[list[str], list[dict]]:
    store = ox.Store()
    store.load(DATA.encode(), ox.RdfFormat.TURTLE)
    solutions = store.query(query)
    names = [variable.value for variable in solutions.variables]
    return names, [
        {name: term_json(solution[name]) for name in names if solution[name] is not None} for solution in solutions
    ]


@pytest.mark.parametrize("query", QUERIES)
def test_json(cli: CommandLine, data: Path, query: str) -> None:
    finished = cli("query", "-d", data, "-q", query, "--format", "json")
    assert finished.status == 0, finished.err
    found = json.loads(finished.out)
    names, bindings = by_pyoxigraph(query)
    assert sorted(found["head"]["vars"]) == sorted(names)
    assert same_bag(found["results"]["bindings"], bindings)


def test_json_is_the_default(cli: CommandLine, data: Path) -> None:
    assert len(json.loads(cli("query", "-d", data, "-q", NAMES).out)["results"]["bindings"]) == 3


def test_csv(cli: CommandLine, data: Path) -> None:
    finished = cli("query", "-d", data, "-q", NAMES, "--format", "csv")
    assert finished.status == 0, finished.err
    rows = list(csv.reader(io.StringIO(finished.out, newline="")))
    assert rows[0] == ["s", "name"]
    assert sorted(rows[1:]) == [
        ["http://example.org/a", "Ann"],
        ["http://example.org/b", 'Bob, "the" builder'],
        ["http://example.org/c", "tab\there"],
    ]


def test_tsv(cli: CommandLine, data: Path) -> None:
    finished = cli("query", "-d", data, "-q", NAMES, "--format", "tsv")
    assert finished.status == 0, finished.err
    lines = finished.out.splitlines()
    assert lines[0] == "?s\t?name"
    assert sorted(lines[1:]) == [
        '<http://example.org/a>\t"Ann"',
        '<http://example.org/b>\t"Bob, \\"the\\" builder"@en',
        '<http://example.org/c>\t"tab\\there"',
    ]


@pytest.mark.parametrize("suffix", ["json", "tsv", "xml"])
def test_formats_say_the_same(cli: CommandLine, data: Path, suffix: str) -> None:
    """pyoxigraph reads what Freshet wrote."""
    query = PREFIX + "SELECT ?s ?p ?o WHERE { ?s ?p ?o }"
    finished = cli("query", "-d", data, "-q", query, "--format", suffix)
    assert finished.status == 0, finished.err
    solutions = ox.parse_query_results(finished.out.encode(), ox.QueryResultsFormat.from_extension(suffix))
    found = [{name: term_json(solution[name]) for name in ("s", "p", "o")} for solution in solutions]
    assert same_bag(found, by_pyoxigraph(query)[1])


def test_query_in_a_file_and_several_data_files(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    (tmp_path / "names.rq").write_text(NAMES, encoding="utf-8")
    (tmp_path / "more.nt").write_text('<http://example.org/d> <http://example.org/name> "Dee" .\n', encoding="utf-8")
    finished = cli("query", "-d", data, "-d", tmp_path / "more.nt", "-q", tmp_path / "names.rq", "--format", "csv")
    assert finished.status == 0, finished.err
    assert len(finished.out.splitlines()) == 5


def test_no_data(cli: CommandLine) -> None:
    finished = cli("query", "-q", NAMES, "--format", "csv")
    assert (finished.status, finished.out.splitlines()) == (0, ["s,name"])


def test_syntax_error_in_text(cli: CommandLine, data: Path) -> None:
    finished = cli("query", "-d", data, "-q", "SELECT ?s\nWHERE { ?s ?p }")
    assert (finished.status, finished.out) == (2, "")
    assert "2:15" in finished.err.splitlines()[0]


def test_syntax_error_in_a_file(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    path = tmp_path / "wrong.rq"
    path.write_text("SELECT ?s\nWHERE { ?s ?p }", encoding="utf-8")
    finished = cli("query", "-d", data, "-q", path)
    assert finished.status == 2
    assert finished.err.startswith(f"{path}:2:15: ")


def test_malformed_data(tmp_path: Path) -> None:
    path = tmp_path / "wrong.nt"
    path.write_text("<http://example.org/a> <http://example.org/p> .\n", encoding="utf-8")
    finished = in_another_process("query", "-d", path, "-q", NAMES)
    assert finished.status == 2
    assert finished.error_line.startswith(f"{path}:1:")


def test_data_of_no_known_kind(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "data.docx"
    path.write_text("x", encoding="utf-8")
    finished = cli("query", "-d", path, "-q", NAMES)
    assert finished.status == 2
    assert str(path) in finished.error_line


def test_data_that_is_a_folder(cli: CommandLine, tmp_path: Path) -> None:
    finished = cli("query", "-d", tmp_path, "-q", NAMES)
    assert finished.status == 2
    assert str(tmp_path) in finished.error_line


def test_continuous_query_is_no_question_for_files(cli: CommandLine, data: Path) -> None:
    query = PREFIX + "SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE PT5S STEP PT5S] WHERE { WINDOW :w { ?s :p ?v } }"
    finished = cli("query", "-d", data, "-q", query)
    assert finished.status == 2
    assert "window" in finished.error_line.lower()


def test_unknown_format(cli: CommandLine, data: Path) -> None:
    assert cli("query", "-d", data, "-q", NAMES, "--format", "klingon").status == 2


def test_a_format_that_does_not_fit_the_form(cli: CommandLine, data: Path) -> None:
    finished = cli("query", "-d", data, "-q", NAMES, "--format", "ttl")
    assert (finished.status, finished.out) == (2, "")
    assert "solutions cannot be written as `ttl`" in finished.error_line


def test_a_query_that_takes_too_long_gives_up(cli: CommandLine, data: Path) -> None:
    finished = cli("query", "-d", data, "-q", NAMES, "--timeout", "0")
    assert finished.status == 1
    assert finished.err == "freshet: the query took longer than its time limit of 0 s\n"


@pytest.mark.parametrize(
    ("query", "format", "says"),
    [
        (PREFIX + "ASK { :a :knows :b }", "csv", "true"),
        (PREFIX + "CONSTRUCT { ?b :knownBy ?a } WHERE { ?a :knows ?b . ?b :age 31 }", "nt", None),
        (PREFIX + "DESCRIBE :c", "ttl", "tab\\there"),
    ],
)
def test_other_forms(cli: CommandLine, data: Path, query: str, format: str, says: str | None) -> None:
    finished = cli("query", "-d", data, "-q", query, "--format", format)
    assert finished.status == 0, finished.err
    wanted = says or "<http://example.org/a> <http://example.org/knownBy> <http://example.org/b> .\n"
    assert wanted in finished.out


def test_a_graph_is_no_table(cli: CommandLine, data: Path) -> None:
    finished = cli("query", "-d", data, "-q", PREFIX + "DESCRIBE :c", "--format", "csv")
    assert finished.status == 2
    assert "csv" in finished.err


def test_services_need_leave(cli: CommandLine) -> None:
    endpoint = EndpointProcess("<http://example.org/a> <http://example.org/p> 1 .")
    text = f"SELECT ?n {{ SERVICE <{endpoint.url}> {{ <http://example.org/a> <http://example.org/p> ?n }} }}"
    try:
        done = cli("query", "-q", text, "--service", "127.0.0.1")
        assert done.status == 0
        assert json.loads(done.out)["results"]["bindings"][0]["n"]["value"] == "1"
        refused = cli("query", "-q", text)
        assert refused.status == 2
        assert "SERVICE may not ask" in refused.err
        assert "--service 127.0.0.1" in refused.err
    finally:
        endpoint.stop()


def test_data_of_a_named_graph(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    with_equals = tmp_path / "a=b.ttl"
    with_equals.write_text('@prefix : <http://example.org/> . :d :name "Dora" .', encoding="utf-8")
    asked = PREFIX + "SELECT ?g ?name { GRAPH ?g { ?s :name ?name } }"
    found = cli(
        "query", "-d", f"http://x?y=1={data}", "-d", f"<http://z>={with_equals}", "--format", "csv", "-q", asked
    )
    rows = list(csv.reader(io.StringIO(found.out)))[1:]
    assert {graph for graph, _ in rows} == {"http://x?y=1", "http://z"}
    assert ["http://z", "Dora"] in rows
    found = cli("query", "-d", str(with_equals), "--format", "csv", "-q", NAMES)
    assert found.out.splitlines()[1:] == ["http://example.org/d,Dora"]
