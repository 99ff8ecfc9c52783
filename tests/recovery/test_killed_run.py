"""Kill a running pipeline with SIGKILL, start it again: no input is lost, and each report is in the files once."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pyoxigraph as ox
import pytest

from command_line import in_another_process
from comparing import differences, reports_of
from freshet import Session
from freshet.runtime.journal import Journal
from pipeline_runs import run_to_the_end
from pipeline_world import EX, GRAPH, QUERIES, World, write_world
from reference.evaluator import evaluate
from small_disk import grow, read_only, small_disk
from waiting import wait_until

SOAK = bool(os.environ.get("FRESHET_SOAK"))
OUTPUTS = {"warmFloors": "rstream", "noted": "istream", "remembered": "rstream"}
ABSORBED = {EX + "notes": True, EX + "temperature": [EX + "note"]}
# What streams have left in the graph counts here, so that recovery must bring it back.
REMEMBERED = f"""
PREFIX ex: <{EX}>
REGISTER RSTREAM <remembered> AS
SELECT ?room (COUNT(?said) AS ?sayings)
FROM NAMED WINDOW <t> ON ex:temperature [RANGE PT10S STEP PT10S]
WHERE {{ ?note ex:about ?room ; ex:says ?said . WINDOW <t> {{ ?r ex:room ?room }} }} GROUP BY ?room
"""


def absorbing_world(folder: Path, *, checkpoint: str = "checkpoint", files: int = 18, bad: bool = True) -> World:
    """A pipeline whose streams leave something in the stored graph."""
    world = write_world(folder, files=files, records=12, bad=bad)
    (folder / "remembered.rq").write_text(REMEMBERED, encoding="utf-8")
    text = world.pipeline.read_text(encoding="utf-8")
    changes = {
        "    mapping: temperature.rml.ttl\n": f"    mapping: temperature.rml.ttl\n    absorb: [{EX}note]\n",
        "timed-ntriples, files_per_batch: 1}\n": "timed-ntriples, files_per_batch: 1}\n    absorb: all\n",
        "queries:\n": "queries:\n  remembered: {file: remembered.rq, sinks: [{files: out/remembered}]}\n",
        "checkpoint: checkpoint\n": f"checkpoint: {checkpoint}\n",
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    world.pipeline.write_text(text, encoding="utf-8")
    return world


def assert_whole(world: World) -> None:
    """All reports are there, each once, as in an undisturbed run."""
    streams = {iri: sorted(lines) for iri, lines in world.streams.items()}
    stored = list(ox.parse(GRAPH.encode(), format=ox.RdfFormat.N_TRIPLES))
    for query, text in {**QUERIES, "remembered": REMEMBERED}.items():
        wanted = reports_of(evaluate(text, streams, stored=stored, absorb=ABSORBED), query, OUTPUTS[query])
        assert not (wrong := differences(world.reports(query), wanted)), wrong
    assert world.rejects_count() == world.rejected


def run_and_kill(world: World, reports: int, delay: float) -> bool:
    """Start a run and kill it, Spark and all, once it has written some reports. False where it had ended by then."""
    process = subprocess.Popen(
        [sys.executable, "-m", "freshet", "run", str(world.pipeline), "--until-done"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until(lambda: len(world.reports_so_far()) >= reports or process.poll() is not None, seconds=600)
    try:
        process.wait(timeout=delay)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


@pytest.mark.timeout(2700 if SOAK else 900)
@pytest.mark.parametrize("rounds", [10 if SOAK else 2])
def test_a_killed_run_goes_on_where_it_was(tmp_path, rounds, spark):
    seed = Random().randrange(1 << 30)  # other moments every time
    print(f"seed {seed}")
    random = Random(seed)
    # checkpoints so often that batches have marks of their own, however fast
    world = absorbing_world(tmp_path, checkpoint="{folder: checkpoint, every: 10ms}", files=8 + 5 * rounds)
    killed = []
    for _ in range(rounds):
        more = len(world.reports_so_far()) + 1 + random.randrange(8)
        killed.append(run_and_kill(world, more, random.random() * 0.5))
        assert_can_be_asked(world)
    assert any(killed), "the runs ended before they could be killed: the test shows nothing"
    run_to_the_end(world.pipeline, spark)
    assert_whole(world)
    assert_can_be_asked(world)
    assert list((tmp_path / "checkpoint" / "graph").glob("*-triples.parquet"))


def assert_can_be_asked(world: World) -> None:
    """A session opens the folder: it has the stored graph and the queries, and their windows can be asked."""
    with Session(checkpoint=world.folder / "checkpoint") as session:
        assert {query.name for query in session.queries()} == set(OUTPUTS)
        assert len(session.query(f"SELECT * {{ ?room <{EX}floor> ?floor }}").rows) == 8
        assert len(session.query(f"SELECT * {{ ?note <{EX}about> ?room }}").rows) > 0
        for query in session.queries():
            assert set(session.query(query.text).variables) == set(query.variables)


def damage(folder: Path) -> Path:
    """Damage the last batch but three, and so lose these too: Spark believes that one of them was taken, at least, as
    it may not have heard of the last of each of the three streams. Gives the file that it is in."""
    journal = Journal(folder)
    lost = [entry for entry in journal.read(journal.first_sequence) if entry.body][-4]
    (file,) = (file for file in folder.glob("*.log") if lost.body in file.read_bytes())
    data = bytearray(file.read_bytes())
    data[data.index(lost.body) + len(lost.body) // 2] ^= 1
    file.write_bytes(data)
    return file


def test_a_full_disk_and_then_a_damaged_journal(tmp_path):
    """The run ends with one line; with more room, and what is damaged read again, the next goes on."""
    with small_disk(tmp_path / "disk", "400k") as disk:
        world = absorbing_world(tmp_path, checkpoint="{folder: disk/checkpoint, every: 200ms}", bad=False)
        run = in_another_process("run", world.pipeline, "--until-done")
        assert run.status == 1
        assert "No space left on device" in run.err.splitlines()[-1]
        grow(disk, "64m")
        file = damage(disk / "checkpoint" / "journal")
        run = in_another_process("run", world.pipeline, "--until-done")
        assert run.status == 0, run.err
        assert f"{file.name}: damaged" in run.err
        assert "what was damaged is read again from its source" in run.err
        assert_whole(world)


def test_a_checkpoint_that_cannot_be_written_to(tmp_path):
    with small_disk(tmp_path / "disk", "1m") as disk:
        world = absorbing_world(tmp_path, checkpoint="disk/checkpoint", files=1, bad=False)
        with read_only(disk):
            run = in_another_process("run", world.pipeline, "--until-done")
    assert run.status == 2
    assert run.error_line.endswith("the checkpoint folder cannot be made: Read-only file system")
