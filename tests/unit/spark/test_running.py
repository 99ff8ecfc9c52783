"""What a stream that Spark runs says it does."""

import threading
import time

from freshet.spark.running import RunningStream
from waiting import wait_until


def test_a_stream_says_whether_it_waits_or_works(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    trouble, going, begun = [""], threading.Event(), threading.Event()
    running = RunningStream("s", lambda: trouble[0])

    def take(batch, number):
        begun.set()
        assert going.wait(60)

    def start():
        writer = spark.readStream.text(str(folder)).writeStream.foreachBatch(running.guard(take))
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    running.begin(start, wait=True)
    try:
        wait_until(lambda: running.doing() == "waits")
        seen = {running.doing() for _ in range(200)}
        assert "waits" in seen, "nothing has come from the start"
        assert seen <= {"waits", ""}, "to look whether there is something new is no work"
        (folder / "a").write_text("a\n")
        assert begun.wait(60)
        assert {running.doing() for _ in range(50)} == {"works"}
        going.set()
        wait_until(lambda: running.doing() == "waits")
        trouble[0] = "gone"
        time.sleep(1.1)  # it is looked for once a second
        assert running.trouble() == "gone"
        assert running.doing() == "works"
    finally:
        running.stop()
    assert running.doing() == "ended"
