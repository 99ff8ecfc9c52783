"""Batches of several sub-streams of one stream: nothing is late because another sub-stream is ahead."""

import time

import pytest

from freshet.rdf.errors import InputError
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.ingest import Ingest
from freshet.runtime.intake import StreamIntake
from freshet.runtime.metrics import Metrics
from freshet.runtime.session import Session
from ingest_batches import LAYOUT, batch
from waiting import wait_until

IRI = "http://e/s"
QUERY = """
PREFIX : <http://e/> REGISTER RSTREAM <q> AS SELECT ?s FROM NAMED WINDOW <w> ON :s [RANGE PT1S STEP PT1S]
WHERE { WINDOW <w> { ?s :p ?o } }
"""


class Stream:
    """A stream of two sub-streams, and the closes that were reported."""

    def __init__(
        self,
        idle_ms: int | None,
        checkpoint: Checkpoint | None = None,
        lateness_ms: int = 0,
        other: bool = False,
        fingerprint_inputs: str = "",
    ) -> None:
        self.session = Session()
        durable = None if checkpoint is None else self.session.journal_to(checkpoint)
        if durable is not None:
            durable.recover([])
        self.session.stream(IRI, lateness_ms=lateness_ms, held=True)
        self.metrics = Metrics(["s", "o"])
        self.ingest = Ingest(self.session.engine, self.metrics, durable)
        self.reports: list[tuple[int, list[str]]] = []
        self.session.register(QUERY, on_report=self._report)
        names = ("s.1", "s.2")
        intakes = {name: StreamIntake(name, IRI, LAYOUT, "s", lateness_ms, fingerprint_inputs) for name in names}
        if other:
            self.session.stream("http://e/o")
            intakes["o"] = StreamIntake("o", "http://e/o", LAYOUT, "o")
        self.ingest.open(intakes, {IRI: idle_ms})
        self._number = dict.fromkeys(intakes, 0 if checkpoint is None else -1)

    def _report(self, report) -> None:
        found = sorted(row["s"].value.removeprefix("http://e/") for row in self.session.bindings(report))
        self.reports.append((report.time_ms, found))

    def send(self, sub_stream_id: str, *times: int, number: int | None = None) -> None:
        at = self._number[sub_stream_id] if number is None else number
        self._number[sub_stream_id] = at + 1
        self.ingest.batch(sub_stream_id, at, batch(*times), records=len(times), rejected=0, seconds=0.0)


def test_the_part_behind_is_not_late():
    stream = Stream(None)
    stream.send("s.1", 100, 1500, 9000)
    stream.send("s.2", 200, 1600)
    stream.send("s.2", 1700, 5000)
    stream.ingest.finish()
    assert stream.reports == [
        (1000, ["100", "200"]),
        (2000, ["1500", "1600", "1700"]),
        (6000, ["5000"]),
        (10000, ["9000"]),
    ]
    assert stream.metrics.snapshot().late == 0


def test_what_is_behind_all_parts_is_late():
    stream = Stream(None, lateness_ms=500)
    stream.send("s.1", 100, 3000)
    stream.send("s.2", 4000)
    stream.send("s.2", 2400, 2500)
    stream.ingest.finish()
    assert stream.metrics.snapshot().late == 1
    assert stream.reports == [(1000, ["100"]), (3000, ["2500"]), (4000, ["3000"]), (5000, ["4000"])]


def test_a_silent_part_does_not_hold_back_for_ever():
    stream = Stream(300)
    stream.send("s.1", 100, 2500)
    stream.ingest.note_activity("s.2", "works")
    time.sleep(0.8)
    assert stream.reports == []

    def reported():
        stream.ingest.note_activity("s.2", "waits")
        return stream.reports == [(1000, ["100"])]

    wait_until(reported)
    stream.ingest.close()


def test_a_part_that_has_ended_lets_the_others_go_on():
    stream = Stream(None)
    stream.send("s.1", 100, 2500)
    stream.ingest.note_activity("s.2", "ended")
    wait_until(lambda: stream.reports == [(1000, ["100"])])
    stream.ingest.close()


def test_batches_of_one_stream_do_not_keep_another_from_going_on():
    """Its silent sub-stream is passed also where the queue is never empty."""
    stream = Stream(1, other=True)
    stream.send("s.1", 100, 2500)
    stream.ingest.note_activity("s.2", "waits")
    time.sleep(0.01)
    stream.ingest.note_activity("s.2", "waits")
    end = time.monotonic() + 300
    while not stream.reports and time.monotonic() < end:
        stream.send("o", 100)
    stream.ingest.close()
    assert stream.reports == [(1000, ["100"])]


def test_a_run_goes_on_with_all_sub_streams(tmp_path):
    first = Stream(None, Checkpoint(tmp_path))
    first.send("s.1", 100, 3500, number=0)
    first.send("s.2", 200, 1500, number=0)
    first.ingest.close()
    assert first.reports == [(1000, ["100", "200"])]
    again = Stream(None, Checkpoint(tmp_path))
    again.send("s.2", 200, 1500, number=0)  # Spark repeats it
    again.send("s.2", 1600, 2500, number=1)
    again.send("s.1", 5000, number=1)
    again.ingest.finish()
    assert again.reports == [
        (2000, ["1500", "1600"]), (3000, ["2500"]), (4000, ["3500"]), (6000, ["5000"]),
    ]  # fmt: skip


@pytest.mark.parametrize("empty", ["s.1", "s.2"])
def test_an_empty_batch_says_nothing_of_time(empty):
    stream = Stream(None)
    stream.send(empty)
    stream.send("s.1", 100, 2500)
    stream.send("s.2", 2600)
    stream.ingest.finish()
    assert stream.reports == [(1000, ["100"]), (3000, ["2500", "2600"])]


def test_a_checkpoint_of_other_records_is_refused(tmp_path):
    first = Stream(None, Checkpoint(tmp_path), fingerprint_inputs="a window of 5 s")
    first.send("s.1", 100, number=0)
    first.ingest.close()
    Stream(None, Checkpoint(tmp_path), fingerprint_inputs="a window of 5 s").ingest.close()
    with pytest.raises(InputError, match=r"another mapping, source or window of the stream s\.1"):
        Stream(None, Checkpoint(tmp_path), fingerprint_inputs="a window of 7 s")


def test_a_stream_has_no_event_time_before_all_of_it_was_heard():
    stream = Stream(None)
    stream.send("s.1", 100, 1500)
    wait_until(lambda: stream.metrics.snapshot().streams["s"].records == 2)
    assert stream.metrics.snapshot().streams["s"].watermark_ms is None
    stream.send("s.2", 200)
    wait_until(lambda: stream.metrics.snapshot().streams["s"].watermark_ms == 200)
    stream.ingest.finish()
