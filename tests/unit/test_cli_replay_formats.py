"""`freshet replay --format`: tables, CSV, RDF that can be replayed again, and Parquet."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest

from command_line import CommandLine, Finished

INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
LINE = "{}\t<http://example.org/{}> <http://example.org/p> {} .\n"
WINDOW = "FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT5S STEP PT5S] WHERE { WINDOW <w> { ?s ?p ?v } }"
VALUES = f"SELECT ?s ?v {WINDOW}"
COUNT = f"SELECT ISTREAM (COUNT(*) AS ?time) {WINDOW}"
GRAPH = f"CONSTRUCT {{ ?s <http://example.org/q> ?v }} {WINDOW}"


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capfd)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [
        LINE.format(1000, "a", '"one, \\"x\\""'),
        LINE.format(2000, "b", f'"2"^^<{INTEGER}>'),
        LINE.format(7000, "b", '""'),
    ]
    (tmp_path / "s.tnt").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def replay(cli: CommandLine, folder: Path, queries: dict[str, str], *arguments: str | Path) -> Finished:
    given: list[str | Path] = []
    for name, text in queries.items():
        (folder / f"{name}.rq").write_text(text, encoding="utf-8")
        given += ["-q", folder / f"{name}.rq"]
    return cli("replay", "-s", f"http://example.org/s={folder / 's.tnt'}", *given, *arguments)


def test_csv(cli: CommandLine, folder: Path) -> None:
    finished = replay(cli, folder, {"values": VALUES, "count": COUNT}, "--format", "csv")
    header, *rows = csv.reader(io.StringIO(finished.out))
    assert header == ["query", "report_time", "stream", "s", "v", "time"]
    assert sorted(rows) == [
        ["count", "10000", "istream", "", "", "1"],
        ["count", "5000", "istream", "", "", "2"],
        ["values", "10000", "rstream", "http://example.org/b", "", ""],
        ["values", "5000", "rstream", "http://example.org/a", 'one, "x"', ""],
        ["values", "5000", "rstream", "http://example.org/b", "2", ""],
    ]


def test_table(cli: CommandLine, folder: Path) -> None:
    finished = replay(cli, folder, {"values": VALUES}, "--format", "table", "-o", folder / "out.txt")
    assert finished.out == ""
    assert (folder / "out.txt").read_text(encoding="utf-8").splitlines() == [
        "values at 5000 ms (rstream, 2 rows)",
        "  s              v",
        "  -------------  --------",
        '  example.org/a  one, "x"',
        "  example.org/b  2",
        "values at 10000 ms (rstream, 1 row)",
        "  s              v",
        "  -------------  -",
        "  example.org/b",
    ]


def test_rdf_is_a_stream_again(cli: CommandLine, folder: Path) -> None:
    trig = folder / "graphs.trig"
    assert replay(cli, folder, {"g": GRAPH}, "--format", "rdf", "-o", trig).status == 0
    quads = list(ox.parse(path=str(trig)))
    graphs = {quad.graph_name.value for quad in quads if isinstance(quad.graph_name, ox.NamedNode)}
    assert graphs == {"urn:freshet:report:g:5000", "urn:freshet:report:g:10000"}
    assert len(quads) == 5
    again = VALUES.replace("?p", "<http://example.org/q>").replace("PT5S", "PT1S")
    (folder / "again.rq").write_text(again, encoding="utf-8")
    generated = "http://www.w3.org/ns/prov#generatedAtTime"
    given = ["-s", f"http://example.org/s={trig}", "--time-predicate", generated, "-q", folder / "again.rq"]
    rows = list(csv.reader(io.StringIO(cli("replay", *given, "--format", "csv").out)))[1:]
    assert sorted({row[1] for row in rows}) == ["11000", "6000"]
    assert len(rows) == 3


def test_rdf_of_solutions_is_refused(cli: CommandLine, folder: Path) -> None:
    finished = replay(cli, folder, {"values": VALUES}, "--format", "rdf")
    assert finished.status == 2
    assert "the query values reports solutions: --format rdf takes CONSTRUCT, DESCRIBE" in finished.error_line


def test_parquet(cli: CommandLine, folder: Path) -> None:
    out = folder / "out"
    assert replay(cli, folder, {"values": VALUES, "count": COUNT}, "--format", "parquet", "-o", out).status == 0
    assert sorted(path.name for path in out.iterdir()) == ["count.parquet", "values.parquet"]
    count = pq.read_table(out / "count.parquet")
    assert count.column("time").to_pylist() == [2, 1]
    assert count.column("report_time").cast("int64").to_pylist() == [5000, 10000]
    assert pq.read_table(out / "values.parquet").num_rows == 3
    one = folder / "one.parquet"
    assert replay(cli, folder, {"count": COUNT}, "--format", "parquet", "-o", one).status == 0
    assert pq.read_table(one).equals(count)


@pytest.mark.parametrize(
    ("queries", "more", "says"),
    [
        ({"values": VALUES}, [], "--format parquet needs -o: a folder, or FILE.parquet for one query"),
        ({"values": VALUES, "count": COUNT}, ["-o", "x.parquet"], "is one file for 2 queries: give a folder"),
    ],
)
def test_parquet_without_a_place(
    cli: CommandLine, folder: Path, queries: dict[str, str], more: list[str], says: str
) -> None:
    finished = replay(cli, folder, queries, "--format", "parquet", *more)
    assert finished.status == 2
    assert says in finished.error_line


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("old.txt", "old.txt is a file, not a folder"),
        ("s.tnt/under", "s.tnt is a file, not a folder"),
        ("missing/x.parquet", "there is no folder"),
        ("folder.parquet", "is a folder"),
    ],
)
def test_parquet_where_it_cannot_be_written(cli: CommandLine, folder: Path, place: str, says: str) -> None:
    (folder / "folder.parquet").mkdir()
    (folder / "old.txt").touch()
    with (folder / "s.tnt").open("a", encoding="utf-8") as recording:
        recording.write("broken\n")  # what would be said, were it read
    finished = replay(cli, folder, {"values": VALUES}, "--format", "parquet", "-o", folder / place)
    assert finished.status == 2
    assert says in finished.error_line


@pytest.mark.parametrize("place", ["s.tnt", "link", "values.rq", "d.ttl"])
@pytest.mark.parametrize("format", ["text", "csv", "parquet"])
def test_an_output_that_is_an_input(cli: CommandLine, folder: Path, place: str, format: str) -> None:
    (folder / "d.ttl").write_text("<a:a> <a:a> <a:a> .\n", encoding="utf-8")
    (folder / "link").symlink_to("s.tnt")
    out = folder / place
    finished = replay(cli, folder, {"values": VALUES}, "-d", folder / "d.ttl", "--format", format, "-o", out)
    assert finished.status == 2
    assert f"-o {out} is read by this command" in finished.error_line
    assert out.stat().st_size
