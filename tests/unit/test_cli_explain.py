"""`freshet explain` from outside: the dialects, and how errors are shown."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from command_line import CommandLine
from sparql_endpoint import EndpointProcess

CSPARQL = "REGISTER QUERY q AS SELECT ?s FROM STREAM <http://ex/s> [RANGE 10s STEP 1s] WHERE { ?s ?p ?o }"
CQELS = "SELECT ?s WHERE { STREAM <http://ex/s> [NOW] { ?s ?p ?o } }"


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capfd)


@pytest.mark.parametrize(("text", "dialect"), [(CSPARQL, "csparql"), (CSPARQL, "C-SPARQL"), (CQELS, "cqels")])
def test_a_dialect_is_recognised_or_named(cli: CommandLine, text: str, dialect: str) -> None:
    recognised = cli("explain", "-q", text)
    assert recognised.status == 0, recognised.err
    assert "http://ex/s" in recognised.out
    assert cli("explain", "-q", text, "--dialect", dialect) == recognised


def test_json(cli: CommandLine) -> None:
    explained = json.loads(cli("explain", "-q", CQELS, "--format", "json").out)
    assert explained["output"] == "istream"
    assert explained["windows"] == [{"name": "window1", "kind": "now", "stream": "http://ex/s"}]


@pytest.mark.parametrize("command", ["explain", "query"])
def test_another_dialect_is_named(cli: CommandLine, command: str) -> None:
    finished = cli(command, "-q", CQELS, "--dialect", "rspql")
    assert finished.status == 2
    assert finished.error_line == "line 1:19: STREAM is CQELS-QL, but the query is to be read as RSP-QL"


def test_no_such_dialect(cli: CommandLine) -> None:
    finished = cli("explain", "-q", CQELS, "--dialect", "sql")
    assert finished.status == 2
    assert "there is no query language 'sql'" in finished.error_line


def test_replay_takes_a_dialect(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "s.tnt").write_text("", encoding="utf-8")
    (tmp_path / "q.rq").write_text(CQELS, encoding="utf-8")
    stream = f"http://ex/s={tmp_path / 's.tnt'}"
    finished = cli("replay", "-s", stream, "-q", tmp_path / "q.rq", "--dialect", "csparql")
    assert finished.status == 2
    assert "STREAM is CQELS-QL, but the query is to be read as C-SPARQL" in finished.error_line


def test_a_terminal_shows_the_place(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    finished = cli("explain", "-q", "ASK { ?s ?p }")
    assert finished.status == 2
    assert finished.err.splitlines() == [
        "line 1:13: expected an RDF term or a variable, but found '}'",
        "ASK { ?s ?p }",
        "            ^",
    ]


RSPQL = """PREFIX : <http://ex/> REGISTER RSTREAM :q AS SELECT ?s ?o
FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT10S] WHERE { WINDOW :w { ?s :p ?o } ?s :next+ ?other }"""


def test_what_is_evaluated_anew_is_said(cli: CommandLine) -> None:
    explained = cli("explain", "-q", RSPQL).out
    assert "kept answered by" in explained
    assert "A property path (evaluated again whenever its input has changed)" in explained
    operators = json.loads(cli("explain", "-q", RSPQL, "--format", "json").out)["operators"]
    joined = operators["children"][0]["children"]
    assert [(each["operator"], each["how"]) for each in joined] == [
        ("Leaf", "by increments"),
        ("Reevaluate", "evaluated again whenever its input has changed"),
    ]


def test_a_query_without_a_window_as_a_live_one(cli: CommandLine) -> None:
    text = "SELECT * { ?s <http://ex/p> ?o . ?s <http://ex/next>+ ?other }"
    assert "kept answered by" not in cli("explain", "-q", text).out
    explained = cli("explain", "-q", text, "--live").out
    assert "Pattern ?s <http://ex/p> ?o in the stored graph" in explained
    assert "A property path (evaluated again whenever its input has changed)" in explained
    assert "Pattern ?s ?p ?o in the stored graph" in cli("explain", "-q", "ASK { ?s ?p ?o }", "--live").out
    blank = "CONSTRUCT { [] ?p ?o } WHERE { ?s ?p ?o }"
    assert "a blank node in the template of a live CONSTRUCT" in cli("explain", "-q", blank, "--live").out


def test_what_is_refused_is_said(cli: CommandLine) -> None:
    drawn = "?s :next+ ?other FILTER EXISTS { ?s :next ?x FILTER (RAND() > 0.5) }"
    finished = cli("explain", "-q", RSPQL.replace("?s :next+ ?other", drawn))
    assert finished.status == 0
    assert "the function RAND in EXISTS is not supported" in finished.out


def test_local_views_are_shown(cli: CommandLine) -> None:
    finished = cli("explain", "-q", RSPQL.replace("?s :next+ ?other", "SERVICE :e { ?s :q ?z }"))
    assert finished.status == 0
    assert "Local view of :e, refreshed where it matters" in finished.out
    finished = cli("explain", "-q", RSPQL.replace("?s :next+ ?other", "SERVICE SILENT ?o { ?s :q ?z }"))
    assert "Local view of SILENT ?o, refreshed where it matters" in finished.out


@pytest.mark.parametrize("format", ["text", "json"])
def test_credentials_in_an_endpoint_are_not_shown(cli: CommandLine, format: str) -> None:
    text = RSPQL.replace("?s :next+ ?other", "SERVICE <https://me:hush@example.org/sparql> { ?s :q ?z }")
    finished = cli("explain", "-q", text, "--format", format, "--optimized")
    assert "hush" not in finished.out + finished.err
    assert finished.out.count("<https://...@example.org/sparql>") == 3


def test_what_is_asked_of_remote_data_is_shown(cli: CommandLine) -> None:
    asked = "WITH ACCURACY >= 0.75 WITH LATENCY <= 200 ms WHERE"
    text = RSPQL.replace("?s :next+ ?other", "SERVICE :e { ?s :q ?z }").replace("WHERE", asked)
    first, *_ = cli("explain", "-q", text).out.splitlines()
    assert first.endswith(", accuracy >= 0.75, latency <= 200 ms")
    explained = json.loads(cli("explain", "-q", text, "--format", "json").out)
    assert (explained["accuracy"], explained["latency_ms"]) == (0.75, 200)


def test_analyze_asks_the_endpoints_that_it_may(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "s.tnt").write_text("1\t<http://ex/a> <http://ex/p> <http://ex/o> .\n", encoding="utf-8")
    endpoint = EndpointProcess("<http://ex/a> <http://ex/q> 1, 2 .")
    text = RSPQL.replace("?s :next+ ?other", f"SERVICE <{endpoint.url}> {{ ?s :q ?z }}")
    given = ("explain", "--analyze", "-q", text, "-s", f"http://ex/s={tmp_path / 's.tnt'}")
    try:
        finished = cli(*given, "--service", "127.0.0.1", "--format", "json")
        assert finished.status == 0, finished.err
        join = json.loads(finished.out)["operators"]["children"][0]
        children = {each["operator"]: each for each in join["children"]}
        assert children["Service"]["came"] == 2
        refused = cli(*given)
        assert refused.status == 2
        assert "may not ask" in refused.err
    finally:
        endpoint.stop()


def test_analyze_counts_rows(cli: CommandLine, tmp_path: Path) -> None:
    lines = [
        f"{time}\t<http://ex/{name}> <http://ex/p> <http://ex/o> ." for time, name in ((1, "a"), (2, "b"), (11000, "a"))
    ]
    (tmp_path / "s.tnt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "data.nt").write_text("<http://ex/a> <http://ex/next> <http://ex/b> .\n", encoding="utf-8")
    given = ("-s", f"http://ex/s={tmp_path / 's.tnt'}", "-d", tmp_path / "data.nt")
    finished = cli("explain", "--analyze", "-q", RSPQL, *given, "--format", "json")
    assert finished.status == 0, finished.err
    join = json.loads(finished.out)["operators"]["children"][0]
    # a is in both windows, so its result came once; it went at the close after the last that had content
    assert (join["operator"], join["came"], join["went"], join["steps"]) == ("Join", 1, 1, 2)
    assert join["seconds"] >= 0
    leaf = next(each for each in join["children"] if each["operator"] == "Leaf")
    assert (leaf["came"], leaf["went"], leaf["steps"]) == (2, 2, 2)  # a stays when b goes; a batch of moments is a step
    assert "seconds" not in leaf  # it is part of the join's
    assert "[2 came, 2 went in 2 steps]" in cli("explain", "--analyze", "-q", RSPQL, *given).out
    assert cli("explain", "--analyze", "-q", RSPQL).status == 2  # no recording


def test_analyze_shows_what_windows_that_adapt_did(cli: CommandLine, tmp_path: Path) -> None:
    query = """PREFIX : <http://ex/> REGISTER ISTREAM :q AS SELECT ?v ?u
        FROM NAMED WINDOW :w ON :s [ADAPTIVE PT1S TO PT4S] FROM NAMED WINDOW :x ON :t [ADAPTIVE PT1S TO PT4S]
        WHERE { WINDOW :w { ?x :p ?v } WINDOW :x { ?x :p ?u } }"""
    times = {"s": (0, 100, 200, 1000, 2500), "t": (300, 900)}
    given = ["explain", "--analyze", "-q", query]
    for name, of in times.items():
        lines = "".join(f"{time}\t<http://ex/a> <http://ex/p> <http://ex/{name}> .\n" for time in of)
        (tmp_path / f"{name}.tnt").write_text(lines, encoding="utf-8")
        given += ["-s", f"http://ex/{name}={tmp_path / name}.tnt"]
    finished = cli(*given)
    assert finished.status == 0, finished.err
    assert "Window on :s: 2 s now; 2 subwindows ended, of 1 s to 1 s; 5 of 7 elements met any" in finished.out
    found = json.loads(cli(*given, "--format", "json").out)["adaptive_windows"]
    assert [(each["stream"], each["met"]) for each in found] == [("http://ex/s", 5), ("http://ex/t", 5)]


@pytest.mark.parametrize(("output", "rows"), [("RSTREAM", (7, 0)), ("ISTREAM", (4, 4)), ("DSTREAM", (4, 4))])
def test_analyze_counts_what_an_ordered_answer_gave_out(
    cli: CommandLine, tmp_path: Path, output: str, rows: tuple[int, int]
) -> None:
    came = ((1000, 1), (1500, 2), (7000, 3), (40000, 3))
    lines = [f'{time}\t<http://ex/a> <http://ex/p> "{value}" .' for time, value in came]
    (tmp_path / "s.tnt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = f"""PREFIX : <http://ex/> REGISTER {output} :q AS SELECT ?s ?o
    FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S] WHERE {{ WINDOW :w {{ ?s :p ?o }} }} ORDER BY ?o LIMIT 2"""
    given = ("-s", f"http://ex/s={tmp_path / 's.tnt'}", "--format", "json")
    finished = cli("explain", "--analyze", "-q", text, *given)
    assert finished.status == 0, finished.err
    ordered = json.loads(finished.out)["operators"]
    # RSTREAM, the rows of every evaluation: 1 and 2 at two closes, 3 at one more, and again at two.
    # Else the rows that come and go: 1 and 2, 3, and 3 again.
    assert (ordered["operator"], ordered["came"], ordered["went"]) == ("Ordered", *rows)
