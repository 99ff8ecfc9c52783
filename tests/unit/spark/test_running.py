"""What a stream that Spark runs says it does, and when it is started again."""

import threading
import time

import pytest
from pyspark.errors import StreamingQueryException

from freshet.spark.running import RunningStream
from waiting import wait_until


def test_a_stream_says_whether_it_waits_or_works(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    trouble, going, begun = [""], threading.Event(), threading.Event()
    running = RunningStream("s", lambda: trouble[0])

    def take(batch, number):
        begun.set()
        assert going.wait(300)

    def start():
        writer = spark.readStream.text(str(folder)).writeStream.foreachBatch(running.guard(take))
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    running.begin(start, wait=True)
    try:
        wait_until(lambda: running.activity() == "waits")
        seen = {running.activity() for _ in range(200)}
        assert "waits" in seen, "nothing has come from the start"
        assert seen <= {"waits", ""}, "to look whether there is something new is no work"
        (folder / "a").write_text("a\n")
        assert begun.wait(300)
        assert {running.activity() for _ in range(50)} == {"works"}
        going.set()
        wait_until(lambda: running.activity() == "waits")
        trouble[0] = "gone"
        time.sleep(1.1)  # it is looked for once a second
        assert running.trouble() == "gone"
        assert running.activity() == "works"
    finally:
        running.stop()
    assert running.activity() == "ended"


class EndedQuery:
    """A query that has ended, with an error or in order."""

    isActive = False
    recentProgress = ()

    def __init__(self, error=None):
        self._error = None if error is None else StreamingQueryException(error)

    def exception(self):
        return self._error

    def processAllAvailable(self):
        if self._error is not None:
            raise self._error


NOT_STARTED = "Job aborted: Python worker failed to connect back."


def started(*ends):
    """A stream whose query ends as given, start after start, and a list that has an entry for each start."""
    starts = []

    def start():
        starts.append(len(starts))
        return EndedQuery(ends[len(starts) - 1])

    running = RunningStream("s")
    running.begin(start, wait=False)
    return running, starts


def test_a_query_whose_python_worker_did_not_start_is_started_again():
    running, starts = started(NOT_STARTED, NOT_STARTED, None)
    for count in (2, 3):
        assert running.active
        running.check()
        assert len(starts) == count
    assert not running.active, "the third has ended in order"
    running.check()
    assert len(starts) == 3


def test_it_is_started_three_times_and_not_more():
    running, starts = started(NOT_STARTED, NOT_STARTED, NOT_STARTED)
    running.check()
    running.check()
    assert not running.active
    with pytest.raises(RuntimeError, match=r"the stream s failed: .*failed to connect back"):
        running.check()
    assert len(starts) == 3


def test_draining_starts_it_again_too():
    running, starts = started(NOT_STARTED, None)
    running.drain()
    assert len(starts) == 2


def test_a_query_that_has_taken_something_is_not_started_again():
    running, starts = started(NOT_STARTED, None)
    running.guard(lambda batch, number: None)(None, 0)
    assert not running.active
    with pytest.raises(RuntimeError, match="failed to connect back"):
        running.check()
    assert len(starts) == 1


def test_draining_tells_what_went_wrong_with_a_batch():
    running, _ = started("the batch was not taken")

    def take(batch, number):
        raise ValueError("no room")

    with pytest.raises(RuntimeError, match="not taken"):
        running.guard(take)(None, 0)
    with pytest.raises(ValueError, match="no room"):
        running.drain()


def test_other_errors_are_told_at_once():
    running, starts = started("Job aborted: no space left on device", None)
    with pytest.raises(RuntimeError, match="no space left"):
        running.check()
    assert len(starts) == 1
