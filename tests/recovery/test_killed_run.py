"""Kill a running pipeline with SIGKILL, start it again: no input is lost, and each report is in the files once."""

import os
import signal
import subprocess
import sys
from random import Random

import pyoxigraph as ox

from command_line import in_another_process
from comparing import differences, reports_of
from pipeline_world import GRAPH, QUERIES, World, write_world
from reference.evaluator import evaluate
from waiting import wait_until

OUTPUTS = {"warmFloors": "rstream", "noted": "istream"}


def run_and_kill(world: World, reports: int, delay: float) -> bool:
    """Start a run and kill it, Spark and all, once it has written some reports. False where it had ended by then."""
    process = subprocess.Popen(
        [sys.executable, "-m", "freshet", "run", str(world.pipeline), "--until-done"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until(lambda: len(world.reports_so_far()) >= reports or process.poll() is not None)
    try:
        process.wait(timeout=delay)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    random = Random()  # another moment every time
    world = write_world(tmp_path, files=18, records=12, bad=True)
    killed = [run_and_kill(world, reports, random.random() * 0.5) for reports in (1, 8)]
    assert any(killed), "the runs ended before they could be killed: the test shows nothing"
    run = in_another_process("run", world.pipeline, "--until-done")
    assert run.status == 0, run.err
    streams = {iri: sorted(lines) for iri, lines in world.streams.items()}
    stored = list(ox.parse(GRAPH.encode(), format=ox.RdfFormat.N_TRIPLES))
    for query, text in QUERIES.items():
        wanted = reports_of(evaluate(text, streams, stored=stored), query, OUTPUTS[query])
        assert not (wrong := differences(world.reports(query), wanted)), wrong
    assert world.rejects_count() == world.rejected
