"""`freshet replay` from outside: what it prints, and how it ends when the input is wrong."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from threading import Thread

import pytest

from case_files import EXAMPLE, Case, all_cases
from command_line import CommandLine, Finished, in_another_process
from comparing import differences
from sparql_endpoint import EndpointProcess
from test_cases import UNSUPPORTED

S, T = EXAMPLE + "s", EXAMPLE + "t"
LINE = '{}\t<http://example.org/{}> <http://example.org/{}> "{}" .\n'
TUMBLING = """PREFIX : <http://example.org/>
REGISTER RSTREAM :{name} AS SELECT ?s ?v
FROM NAMED WINDOW :w ON :{stream} [RANGE PT5S STEP PT5S]
WHERE {{ WINDOW :w {{ ?s :{predicate} ?v }} }}
"""


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capfd)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two streams and two queries."""
    s_lines = [LINE.format(1000, "a", "p", "one"), LINE.format(7000, "b", "p", "two")]
    t_lines = [LINE.format(2000, "a", "q", "three"), LINE.format(12000, "c", "q", "four")]
    (tmp_path / "s.tnt").write_text("".join(s_lines), encoding="utf-8")
    (tmp_path / "t.tnt").write_text("".join(t_lines), encoding="utf-8")
    (tmp_path / "first.rq").write_text(TUMBLING.format(name="one", stream="s", predicate="p"), encoding="utf-8")
    (tmp_path / "second.rq").write_text(
        TUMBLING.format(name="two", stream="t", predicate="q").replace("REGISTER RSTREAM :two AS ", ""),
        encoding="utf-8",
    )
    return tmp_path


def objects(finished: Finished) -> list[dict]:
    assert finished.status == 0, finished.err
    return [json.loads(line) for line in finished.out.splitlines()]


def literal(value: str) -> dict[str, str]:
    return {"type": "literal", "value": value}


def uri(name: str) -> dict[str, str]:
    return {"type": "uri", "value": EXAMPLE + name}


def two_streams(folder: Path) -> list[str | Path]:
    return ["-s", f"{S}={folder / 's.tnt'}", "-s", f"{T}={folder / 't.tnt'}"]


def check_two_queries(reports: list[dict]) -> None:
    by_name = {name: [report for report in reports if report["query"] == name] for name in (EXAMPLE + "one", "second")}
    assert len(reports) == sum(map(len, by_name.values()))
    assert all(report.keys() == {"query", "time", "stream", "bindings"} for report in reports)
    for name, rows in {
        EXAMPLE + "one": [(5000, "a", "one"), (10000, "b", "two")],
        "second": [(5000, "a", "three"), (15000, "c", "four")],
    }.items():
        expected = [
            {"query": name, "time": time, "stream": "rstream", "bindings": [{"s": uri(s), "v": literal(v)}]}
            for time, s, v in rows
        ]
        assert not (wrong := differences(by_name[name], expected)), wrong


def test_several_streams_and_queries(cli: CommandLine, folder: Path) -> None:
    queries = ["-q", folder / "first.rq", "-q", folder / "second.rq"]
    check_two_queries(objects(cli("replay", *two_streams(folder), *queries, "--format", "ndjson")))


def test_a_name_that_two_files_have_gets_a_number(cli: CommandLine, folder: Path) -> None:
    (folder / "again.rq").write_text(TUMBLING.format(name="one", stream="t", predicate="q"), encoding="utf-8")
    queries = ["-q", folder / "first.rq", "-q", folder / "again.rq"]
    finished = cli("replay", *two_streams(folder), *queries, "--format", "ndjson")
    assert {report["query"] for report in objects(finished)} == {f"{EXAMPLE}one", f"{EXAMPLE}one-2"}
    said = f"reported as {EXAMPLE}one-2, because {folder / 'first.rq'} has the name {EXAMPLE}one as well"
    assert finished.error_line == f"freshet: {folder / 'again.rq'}: {said}"


