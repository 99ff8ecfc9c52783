"""Graphs that queries name: loaded, found in a folder, or an error that lists what is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import CommandLine

ASK = "SELECT ?s FROM <http://example.org/data/town.ttl> WHERE { ?s a ?c }"
TOWN = "<http://example.org/a> a <http://example.org/Road> ."
CONTINUOUS = """PREFIX data: <http://example.org/data/>
# FROM <http://example.org/data/town.ttl>
SELECT ?s ?c FROM data:town.ttl
FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
WHERE { WINDOW <w> { ?s ?p ?o } ?s a ?c }"""


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capfd)


@pytest.fixture
def town(tmp_path: Path) -> Path:
    path = tmp_path / "town.ttl"
    path.write_text(TOWN, encoding="utf-8")
    return path


def test_a_graph_that_is_not_loaded(cli: CommandLine, town: Path) -> None:
    hint = "(-d http://example.org/data/town.ttl=FILE loads it)"
    missing = "the graph <http://example.org/data/town.ttl> is not loaded"
    finished = cli("query", "-q", ASK, "-d", town)
    assert finished.status == 2
    assert finished.error_line == f"line 1:16: {missing}: no named graph is loaded {hint}"
    finished = cli("query", "-q", ASK.replace("FROM", "FROM NAMED"), "-d", f"http://example.org/town={town}")
    assert finished.error_line == f"line 1:22: {missing}: loaded graphs are <http://example.org/town> {hint}"
    assert cli("query", "-q", ASK, "-d", f"http://example.org/data/town.ttl={town}", "--format", "csv").out.split() == [
        "s",
        "http://example.org/a",
    ]


def test_files_of_a_folder(cli: CommandLine, town: Path) -> None:
    finished = cli("query", "-q", ASK, "--from-files", town.parent, "--format", "csv")
    assert finished.out.split() == ["s", "http://example.org/a"]
    town.rename(town.with_name("city.ttl"))
    finished = cli("query", "-q", ASK, "--from-files", town.parent)
    assert f"is not loaded, and {town.parent} has no file of its last part: no named" in finished.error_line


@pytest.mark.parametrize("name", ["http://[x/a.ttl", "http://e/" + 300 * "a"])
def test_names_that_no_file_can_have(cli: CommandLine, town: Path, name: str) -> None:
    finished = cli("query", "-q", f"SELECT ?s FROM <{name}> {{ ?s ?p ?o }}", "--from-files", town.parent)
    assert finished.status == 2
    assert f"the graph <{name}> is not loaded, and {town.parent} has no file of its last part" in finished.error_line


@pytest.mark.parametrize("command", [["replay", "--format", "ndjson"], ["explain", "--analyze"]])
def test_continuous_queries(cli: CommandLine, town: Path, command: list[str]) -> None:
    query, stream = town.with_name("q.rq"), town.with_name("s.tnt")
    query.write_text(CONTINUOUS, encoding="utf-8")
    stream.write_text("5\t<http://example.org/a> <http://example.org/p> _:b .\n", encoding="utf-8")
    given = [*command, "-q", query, "-s", f"http://example.org/s={stream}"]
    finished = cli(*given)
    assert finished.status == 2
    assert finished.error_line.startswith(f"{query}:3:19: the graph <http://example.org/data/town.ttl> is not loaded")
    assert cli(*given, "--from-files", town.parent).status == 0
