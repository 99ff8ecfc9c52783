"""Updates of a session with a checkpoint: whenever it ends, all of an update is there or nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pyoxigraph as ox
import pytest

from counts import count
from freshet import Session
from freshet.results.write import write_answer
from freshet.runtime import checkpoint
from freshet.runtime.update_directory import update_directory
from freshet.spark.bulk_load import load_files
from tasks_here import TasksHere

PREFIX = "PREFIX : <http://e/> "
STREAM = "http://e/stream"
NAMES = ("", ":g", ":h")


def contents(session: Session) -> list[set[str]]:
    """The triples of each graph, as N-Triples, and which graphs there are."""
    found = []
    for name in NAMES:
        source = f"FROM <http://e/{name[1:]}>" if name else ""
        answer = session.query(f"CONSTRUCT {{ ?s ?p ?o }} {source} {{ ?s ?p ?o }}")
        text = write_answer(answer, session.dictionary, "nt")
        found.append({str(quad.triple) for quad in ox.parse(text, ox.RdfFormat.N_TRIPLES)})
    found.append({each["g"].value for each in session.query("SELECT ?g { GRAPH ?g {} }").bindings()})
    return found


def triple(random: Random) -> str:
    return f"<http://e/s{random.randrange(3)}> <http://e/p{random.randrange(2)}> {random.randrange(3)} ."


def step(random: Random, now: int, folder: Path) -> tuple[str, str]:
    """What is called, and with what."""
    triples = " ".join(triple(random) for _ in range(random.randint(1, 4)))
    inside = random.choice((triples, f"GRAPH {random.choice(NAMES[1:])} {{ {triples} }}"))
    kind = random.choice(("insert", "delete", "delete", "where", "graphs", "push", "push", "load", "checkpoint"))
    match kind:
        case "insert" | "delete":
            return "update", PREFIX + f"{kind.upper()} DATA {{ {inside} }}"
        case "where":
            return (
                "update",
                PREFIX + "DELETE { ?s ?p ?o } INSERT { GRAPH :g { ?s ?p 7 } } WHERE { ?s ?p ?o FILTER (?o < 1) }",
            )
        case "graphs":
            return "update", PREFIX + random.choice(
                ("CREATE SILENT GRAPH :h", "DROP SILENT GRAPH :g", "COPY DEFAULT TO :h")
            )
        case "push":
            lines = [f"{now}\t{triple(random)}" for _ in range(3)]
            return "push", "\n".join(_typed(line) for line in lines)
        case "load":
            file = folder / f"{now}.ttl"
            file.write_text(triples)
            return "load", str(file)
    return "checkpoint", ""


def _typed(line: str) -> str:
    """Numbers as N-Triples writes them."""
    *head, number, dot = line.split(" ")
    return " ".join((*head, f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>', dot))


def do(session: Session, call: str, given: str) -> None:
    if call == "push":
        session.push(STREAM, given)
    elif call == "checkpoint":
        session.checkpoint()
    else:
        getattr(session, call)(given)


@pytest.mark.parametrize("absorb", ["all", "latest"])
@pytest.mark.parametrize("seed", range(count(12)))
def test_a_session_that_ends_anywhere_goes_on_with_what_it_had(tmp_path: Path, seed: int, absorb: str) -> None:
    random = Random(seed)
    folder, plain = tmp_path / "c0", Session()
    session = Session(checkpoint=folder, sync=False)
    for each in (session, plain):
        each.stream(STREAM, absorb=absorb)
    for now in range(40):
        call, given = step(random, now, tmp_path)
        for each in (session, plain):
            do(each, call, given)
        if random.random() < 0.2:
            folder = shutil.copytree(folder, tmp_path / f"c{now + 1}")  # as a process leaves it that is killed
            session.close()
            session = Session(checkpoint=folder, sync=False)
        assert contents(session) == contents(plain), (now, call, given)
    session.close()
    again = Session(checkpoint=folder)
    assert contents(again) == contents(plain)
    again.close()


@pytest.mark.parametrize(
    "options", [{"absorb": "latest"}, {"absorb": "all", "retracts": True}, {"absorb": {"keep": 9}}]
)
@pytest.mark.parametrize("seed", range(count(6)))
def test_elements_that_come_out_of_order_change_the_graph_in_order_after_a_restart(
    tmp_path: Path, seed: int, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the journal has some of them, and those that come after them in time are in the checkpoint."""
    monkeypatch.setattr(checkpoint, "_MARK_ENTRIES", 1)
    random = Random(seed)
    folder, plain = tmp_path / "c0", Session()
    session = Session(checkpoint=folder, sync=False)
    for each in (session, plain):
        each.stream(STREAM, lateness_ms=10, **options)  # type: ignore[arg-type]
    for now in range(50):
        text = "\n".join(out_of_order(random, now, "retracts" in options) for _ in range(random.randint(1, 2)))
        for each in (session, plain):
            each.push(STREAM, text)
        if random.random() < 0.4:
            session.checkpoint()
        if random.random() < 0.3:
            folder = shutil.copytree(folder, tmp_path / f"c{now + 1}")  # as a process leaves it that is killed
            session.close()
            session = Session(checkpoint=folder, sync=False)
        assert contents(session) == contents(plain), (now, text)
    session.finish()
    plain.finish()
    assert contents(session) == contents(plain)
    session.close()


