"""`freshet replay --why`: beside each row the elements, and the file and line of each."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from command_line import CommandLine, Finished
from freshet.runtime import recordings, replay

E = "http://e/"
WINDOW = f"FROM NAMED WINDOW <w> ON <{E}s> [RANGE PT1S STEP PT1S]"
PAIRS = f"PREFIX : <{E}> SELECT ?a ?b {WINDOW} WHERE {{ WINDOW <w> {{ ?a :value ?v . ?b :next ?v }} }}"
VALUES = f"SELECT ?a ?v {WINDOW} WHERE {{ WINDOW <w> {{ ?a <{E}value> ?v }} }}"
MAPPING = f"""
@prefix rml: <http://w3id.org/rml/> . @prefix : <{E}> .
[] a rml:TriplesMap ;
  rml:logicalSource [ a rml:LogicalSource ; rml:referenceFormulation rml:FORM ; ITERATOR
    rml:source [ a rml:RelativePathSource ; rml:path "elsewhere" ] ] ;
  rml:subjectMap [ rml:template "{E}{{name}}" ] ;
  rml:predicateObjectMap [ rml:predicate :value ; rml:objectMap [ rml:reference "value" ] ] .
"""
FILES = {
    "csv": ("CSV", "", 'name,value,when\na,"x\ny",10\nbad,1,\n\nb,2,20\n', {"a": 2, "b": 6}),
    "ndjson": (
        "JSONPath",
        "",
        '{"name":"a","value":"1","when":10}\n\nnonsense\n{"name":"b","value":"2","when":20}\n',
        {"a": 1, "b": 4},
    ),
    "xml": (
        "XPath",
        'rml:iterator "/r/x" ;',
        "<r>\n<x><name>a</name><value>1</value><when>10</when></x>\n"
        "<x>\n<name>b</name><value>2</value><when>20</when></x></r>\n",
        {"a": 2, "b": 3},
    ),
}


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capfd)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(cli: CommandLine, file: str, query: str, *arguments: str) -> Finished:
    Path("q.rq").write_text(query, encoding="utf-8")
    return cli("replay", "-s", f"{E}s={file}", "-q", "q.rq", "--why", *arguments)


def explained(finished: Finished) -> list[tuple[dict[str, str], list[list[str]]]]:
    """The values of each row, and the records of each of its derivations."""
    found = []
    for line in finished.out.splitlines():
        report = json.loads(line)
        for row, why in zip(report["bindings"], report["why"], strict=True):
            assert why["total"] == len(why["derivations"])
            values = {name: term["value"].removeprefix(E) for name, term in row.items()}
            found.append((values, [[each["record"] for each in one["elements"]] for one in why["derivations"]]))
    return found


@pytest.mark.parametrize("chunk", [1, 90, 1 << 20])
def test_lines_of_timed_triples(cli: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(recordings, "_CHUNK_BYTES", chunk)
    lines = [
        f"100\t<{E}a> <{E}value> <{E}1> .",
        "# a comment",
        f"200\t<{E}b> <{E}next> <{E}1> .",
        "",
        f"1100\t<{E}c> <{E}value> <{E}2> .",
        f"300\t<{E}late> <{E}next> <{E}2> .",
        f"1200\t<{E}d> <{E}next> <{E}2> .",
    ]
    (folder / "s.tnt").write_text("\n".join(lines))
    assert explained(run(cli, "s.tnt", PAIRS, "--format", "ndjson")) == [
        ({"a": "a", "b": "b"}, [["file:s.tnt#L1", "file:s.tnt#L3"]]),
        ({"a": "c", "b": "d"}, [["file:s.tnt#L5", "file:s.tnt#L7"]]),
    ]


@pytest.mark.parametrize("form", FILES)
def test_lines_of_records(cli: CommandLine, folder: Path, form: str) -> None:
    formulation, iterator, text, lines = FILES[form]
    (folder / f"day.{form}").write_text(text)
    (folder / "m.ttl").write_text(MAPPING.replace("FORM", formulation).replace("ITERATOR", iterator))
    times = ["--time", "when", "--time-form", "epoch_ms"]
    finished = run(cli, f"day.{form}", VALUES, "--format", "ndjson", "-m", f"{E}s=m.ttl", *times)
    assert {values["a"]: records for values, records in explained(finished)} == {
        name: [[f"file:day.{form}#L{line}"]] for name, line in lines.items()
    }


def test_for_people(cli: CommandLine, folder: Path) -> None:
    (folder / "s.tnt").write_text("".join(f"{at}\t<{E}a> <{E}value> <{E}{at}> .\n" for at in range(1, 104)))
    count = f"SELECT (COUNT(*) AS ?n) {WINDOW} WHERE {{ WINDOW <w> {{ ?a <{E}value> ?v }} }}"
    heading, row, members, *lines, last = run(cli, "s.tnt", count).out.splitlines()
    assert heading == "q at 1000 ms (rstream, 1 row)"
    assert row == "  ?n=103"
    assert members == "    103 members of the group"
    assert len(lines) == 100
    assert all(re.fullmatch(r"      file:s\.tnt#L(\d+)  \1 ms  e/a  e/value  e/\1", line) for line in lines)
    assert last == "      and 3 others"


def test_a_document_has_its_file(cli: CommandLine, folder: Path) -> None:
    (folder / "s.ttl").write_text(
        f'<{E}a> <{E}value> 1 ; <{E}at> "1970-01-01T00:00:00Z"^^<{E}t> .'.replace(
            f"{E}t>", "http://www.w3.org/2001/XMLSchema#dateTime>"
        )
    )
    finished = run(cli, "s.ttl", VALUES, "--format", "ndjson", "--time-predicate", f"{E}at")
    assert explained(finished) == [({"a": "a", "v": "1"}, [["file:s.ttl"]])]


def test_elements_that_are_gone_are_said(cli: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "REPLAYED_ELEMENTS", 2)
    (folder / "s.tnt").write_text("".join(f"{at}\t<{E}a> <{E}value> <{E}{at}> .\n" for at in range(4)))
    finished = run(cli, "s.tnt", VALUES, "--format", "ndjson")
    [why, *_] = json.loads(finished.out.splitlines()[0])["why"]
    assert "the newest 2 of a stream are kept" in why["error"]
    assert "    not explained: " in run(cli, "s.tnt", VALUES).out


@pytest.mark.parametrize(
    ("query", "arguments", "said"),
    [
        (VALUES, ["--format", "csv"], "--why takes --format text or ndjson, not csv"),
        (f"ASK {WINDOW} WHERE {{ WINDOW <w> {{ ?a ?p ?v }} }}", [], "q.rq: answers of ASK are not explained"),
        (VALUES.replace("?a ?v", "?a (UUID() AS ?u)"), [], "values that UUID draws are not explained"),
    ],
)
def test_what_cannot_be_explained(cli: CommandLine, folder: Path, query: str, arguments: list[str], said: str) -> None:
    (folder / "s.tnt").write_text("")
    finished = run(cli, "s.tnt", query, *arguments)
    assert finished.status == 2
    assert said in finished.err
