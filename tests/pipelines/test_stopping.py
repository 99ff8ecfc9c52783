"""A run that is asked to stop ends in order, and leaves no process behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from pipeline_world import World, write_world
from waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@contextmanager
def running(world: World) -> Iterator[subprocess.Popen[str]]:
    """A run that has reported something, with a process group of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "freshet", "run", str(world.pipeline)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until(lambda: world.reports_so_far() or process.poll() is not None)
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_run_that_is_stopped_ends_cleanly(tmp_path, number):
    """Terminals and supervisors send to all processes of a group: Spark must be there until the run has ended."""
    with running(write_world(tmp_path, files=2)) as process:
        os.killpg(process.pid, number)
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert "Traceback" not in err
        assert "records in" in err
        wait_until(lambda: is_gone(process.pid))


def test_spark_does_not_outlive_a_run_that_is_killed(tmp_path):
    with running(write_world(tmp_path, files=2)) as process:
        process.kill()
        process.communicate(timeout=300)
        wait_until(lambda: is_gone(process.pid))