def out_of_order(random: Random, now: int, retracts: bool) -> str:
    sign = "- " if retracts and random.random() < 0.5 else ""
    return _typed(f"{10 * now // 4 + random.randrange(-9, 10)}\t{sign}{triple(random)}")


@pytest.mark.parametrize("before", ["", "DELETE DATA { <http://e/s> <http://e/p> 1 } ; "])
def test_what_is_inserted_and_is_there_keeps_its_time(tmp_path: Path, before: str) -> None:
    session = Session(checkpoint=tmp_path / "c", sync=False)
    session.stream(STREAM, absorb=True)
    session.stream("http://e/late")
    session.register(
        "SELECT ?o FROM NAMED WINDOW <w> ON <http://e/stream> [RANGE 10s STEP 10s] "
        "FROM NAMED WINDOW <v> ON <http://e/late> [RANGE 10s STEP 10s] "
        "WHERE { WINDOW <w> { ?s ?p ?o } WINDOW <v> { ?a ?b ?c } ?s <http://e/p> ?o }",
        name="q",
    )
    session.push("http://e/late", "100\t<http://e/a> <http://e/b> <http://e/c> .")
    session.push(STREAM, _typed("50000\t<http://e/s> <http://e/p> 1 ."))
    assert session.update(before + "INSERT DATA { <http://e/s> <http://e/p> 1 }") == (0, 0)
    for _ in range(2):
        assert session.stored.added().times.tolist() == [50000]
        session.close()
        session = Session(checkpoint=tmp_path / "c", sync=False)
    session.close()


def test_replacements_leave_no_trace_on_the_disk(tmp_path: Path) -> None:
    """Values that were replaced long ago are in no segment."""
    session = Session(checkpoint=tmp_path / "c", sync=False)
    for value in range(40):
        session.update(f"DELETE WHERE {{ ?s <http://e/p> ?o }} ; INSERT DATA {{ <http://e/s> <http://e/p> {value} }}")
        session.checkpoint()
    kept = session._durable._checkpoint._manifests.newest.segments  # type: ignore[union-attr]
    assert sum(segment.rows for segment in kept) < 12
    session.close()
    assert [
        each["o"].lexical for each in Session(checkpoint=tmp_path / "c").query("SELECT * { ?s ?p ?o }").bindings()
    ] == ["39"]


def test_a_graph_of_a_directory_that_is_dropped_stays_so(tmp_path: Path) -> None:
    (tmp_path / "data.trig").write_text("@prefix : <http://e/> . :a :p 1 . :g { :a :p 2 } :h { :a :p 3 }")
    load_files(TasksHere(), [tmp_path / "data.trig"], tmp_path / "graph")
    session = Session(checkpoint=tmp_path / "c", sync=False)
    session.load(tmp_path / "graph")
    steps = (
        ("DROP GRAPH :g", {":h"}),
        ("INSERT DATA { :b :p 1 }", {":h"}),
        ("CREATE GRAPH :g", {":g", ":h"}),
        ("DROP GRAPH :g ; DROP GRAPH :h", set()),
        ("INSERT DATA { GRAPH :h { :a :p 3 } } ; DELETE DATA { GRAPH :h { :a :p 3 } }", {":h"}),
    )
    for text, names in steps:
        session.update(PREFIX + text)
        for is_checkpoint in (False, True, True):
            if is_checkpoint:
                session.checkpoint()
            assert contents(session)[-1] == {f"http://e/{name[1:]}" for name in names}, text
            session.close()
            session = Session(checkpoint=tmp_path / "c", sync=False)
    session.close()
    with Session() as other:
        update_directory(tmp_path / "graph", PREFIX + "INSERT DATA { GRAPH :g { :new :p 1 } }", other)
    session = Session(checkpoint=tmp_path / "c", sync=False)
    assert contents(session)[-1] == {"http://e/g", "http://e/h"}
    session.close()


_KILLED = """
import sys
from freshet import Session

session = Session(checkpoint=sys.argv[1], checkpoint_seconds=0.05)
print("ready", flush=True)
number = int(sys.argv[2])
while True:
    number += 1
    triples = " ".join(f"<http://e/s{at}> <http://e/p> {number} ." for at in range(20))
    session.update(f"DELETE WHERE {{ ?s <http://e/p> ?o }} ; INSERT DATA {{ {triples} }}")
    print(number, flush=True)
"""