def test_in_another_process(folder: Path) -> None:
    queries = ["-q", folder / "first.rq", "-q", folder / "second.rq"]
    check_two_queries(objects(in_another_process("replay", *two_streams(folder), *queries, "--format", "ndjson")))


def test_error_in_another_process(folder: Path) -> None:
    (folder / "first.rq").write_text("SELECT ?s\nWHERE { ?s :p", encoding="utf-8")
    finished = in_another_process("replay", *two_streams(folder), "-q", folder / "first.rq")
    assert finished.status == 2
    assert finished.out == ""
    assert finished.error_line.startswith(f"{folder / 'first.rq'}:2:")


def replayable(case: Case) -> bool:
    """The command line has one lateness for all streams, which absorb everything or nothing."""
    late = {case.lateness_ms.get(iri, 0) for iri in case.stream_paths}
    whole = all(isinstance(absorbed, bool) for absorbed in case.absorb.values())
    return len(late) == 1 and whole and case.name not in UNSUPPORTED["native"]


@pytest.mark.parametrize("case", list(filter(replayable, all_cases())), ids=lambda case: case.name)
def test_every_case(case: Case, cli: CommandLine) -> None:
    arguments: list[str | Path] = ["replay", "-q", case.query_path, "--format", "ndjson"]
    for iri, path in case.stream_paths.items():
        arguments += ["-s", f"{iri}={path}"]
    if case.data_path:
        arguments += ["-d", case.data_path]
    if late := max(case.lateness_ms.values(), default=0):
        arguments += ["--lateness", f"{late}ms"]
    for iri in (iri for iri, absorbed in case.absorb.items() if absorbed):
        arguments += ["--absorb", iri]
    for condition in case.report:
        arguments += ["--report", condition]
    assert not (wrong := differences(objects(cli(*arguments)), case.expected)), wrong


def replay_one(cli: CommandLine, folder: Path, text: str | bytes, *more: str | Path) -> Finished:
    path = folder / "s.tnt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return cli("replay", "-s", f"{S}={path}", "-q", folder / "first.rq", "--format", "ndjson", *more)


def rows(finished: Finished) -> list[tuple[int, list[str]]]:
    """(time, the values of ?v) of every report."""
    return [(report["time"], sorted(row["v"]["value"] for row in report["bindings"])) for report in objects(finished)]


@pytest.mark.parametrize("lateness", ["2s", "2000ms", "PT2S"])
def test_lateness(cli: CommandLine, folder: Path, lateness: str) -> None:
    text = LINE.format(6000, "a", "p", "x") + LINE.format(4000, "a", "p", "y") + LINE.format(3999, "a", "p", "z")
    finished = replay_one(cli, folder, text, "--lateness", lateness)
    assert rows(finished) == [(5000, ["y"]), (10000, ["x"])]


@pytest.mark.parametrize(("late", "dropped"), [([4000, 5999], "2 late elements"), ([4000], "1 late element")])
def test_late_elements_are_reported(cli: CommandLine, folder: Path, late: list[int], dropped: str) -> None:
    text = LINE.format(6000, "a", "p", "x") + "".join(LINE.format(time, "a", "p", "y") for time in late)
    finished = replay_one(cli, folder, text)
    assert rows(finished) == [(10000, ["x"])]
    assert finished.error_line == f"freshet: dropped {dropped} of <{S}>"


def test_what_windows_over_a_predicate_do_not_get_is_reported(cli: CommandLine, folder: Path) -> None:
    query = TUMBLING.format(name="first", stream="s", predicate="p")
    (folder / "first.rq").write_text(query.replace("PT5S ", "PT5S @:at "))
    at = '{0}\t<http://example.org/{1}> <http://example.org/at> "{2}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    text = "".join(LINE.format(time, name, "p", name) for time, name in [(1, "a"), (2, "b"), (3, "c")])
    finished = replay_one(cli, folder, text + at.format(1, "a", 5000) + at.format(2, "b", 4000), "--lateness", "3ms")
    assert rows(finished) == [(10000, ["a"])]
    by = "<http://example.org/at>"
    assert finished.err.splitlines() == [
        f"freshet: dropped 2 elements of <{S}> that came late by {by}",
        f"freshet: 1 element of <{S}> had no time by {by} for a window",
    ]


