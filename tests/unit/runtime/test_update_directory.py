"""Updates of graph directories: what they have then, what is refused, and what the next load makes of it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyoxigraph as ox
import pytest
from click.testing import CliRunner

from counts import count
from freshet import InputError, Session
from freshet.cli import app
from freshet.runtime.update_directory import update_directory
from freshet.spark.bulk_load import load_files, warm
from freshet.store.graph_commit import locked_directory
from freshet.store.graph_directory import GraphDirectory
from freshet.store.graph_manifest import check_sizes
from tasks_here import TasksHere

PREFIX = "PREFIX : <http://e/> "
NAMES = (":a", ":b", ":c", "1", "2", '"word"')
SUBJECTS = (":a", ":b", ":c", "_:d", "_:e")


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    warm()


def made(folder: Path, text: str) -> Path:
    file = folder / "data.trig"
    file.write_text(f"@prefix : <http://e/> . {text}")
    load_files(TasksHere(), [file], folder / "graph")
    return folder / "graph"


def contents(*data: Path, session: Session | None = None) -> set[str]:
    with session or Session() as asked:
        asked.load(*data)
        rows = asked.query("SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }").bindings()
    text = "\n".join(" ".join(str(row[name]) for name in "spog" if name in row) + " ." for row in rows)
    found = ox.Dataset(ox.parse(text, ox.RdfFormat.N_QUADS))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)  # blank nodes by what is said of them
    return {str(quad) for quad in found}


def step(random: Random) -> str:
    def some(subjects: tuple[str, ...]) -> str:
        return " ".join(
            f"{random.choice(subjects)} {random.choice((':p', ':q'))} {random.choice(NAMES)} ."
            for _ in range(random.randint(1, 4))
        )

    before, after = random.choice((("", ""), ("GRAPH :g { ", " }"), ("GRAPH :h { ", " }")))
    triples = some(NAMES[:3])
    inside, new = f"{before}{triples}{after}", f"{before}{some(SUBJECTS)}{after}"
    return PREFIX + random.choice(
        (
            f"INSERT DATA {{ {new} }}",
            f"DELETE DATA {{ {inside} }}",
            f"DELETE DATA {{ {inside} }} ; INSERT DATA {{ {triples} }}",
            "INSERT { _:new :of ?o } WHERE { ?s :p ?o }",
            "DELETE { ?s :p ?o } INSERT { ?s :new ?o } WHERE { ?s :p ?o }",
            "DROP SILENT GRAPH :g",
            "COPY DEFAULT TO :g",
        )
    )


@pytest.mark.parametrize("seed", range(count(8)))
def test_updates_and_loads_come_to_what_a_session_has(tmp_path: Path, seed: int) -> None:
    random, plain = Random(seed), Session()
    graph = made(tmp_path, ":a :p 1, 2, :b . :b :q :c . :g { :a :p 1 . :c :p 1 } :h { :a :q 7 }")
    plain.load(tmp_path / "data.trig")
    for number in range(10):
        text = step(random)
        with Session() as session:
            assert update_directory(graph, text, session) == plain.update(text)
        if random.random() < 0.3:
            more = tmp_path / f"more{number}.ttl"
            more.write_text("<http://e/more> <http://e/p> 1 . _:f0.0n0 <http://e/p> 1 .")
            load_files(TasksHere(), [more], graph)
            plain.load(more)
            assert GraphDirectory(graph).changes() is None
        expected = contents(session=plain)
        assert contents(graph) == expected, text
        assert GraphDirectory(graph).counts.triples == len(expected)
        GraphDirectory(graph).check()
    other = tmp_path / "other.trig"
    other.write_text("@prefix : <http://e/> . :x :p :y . :a :p 1 . :g { :a :p 1 }")
    both = contents(graph, other)
    assert both == expected | contents(other)
    assert contents(other, graph) == both  # what the directory does not have stays where another has it


def test_blank_nodes_of_separate_runs_are_different(tmp_path: Path) -> None:
    graph, text = made(tmp_path, ":a :p 1 ."), "INSERT DATA { _:a <http://e/n> 1 }"
    asked = "SELECT ?s { ?s <http://e/n> ?o }"
    for runs in (1, 2):
        with Session() as session:
            update_directory(graph, text.replace("1", str(runs)), session)
        with Session() as session:
            session.load(graph)
            assert len({row["s"] for row in session.query(asked).bindings()}) == runs
            session.update(text.replace("1", "5"))
            assert len({row["s"] for row in session.query(asked).bindings()}) == runs + 1
    (tmp_path / "more.nt").write_text("<http://e/more> <http://e/p> <http://e/o> .")
    load_files(TasksHere(), [tmp_path / "more.nt"], graph)  # the labels are kept
    with Session() as session:
        update_directory(graph, text.replace("1", "3"), session)
    with Session() as session:
        session.load(graph)
        assert len({row["s"] for row in session.query(asked).bindings()}) == 3


def test_readers_keep_what_they_have_open(tmp_path: Path) -> None:
    graph = made(tmp_path, ":a :p 1 .")
    with Session() as reader:
        reader.load(graph)
        for value in range(2, 5):
            with Session() as session:
                update_directory(
                    graph, PREFIX + f"DELETE WHERE {{ :a :p ?o }} ; INSERT DATA {{ :a :p {value} }}", session
                )
        assert [each["o"].lexical for each in reader.query("SELECT * { ?s ?p ?o }").bindings()] == ["1"]
    assert len(list(graph.glob("data-*/changes/*"))) == 3


def test_a_directory_that_is_open_keeps_its_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = made(tmp_path, ":a :p 1 .")

    def update(value: int) -> None:
        with Session() as session:
            update_directory(graph, PREFIX + f"INSERT DATA {{ :a :p {value} }}", session)

    update(2)
    directory = GraphDirectory(graph)
    update(3)
    changes = directory.changes()
    assert changes is not None
    assert len(changes.inserted.graphs) == 1

    def check_and_update(*given: object) -> None:  # before the files are opened
        monkeypatch.undo()
        check_sizes(*given)  # type: ignore[arg-type]
        update(4)

    monkeypatch.setattr("freshet.store.graph_directory.check_sizes", check_and_update)
    changes = GraphDirectory(graph).changes()
    assert changes is not None
    assert len(changes.inserted.graphs) == 3


def test_what_cannot_be_done_changes_nothing(tmp_path: Path) -> None:
    graph = made(tmp_path, ":a :p 1 .")
    before = (graph / "manifest.json").read_bytes()
    with Session() as session, pytest.raises(InputError, match="there is no graph"):
        update_directory(graph, PREFIX + "CLEAR ALL ; DROP GRAPH :missing", session)
    with locked_directory(graph), Session() as session, pytest.raises(InputError, match="another load is writing"):
        update_directory(graph, "CLEAR ALL", session)
    assert (graph / "manifest.json").read_bytes() == before
    with Session() as session, pytest.raises(InputError, match="not a graph directory"):
        update_directory(tmp_path, "CLEAR ALL", session)


def test_damaged_changes_are_found(tmp_path: Path) -> None:
    graph = made(tmp_path, ":a :p 1 .")
    with Session() as session:
        update_directory(graph, PREFIX + "CLEAR ALL", session)
    (file,) = graph.glob("data-*/changes/*.deleted.parquet")
    content = bytearray(file.read_bytes())
    content[10] ^= 1
    file.write_bytes(content)
    with Session() as session, pytest.raises(InputError, match="damaged"):
        session.load(graph)


def test_the_command(tmp_path: Path) -> None:
    graph = made(tmp_path, ":a :p 1 .")
    file = tmp_path / "u.ru"
    file.write_text("DELETE WHERE { ?s ?p ?o } ;\nINSERT DATA { <http://e/b> <http://e/p> 1, 2 }")
    done = CliRunner().invoke(app, ["update", "-d", str(graph), "-u", str(file)])
    assert (done.exit_code, done.output) == (0, "freshet: 2 inserted, 1 deleted\n")
    assert len(contents(graph)) == 2