def test_an_update_is_whole_or_not_at_all_after_a_kill(tmp_path: Path) -> None:
    """Each update replaces twenty values; all twenty are of one update that was asked for."""
    random, last = Random(1), 0
    for _ in range(int(os.environ.get("FRESHET_KILLS", "2"))):
        process = subprocess.Popen(
            [sys.executable, "-c", _KILLED, str(tmp_path / "c"), str(last)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(random.randint(1, 40)):
            last = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        said = process.stdout.read().split()  # after what has been read ahead of the lines above
        process.wait()
        last = int(said[-1]) if said else last
        session = Session(checkpoint=tmp_path / "c")
        found = [int(each["o"].lexical) for each in session.query("SELECT ?o { ?s <http://e/p> ?o }").bindings()]
        session.close()
        assert len(found) == 20
        assert len(set(found)) == 1
        assert found[0] in (last, last + 1)
        last = found[0]


@pytest.mark.parametrize("kept", [False, True], ids=["journal", "checkpoint"])
@pytest.mark.parametrize(("kind", "output"), [("DELETE", "DSTREAM"), ("INSERT", "ISTREAM")])
def test_what_an_update_changes_is_reported_after_a_restart(tmp_path: Path, kind: str, output: str, kept: bool) -> None:
    """The update comes between two evaluations, and so does the end of the session."""
    session = Session(checkpoint=tmp_path / "c", sync=False)
    session.stream(STREAM)
    session.update(PREFIX + "INSERT DATA { :a :p 1 . :b :p 2 }")
    session.update(PREFIX + ("DELETE DATA { :c :p 1 }" if kind == "DELETE" else "DELETE DATA { :a :p 1 }"))
    session.register(
        f"{PREFIX} REGISTER {output} :q AS SELECT ?x ?o FROM NAMED WINDOW :w ON :stream [RANGE PT10S STEP PT1S] "
        "WHERE { WINDOW :w { ?x :seen ?y } ?x :p ?o }",
        name="q",
    )
    session.push(STREAM, "".join(f"1500\t<http://e/{name}> <http://e/seen> <http://e/z> .\n" for name in "ab"))
    session.advance(STREAM, 2000)
    session.queries()[0].take()
    session.update(PREFIX + f"{kind} DATA {{ :a :p 1 }}")
    if kept:
        session.checkpoint()
    session.close()
    session = Session(checkpoint=tmp_path / "c", sync=False)
    session.advance(STREAM, 3000)
    [report] = session.queries()[0].take()
    assert (report.time_ms, [str(row["x"]) for row in report.bindings()]) == (3000, ["<http://e/a>"])
    session.close()


@pytest.mark.parametrize("output", ["RSTREAM", "ISTREAM", "DSTREAM"])
@pytest.mark.parametrize("seed", range(count(8)))
def test_values_that_wait_replace_others_after_a_restart(tmp_path: Path, seed: int, output: str) -> None:
    """Another stream is behind, so that values wait; the process ends anywhere, and reports go on as if it had not."""
    random = Random(seed)
    other, folder, plain = "http://e/other", tmp_path / "c0", Session()
    session = Session(checkpoint=folder, sync=False)
    reports: list[dict[int, list[str]]] = [{}, {}]
    for each in (session, plain):
        each.stream(STREAM, absorb="latest", lateness_ms=1000 * (seed % 2))
        each.stream(other)
        each.register(
            f"{PREFIX} REGISTER {output} :q AS SELECT ?x ?o FROM NAMED WINDOW :w ON :other [RANGE PT4S STEP PT1S] "
            "WHERE { WINDOW :w { ?x :seen ?y } ?x :p0 ?o }",
            name="q",
        )
    now = {STREAM: 0, other: 0}
    for step_number in range(40):
        iri = random.choice([*now])
        now[iri] = max(now[iri] + random.choice((0, 300, 1500)), max(now.values()) - 6000)
        line = _typed(f"{now[iri]}\t<http://e/s{random.randrange(2)}> <http://e/p0> {random.randrange(4)} .")
        if iri == other:
            line = f"{now[iri]}\t<http://e/s{random.randrange(2)}> <http://e/seen> <http://e/z> ."
        for each, found in zip((session, plain), reports, strict=True):
            each.push(iri, line)
            note_reports(each, found)
        if random.random() < 0.2:
            session.checkpoint()
        if random.random() < 0.2:
            folder = shutil.copytree(folder, tmp_path / f"c{step_number + 1}")  # as a process leaves it that is killed
            session.close()
            session = Session(checkpoint=folder, sync=False)
    for each, found in zip((session, plain), reports, strict=True):
        each.finish()
        note_reports(each, found)
    assert contents(session)[0] == contents(plain)[0]
    assert reports[0] == reports[1]
    assert reports[1]
    session.close()


def note_reports(session: Session, found: dict[int, list[str]]) -> None:
    """What was reported just before a process was killed may be reported again."""
    for report in session.queries()[0].take():
        rows = sorted(f"{row['x']} {row['o']}" for row in report.bindings())
        assert found.setdefault(report.time_ms, rows) == rows