def test_graph_names_are_set_aside(cli: CommandLine, folder: Path) -> None:
    text = LINE.format(1000, "a", "p", "x").replace(" .\n", " <http://example.org/g> .\n") + LINE.format(
        2000, "a", "p", "x"
    )
    assert rows(replay_one(cli, folder, text)) == [(5000, ["x"])]


def test_last_line_may_lack_its_end(cli: CommandLine, folder: Path) -> None:
    text = (LINE.format(1000, "a", "p", "x") + LINE.format(2000, "a", "p", "y")).rstrip("\n")
    assert rows(replay_one(cli, folder, text)) == [(5000, ["x", "y"])]


def test_carriage_returns(cli: CommandLine, folder: Path) -> None:
    text = (LINE.format(1000, "a", "p", "x") + LINE.format(2000, "a", "p", "y")).replace("\n", "\r\n")
    assert rows(replay_one(cli, folder, text)) == [(5000, ["x", "y"])]


def test_empty_stream(cli: CommandLine, folder: Path) -> None:
    finished = replay_one(cli, folder, "")
    assert (finished.status, finished.out) == (0, "")
    assert finished.err == "freshet: nothing was reported: no evaluation had a solution\n"


GOOD = LINE.format(1000, "a", "p", "x")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (GOOD + '2000\t<http://example.org/a> <http://example.org/p "y" .\n', 2),
        (GOOD + GOOD + '2000\t<http://example.org/a> <http://example.org/p> "y .\n', 3),
        ('soon\t<http://example.org/a> <http://example.org/p> "y" .\n', 1),
        (GOOD + '2000 <http://example.org/a> <http://example.org/p> "y" .\n', 2),
        (GOOD + '2000\t<http://example.org/a> <http://example.org/p> "y"\n', 2),
        (GOOD + '2000\t"a" <http://example.org/p> "y" .\n', 2),
        (GOOD + '2000\t<http://example.org/a> "p" "y" .\n', 2),
        (GOOD + '2000\t<a> <http://example.org/p> "y" .\n', 2),
        (GOOD + '2000\t<http://example.org/a> <http://example.org/p> "\\x" .\n', 2),
        (GOOD + "2000\n", 2),
        (GOOD + '99999999999999999999999\t<http://example.org/a> <http://example.org/p> "y" .\n', 2),
        (GOOD.encode() + b'2000\t<http://example.org/a> <http://example.org/p> "\xff" .\n', 2),
    ],
    ids=[
        "iri",
        "string",
        "time",
        "tab",
        "dot",
        "subject",
        "predicate",
        "relative",
        "escape",
        "bare",
        "huge",
        "utf8",
    ],
)
def test_malformed_line(cli: CommandLine, folder: Path, text: str | bytes, line: int) -> None:
    finished = replay_one(cli, folder, text)
    assert finished.status == 2
    file, at, column, message = finished.error_line.rsplit(str(folder), 1)[1].split(":", 3)
    assert (file, int(at)) == ("/s.tnt", line)
    assert int(column) >= 1
    assert message.strip()


def test_stream_file_that_is_not_there(cli: CommandLine, folder: Path) -> None:
    finished = cli("replay", "-s", f"{S}={folder / 'none.tnt'}", "-q", folder / "first.rq")
    assert finished.status == 2
    assert "none.tnt" in finished.error_line


