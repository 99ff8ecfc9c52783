"""Properties files of RSP4J, and replays that follow them."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import CommandLine
from freshet.rdf.errors import InputError
from freshet.runtime.rsp4j_properties import Rsp4jSettings, read_rsp4j

PROPERTIES = """\
# as RSP4J's examples have it
rsp_engine.time=EventTime
rsp_engine.base_uri = http://example.org/house/
rsp_engine.response_format=JSON-LD
rsp_engine.on_window_close=true
rsp_engine.non_empty_content: true
rsp_engine.on_content_change=false
rsp_engine.periodic=false
jasper.entailment=NONE
"""
QUERY = """REGISTER RSTREAM <out> AS SELECT ?s
FROM NAMED WINDOW <w> ON <doors> [RANGE PT2S STEP PT2S] WHERE { WINDOW <w> { ?s ?p ?o } }"""


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capfd)


def written(folder: Path, text: str) -> Path:
    path = folder / "csparql.properties"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_a_file_says(tmp_path: Path) -> None:
    settings = read_rsp4j(written(tmp_path, PROPERTIES))
    assert settings == Rsp4jSettings("http://example.org/house/", "rdf", ("non-empty",))
    assert (settings.format_of(all_graphs=True), settings.format_of(all_graphs=False)) == ("rdf", "text")
    assert read_rsp4j(written(tmp_path, "")) == Rsp4jSettings()
    changing = read_rsp4j(written(tmp_path, "rsp_engine.on_content_change=true\nrsp_engine.response_format=CSV"))
    assert (changing.report, changing.format_of(all_graphs=False)) == (("change",), "csv")


def test_what_a_replay_cannot_have(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "rsp_engine.periodic=true\nrsp_engine.reasoning=true\nrsp_engine.time=ProcessingTime\nrsp_engine.t0=SYSTEM\n",
    )
    assert read_rsp4j(path).notes == (
        f"{path}: rsp_engine.periodic: --every gives the period",
        f"{path}: rsp_engine.reasoning: nothing is inferred",
        f"{path}: rsp_engine.time: times are those of the recording",
        f"{path}: rsp_engine.t0: windows close at multiples of their step since 1970",
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("rsp_engine.base_uri=Users/me/classes/", "rsp_engine.base_uri is not an absolute IRI: Users/me/classes/"),
        ("rsp_engine.response_format=YAML", "rsp_engine.response_format is not known here: YAML"),
    ],
)
def test_mistakes(tmp_path: Path, line: str, problem: str) -> None:
    path = written(tmp_path, f"# a line\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_rsp4j(path)
    assert str(caught.value) == f"{path}:2: {problem}"


def test_a_replay(cli: CommandLine, tmp_path: Path) -> None:
    query, stream = tmp_path / "q.rq", tmp_path / "doors.tnt"
    query.write_text(QUERY, encoding="utf-8")
    stream.write_text('500\t<http://example.org/house/d1> <http://example.org/house/open> "1" .\n', encoding="utf-8")
    given = ["replay", "-q", query, "-s", f"http://example.org/house/doors={stream}"]
    assert cli(*given).status == 2
    properties = written(tmp_path, PROPERTIES)
    assert cli(*given, "--rsp4j", properties, "--format", "csv").out.splitlines() == [
        "query,time,stream,s",
        "http://example.org/house/out,2000,rstream,http://example.org/house/d1",
    ]
    assert "?s=house/d1" in cli(*given, "--rsp4j", properties).out  # solutions are not RDF
    query.write_text(QUERY.replace("SELECT ?s", "CONSTRUCT { ?s a <Seen> }"), encoding="utf-8")
    assert "a <http://example.org/house/Seen>" in cli(*given, "--rsp4j", properties).out.replace(
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "a"
    )
    query.write_text(QUERY.replace("SELECT ?s", "SELECT ?"), encoding="utf-8")
    assert cli(*given, "--rsp4j", properties).error_line.startswith(f"{query}:1:34: expected a variable")


def test_a_window_that_no_pattern_is_in(cli: CommandLine, tmp_path: Path) -> None:
    query, stream = tmp_path / "q.rq", tmp_path / "doors.tnt"
    query.write_text(QUERY.replace("<doors>", "<http://e/d>").replace("WINDOW <w> {", "{"), encoding="utf-8")
    stream.write_text('500\t<http://e/d1> <http://e/open> "1" .\n', encoding="utf-8")
    finished = cli("replay", "-q", query, "-s", f"http://e/d={stream}")
    assert (finished.status, finished.out) == (0, "")
    note = "no pattern is in WINDOW <w>: those outside of it match the stored graph"
    assert finished.err.splitlines()[0] == f"freshet: {query}: {note}"
