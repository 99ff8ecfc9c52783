"""`freshet load` from outside: a graph directory that is queried, and how it ends when the input is wrong."""

from __future__ import annotations

import json

import pytest

from command_line import CommandLine, in_another_process
from freshet.spark.bulk_load import load_files
from tasks_here import TasksHere

DATA = """<http://example.org/a> <http://example.org/name> "Ann" .
<http://example.org/b> <http://example.org/name> "Bob" .
"""
NAMES = "SELECT ?name WHERE { ?s <http://example.org/name> ?name } ORDER BY ?name"


@pytest.fixture
def cli(monkeypatch, capfd):
    return CommandLine(monkeypatch, capfd)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "data.nt"
    path.write_text(DATA, encoding="utf-8")
    return path


@pytest.mark.spark
@pytest.mark.slow
def test_a_graph_is_loaded_and_queried(cli, file, tmp_path):
    graph = tmp_path / "graph"
    loaded = in_another_process("load", "-o", graph, file, "--master", "local[1]")
    assert (loaded.status, loaded.out) == (0, "")
    assert loaded.error_line == f"freshet: 2 statements read; {graph} has 2 triples and 5 terms in 1 graph"
    answer = cli("query", "-d", graph, "-q", NAMES)
    names = [row["name"]["value"] for row in json.loads(answer.out)["results"]["bindings"]]
    assert names == ["Ann", "Bob"]
    assert cli("load", "--check", graph).status == 0


def test_replay_reads_a_graph_directory(cli, file, tmp_path):
    load_files(TasksHere(), [file], tmp_path / "graph")
    (tmp_path / "s.tnt").write_text("5\t<http://example.org/x> <urn:saw> <http://example.org/b> .\n", encoding="utf-8")
    (tmp_path / "q.rq").write_text(
        """REGISTER RSTREAM <q> AS SELECT ?n FROM NAMED WINDOW <w> ON <urn:s> [RANGE PT1S STEP PT1S]
        WHERE { WINDOW <w> { ?x <urn:saw> ?who } ?who <http://example.org/name> ?n }""",
        encoding="utf-8",
    )
    arguments = ("-s", f"urn:s={tmp_path / 's.tnt'}", "-q", tmp_path / "q.rq", "--format", "ndjson")
    done = cli("replay", "-d", tmp_path / "graph", *arguments)
    assert [row["n"]["value"] for row in json.loads(done.out)["bindings"]] == ["Bob"]


def test_what_is_wrong_is_one_line(cli, file, tmp_path):
    graph = tmp_path / "graph"
    for arguments, message in [
        (("load", file), "freshet: -o GRAPH says where the graph goes"),
        (("load", "-o", graph, tmp_path / "none.nt"), f"{tmp_path / 'none.nt'}: there is no such file"),
        (
            ("load", "-o", graph, tmp_path),
            f"{tmp_path}: the name does not say which RDF format this is (known suffixes",
        ),
        (("load", "-o", file, file), f"{file}: is a file; a graph directory is a folder"),
        (("load", "--check", tmp_path), f"{tmp_path}: this folder is not a graph directory (it has no manifest.json"),
    ]:
        done = cli(*arguments)
        assert done.status == 2
        assert done.error_line.startswith(message)
    assert not graph.exists()


def test_check_names_a_damaged_file(cli, file, tmp_path):
    graph = tmp_path / "graph"
    load_files(TasksHere(), [file], graph)
    (keys,) = graph.glob("data-*/subject.keys")
    keys.write_bytes(bytes(reversed(keys.read_bytes())))
    done = cli("load", "--check", graph)
    assert (done.status, done.error_line) == (2, f"{keys}: is damaged: its checksum is wrong")