def test_stream_file_that_is_a_folder(cli: CommandLine, folder: Path) -> None:
    finished = cli("replay", "-s", f"{S}={folder}", "-q", folder / "first.rq")
    assert finished.status == 2
    assert finished.error_line == f"{folder}: is a folder"


def test_a_stream_may_come_through_a_named_pipe(cli: CommandLine, folder: Path) -> None:
    expected = cli("replay", "-s", f"{S}={folder / 's.tnt'}", "-q", folder / "first.rq")
    os.mkfifo(folder / "pipe")
    writer = Thread(target=(folder / "pipe").write_bytes, args=[(folder / "s.tnt").read_bytes()], daemon=True)
    writer.start()
    assert cli("replay", "-s", f"{S}={folder / 'pipe'}", "-q", folder / "first.rq") == expected
    assert expected.out


def test_a_stream_may_come_from_the_shell(cli: CommandLine, folder: Path) -> None:
    """As `<(...)` and /dev/stdin give it."""
    expected = cli("replay", "-s", f"{S}={folder / 's.tnt'}", "-q", folder / "first.rq")
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "wb") as writer:
        writer.write((folder / "s.tnt").read_bytes())
        writer.close()
        assert cli("replay", "-s", f"{S}=/dev/fd/{reading}", "-q", folder / "first.rq") == expected
    assert expected.out


def test_query_file_that_is_not_there(cli: CommandLine, folder: Path) -> None:
    finished = cli("replay", *two_streams(folder), "-q", folder / "none.rq")
    assert finished.status == 2
    assert "none.rq" in finished.error_line


def test_data_file_that_is_not_there(cli: CommandLine, folder: Path) -> None:
    finished = cli("replay", *two_streams(folder), "-q", folder / "first.rq", "-d", folder / "none.ttl")
    assert finished.status == 2
    assert "none.ttl" in finished.error_line


def test_malformed_data(cli: CommandLine, folder: Path) -> None:
    (folder / "data.ttl").write_text("@prefix : <http://example.org/> .\n:a :p :b .\n:a :p .\n", encoding="utf-8")
    finished = cli("replay", *two_streams(folder), "-q", folder / "first.rq", "-d", folder / "data.ttl")
    assert finished.status == 2
    assert f"{folder / 'data.ttl'}:3:" in finished.error_line


def test_stream_without_equals_sign(cli: CommandLine, folder: Path) -> None:
    finished = cli("replay", "-s", folder / "s.tnt", "-q", folder / "first.rq")
    assert finished.status == 2
    assert "IRI=FILE" in finished.error_line


def test_stream_that_nobody_gave(cli: CommandLine, folder: Path) -> None:
    finished = cli("replay", "-s", f"{S}={folder / 's.tnt'}", "-q", folder / "second.rq")
    assert finished.status == 2
    assert T in finished.error_line


def test_a_period(cli: CommandLine, folder: Path) -> None:
    """The windows move as ever; what they hold is reported at the multiples."""
    text = LINE.format(1000, "a", "p", "x") + LINE.format(6000, "a", "p", "y")
    assert rows(replay_one(cli, folder, text, "--every", "4s")) == [(8000, ["x"]), (12000, ["y"])]


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--every", "often", "--every: "),
        ("--every", "0s", "every"),
        ("--report", "never", "'never' is no report condition"),
        ("--absorb", T, f"--absorb: no recording is given for the stream <{T}>"),
    ],
)
def test_options_that_cannot_be(cli: CommandLine, folder: Path, option: str, value: str, words: str) -> None:
    finished = replay_one(cli, folder, GOOD, option, value)
    assert finished.status == 2
    assert words in finished.error_line


def test_lateness_that_is_none(cli: CommandLine, folder: Path) -> None:
    finished = replay_one(cli, folder, GOOD, "--lateness", "soon")
    assert finished.status == 2
    assert "soon" in finished.error_line


