"""Queries that read each other's answers: their order, and circles that are refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import CommandLine
from freshet.runtime.pipeline_file import read_pipeline
from freshet.runtime.query_order import CycleError, registration_order
from freshet.syntax.parser import parse_query
from pipeline_text import PIPELINE, problems, replaced

IN_PLACE = """\
  {name}:
    text: |
      CONSTRUCT {{ ?x <http://example.org/is> ?y }}
      FROM NAMED WINDOW <w> ON <{stream}> [RANGE PT10S STEP PT5S]
      WHERE {{ WINDOW <w> {{ ?x ?p ?y }} }}
"""


def reading(*streams: str, form: str = "CONSTRUCT { ?x <http://e/p> ?y }") -> object:
    windows = " ".join(
        f"FROM NAMED WINDOW <w{at}> ON <{stream}> [RANGE PT1S STEP PT1S]" for at, stream in enumerate(streams)
    )
    return parse_query(f"{form} {windows} WHERE {{ WINDOW <w0> {{ ?x ?p ?y }} }}")


def test_each_comes_after_those_that_it_reads() -> None:
    queries = {
        "c": reading("b", "s"),
        "a": reading("s"),
        "d": reading("a", "c", form="SELECT ?x"),
        "b": reading("a"),
    }
    assert registration_order(queries) == ["a", "b", "c", "d"]
    assert registration_order({"y": reading("s"), "x": reading("t")}) == ["y", "x"]


@pytest.mark.parametrize(
    ("queries", "says"),
    [
        ({"a": ["a"]}, "a query reads its own answers: a reads <a>"),
        ({"s": ["x"], "a": ["b"], "b": ["a"]}, "queries read each other's answers: a reads <b>, b reads <a>"),
        (
            {"d": ["a"], "a": ["b"], "b": ["s", "c"], "c": ["a"]},
            "queries read each other's answers: a reads <b>, b reads <c>, c reads <a>",
        ),
    ],
)
def test_circles(queries: dict[str, list[str]], says: str) -> None:
    with pytest.raises(CycleError) as raised:
        registration_order({name: reading(*streams) for name, streams in queries.items()})
    assert raised.value.message == says


def test_a_select_is_no_stream() -> None:
    assert registration_order({"b": reading("a"), "a": reading("b", form="SELECT ?x")}) == ["b", "a"]


def test_queries_of_a_pipeline_in_any_order(folder: Path) -> None:
    second = IN_PLACE.format(name="second", stream="first")
    first = IN_PLACE.format(name="first", stream="http://example.org/parking")
    (folder / "pipeline.yaml").write_text(replaced(PIPELINE, "checkpoint:", second + first + "checkpoint:"))
    assert list(read_pipeline("pipeline.yaml").queries) == ["slow", "full", "first", "second"]


def test_circles_and_names_in_a_pipeline(folder: Path) -> None:
    pair = IN_PLACE.format(name="first", stream="second") + IN_PLACE.format(name="second", stream="first")
    (problem,) = problems(replaced(PIPELINE, "checkpoint:", pair + "checkpoint:"), folder)
    assert problem.startswith(
        "pipeline.yaml:20:3: queries read each other's answers: first reads <second>, second reads"
    )
    other = IN_PLACE.format(name="first", stream="frist")
    (problem,) = problems(replaced(PIPELINE, "checkpoint:", other + "checkpoint:"), folder)
    assert "the stream <frist> is not declared; did you mean 'first'?" in problem


def test_a_query_of_a_pipeline_that_is_named_like_a_stream(folder: Path) -> None:
    text = IN_PLACE.format(name="first", stream="http://example.org/parking").replace(
        "CONSTRUCT", "REGISTER RSTREAM <http://example.org/traffic> AS CONSTRUCT"
    )
    (problem,) = problems(replaced(PIPELINE, "checkpoint:", text + "checkpoint:"), folder)
    assert "its answers are the stream <http://example.org/traffic>, and a stream with this IRI is declared" in problem


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capfd)


def test_replay_of_queries_in_any_order(cli: CommandLine, tmp_path: Path) -> None:
    window = "FROM NAMED WINDOW <w> ON <{}> [RANGE PT1S STEP PT1S] WHERE {{ WINDOW <w> {{ ?x ?p ?y }} }}"
    (tmp_path / "s.tnt").write_text("100\t<http://e/a> <http://e/p> <http://e/b> .\n")
    (tmp_path / "last.rq").write_text("SELECT ?x " + window.format("first"))
    (tmp_path / "first.rq").write_text("CONSTRUCT { ?y <http://e/q> ?x } " + window.format("http://e/s"))
    queries = ["-q", tmp_path / "last.rq", "-q", tmp_path / "first.rq"]
    done = cli("replay", "-s", f"http://e/s={tmp_path / 's.tnt'}", *queries, "--format", "ndjson")
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [(each["query"], each["time"]) for each in found] == [("first", 1000), ("last", 2000)]
    assert found[1]["bindings"] == [{"x": {"type": "uri", "value": "http://e/b"}}]
    alone = cli("replay", "-s", f"http://e/s={tmp_path / 's.tnt'}", "-q", tmp_path / "last.rq")
    assert alone.status == 2
    assert "no recording is given for the stream <first>: add -s first=FILE" in alone.err
