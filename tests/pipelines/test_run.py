"""A pipeline on Spark gives what `replay` gives, and what the reference gives."""

import json
import os
import signal
import subprocess
import sys

import pyoxigraph as ox
import pytest

from command_line import in_another_process
from comparing import differences, reports_of
from freshet.rdf.errors import BudgetError
from pipeline_runs import run_to_the_end
from pipeline_world import GRAPH, QUERIES, timed_lines, write_world
from reference.evaluator import evaluate
from waiting import wait_until

OUTPUTS = {"warmFloors": "rstream", "noted": "istream"}


def expected(world, query):
    streams = {iri: sorted(lines) for iri, lines in world.streams.items()}
    stored = list(ox.parse(GRAPH.encode(), format=ox.RdfFormat.N_TRIPLES))
    return reports_of(evaluate(QUERIES[query], streams, stored=stored), query, OUTPUTS[query])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    world = write_world(tmp_path_factory.mktemp("world"), bad=True)
    return world, in_another_process("run", world.pipeline, "--until-done")


@pytest.mark.spark
@pytest.mark.slow
def test_spark_equals_the_reference(finished):
    world, run = finished
    assert run.status == 0, run.err
    for query in QUERIES:
        wanted = expected(world, query)
        assert len(wanted) > 5
        assert not (wrong := differences(world.reports(query), wanted)), wrong


@pytest.mark.spark
@pytest.mark.slow
def test_replay_equals_the_reference(finished, tmp_path):
    world, _ = finished
    recordings = []
    for at, (iri, stream) in enumerate(world.streams.items()):
        (tmp_path / f"{at}.tnt").write_text("".join(timed_lines(stream)), encoding="utf-8")
        recordings += ["-s", f"{iri}={tmp_path / f'{at}.tnt'}"]
    for query in QUERIES:
        run = in_another_process(
            "replay", *recordings, "-d", world.folder / "house.nt", "-q", world.folder / f"{query}.rq",
            "--format", "ndjson",
        )  # fmt: skip
        found = [json.loads(line) for line in run.out.splitlines()]
        assert not (wrong := differences(found, expected(world, query))), wrong


@pytest.mark.spark
@pytest.mark.slow
def test_bad_records_are_kept_with_reason_and_place(finished):
    world, run = finished
    rejects = [
        json.loads(line)
        for file in sorted((world.folder / "rejects").rglob("*.json"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    assert world.rejected == 9
    assert len(rejects) == world.rejected
    assert f"{world.rejected} rejected" in run.err
    for reject in rejects:
        assert reject["reason"]
        # The bad line is the fourth in every file that has one; a CSV file has its header above it.
        assert reject["line"] == 4
        assert "broken" in reject["record"] or "only-two" in reject["record"]
        assert reject["file"].endswith((".txt",))


@pytest.mark.spark
@pytest.mark.slow
def test_nothing_is_left_to_do_the_second_time(finished, spark):
    world, _ = finished
    before = {query: world.reports(query) for query in QUERIES}
    run_to_the_end(world.pipeline, spark)
    assert {query: world.reports(query) for query in QUERIES} == before


def test_windows_within_a_budget(tmp_path, spark):
    """Each stream comes in one batch, far more than the windows may hold: they go in piece by piece, side by side."""
    world = write_world(tmp_path, files=3, records=200)
    text = world.pipeline.read_text().replace(", files_per_batch: 1", "")
    world.pipeline.write_text(f"{text}window_memory: 300k\n")
    assert "waited until windows had room" in run_to_the_end(world.pipeline, spark)
    for query in QUERIES:
        assert not (wrong := differences(world.reports(query), expected(world, query))), wrong


@pytest.mark.spark
@pytest.mark.slow
def test_a_run_that_waits_for_a_silent_stream_can_be_stopped_and_goes_on(tmp_path, spark):
    world = write_world(tmp_path, files=3, records=200)
    text = world.pipeline.read_text().replace(", files_per_batch: 1", "")
    world.pipeline.write_text(f"{text}window_memory: 100k\n")
    silent = [file for stream in ("doors", "notes") for file in sorted((world.folder / "in" / stream).iterdir())]
    for number, file in enumerate(silent):
        file.rename(world.folder / f"silent-{number}")
    said = tmp_path / "said.txt"
    with said.open("w") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "freshet", "run", str(world.pipeline)],
            stdout=subprocess.DEVNULL,
            stderr=err,
            start_new_session=True,
        )
    try:
        wait_until(lambda: "waits for other streams" in said.read_text() or process.poll() is not None)
        os.kill(process.pid, signal.SIGINT)
        process.wait(300)
    finally:
        process.kill()
    assert process.returncode == 0, said.read_text()
    assert "stream temperature: waits for other streams, as windows have no room ('window_memory')" in said.read_text()
    assert "Traceback" not in said.read_text()
    for number, file in enumerate(silent):
        (world.folder / f"silent-{number}").rename(file)
    world.pipeline.write_text(f"{text}window_memory: 300k\n")  # with less, some orders of streams come to no end
    run_to_the_end(world.pipeline, spark)
    for query in QUERIES:
        assert not (wrong := differences(world.reports(query), expected(world, query))), wrong


def test_a_budget_that_is_too_small_ends_the_run(tmp_path, spark):
    world = write_world(tmp_path, files=2)
    world.pipeline.write_text(f"{world.pipeline.read_text()}window_memory: 8k\n")
    with pytest.raises(BudgetError, match="cannot go on: windows hold") as raised:
        run_to_the_end(world.pipeline, spark)
    assert raised.value.exit_status == 2
    assert str(raised.value).endswith(
        "of 8192 bytes, and no other stream can move them on ('window_memory' says how much they may hold)"
    )