@pytest.mark.parametrize(
    ("broken", "line", "column", "says"),
    [
        (("WHERE {", "WHERE ["), 4, 7, "expected"),
        (("?s :p ?v", "?s :p"), 4, None, "expected"),
        (("SELECT ?s ?v", "SELECT"), 3, 1, "expected"),
        ((":p ?v", "x:p ?v"), 4, None, "x:"),
        (("WINDOW :w {", "WINDOW :other {"), 4, 16, "window :other"),
        (("?s :p ?v }", "?s :p ?v SERVICE :e { ?s :q ?u } }"), None, None, "SERVICE"),
    ],
    ids=["bracket", "object", "select", "prefix", "window", "service"],
)
def test_query_that_is_wrong(
    cli: CommandLine, folder: Path, broken: tuple[str, str], line: int | None, column: int | None, says: str
) -> None:
    path = folder / "first.rq"
    before, after = path.read_text(encoding="utf-8").rsplit(broken[0], 1)
    path.write_text(before + broken[1] + after, encoding="utf-8")
    finished = cli("replay", *two_streams(folder), "-q", path)
    assert (finished.status, finished.out) == (2, "")
    place, _, message = finished.err.splitlines()[0].partition(": ")
    assert place.startswith(str(path))
    assert says in message
    if line is not None:
        assert place.startswith(f"{path}:{line}:")
    if column is not None:
        assert place == f"{path}:{line}:{column}"


def test_text_for_people(cli: CommandLine, folder: Path) -> None:
    finished = cli("replay", *two_streams(folder), "-q", folder / "first.rq")
    assert finished.status == 0
    assert "one" in finished.out
    assert "two" in finished.out


@pytest.mark.parametrize("arguments", [[], ["-q", "x.rq"], ["--format", "klingon"]], ids=["none", "stream", "format"])
def test_usage(cli: CommandLine, arguments: list[str]) -> None:
    assert cli("replay", *arguments).status == 2


def test_remote_data(cli: CommandLine, folder: Path) -> None:
    endpoint = EndpointProcess(f'<{EXAMPLE}a> <{EXAMPLE}name> "Ada" .')
    service = f"SERVICE <{endpoint.url}> {{ ?s :name ?name }}"
    text = TUMBLING.format(name="one", stream="s", predicate="p").replace("?s ?v\n", "?s ?name\n")
    (folder / "remote.rq").write_text(text.replace("?v } }", f"?v }} {service} }}"), encoding="utf-8")
    arguments = ["replay", "-s", f"{S}={folder / 's.tnt'}", "-q", str(folder / "remote.rq"), "--format", "ndjson"]
    try:
        [report] = objects(cli(*arguments, "--service", "127.0.0.1"))
        assert report["bindings"][0]["name"] == literal("Ada")
        assert report["service"]["refreshes"] == 1
        shown = cli(*arguments[:-2], "--service", "127.0.0.1").out
        # all but 1.00, the less the more time has gone by
        assert re.search(r"1 row, accuracy about (1\.00|0\.\d\d), 1 refresh, oldest", shown)
        refused = cli(*arguments)
        assert refused.status == 2
        assert "may not ask" in refused.error_line
    finally:
        endpoint.stop()


def test_streams_that_retract(cli: CommandLine, folder: Path) -> None:
    deletion = LINE.format(1500, "a", "p", "one").replace("\t", "\t- ")
    (folder / "s.tnt").write_text(LINE.format(1000, "a", "p", "one") + deletion + LINE.format(7000, "b", "p", "two"))
    asked = ["replay", "-s", f"{S}={folder / 's.tnt'}", "-q", str(folder / "first.rq"), "--format", "ndjson"]
    found = objects(cli(*asked, "--retracts", S))
    assert [each["time"] for each in found] == [10000]
    refused = cli(*asked)
    assert refused.status == 2
    assert "s.tnt:2:6: a line that begins with - after its time deletes" in refused.err
    assert "no recording is given" in cli(*asked, "--retracts", T).err
