"""Batches of a pipeline while windows are full: they wait for other streams, go in piece by piece, or end the run."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from freshet.federation.settings import ServiceSettings
from freshet.native.memory.window_budget import WindowRoom
from freshet.rdf.batch import Layout
from freshet.rdf.errors import BudgetError, InputError
from freshet.runtime.admission import Admission, elements_in
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.ingest import Ingest
from freshet.runtime.intake import StreamIntake
from freshet.runtime.metrics import Metrics
from freshet.runtime.session import Session
from sparql_endpoint import EndpointProcess
from waiting import wait_until

LAYOUT = Layout(((0, 1, 2),), (("", ""),) * 3)
SCHEMA = pa.schema([("time", pa.int64()), ("arrived", pa.int64()), *((f"text_{k}", pa.string()) for k in range(3))])
COUNTED = """
PREFIX : <http://e/> REGISTER RSTREAM <counted> AS SELECT (COUNT(*) AS ?n)
FROM NAMED WINDOW <w> ON :a [RANGE PT1S STEP PT1S] WHERE { WINDOW <w> { ?s :p ?o } }
"""
JOINED = """
PREFIX : <http://e/> REGISTER RSTREAM <joined> AS SELECT (COUNT(*) AS ?n)
FROM NAMED WINDOW <w> ON :a [RANGE PT1S STEP PT1S] FROM NAMED WINDOW <v> ON :b [RANGE PT1S STEP PT1S]
WHERE { WINDOW <w> { ?s :p ?o } WINDOW <v> { ?s :p ?u } }
"""


def records(times: range) -> pa.Table:
    texts = [f"<http://e/{time}>" for time in times]
    columns = {"time": list(times), "arrived": list(times), "text_0": texts, "text_1": ["<http://e/p>"] * len(times)}
    return pa.table({**columns, "text_2": texts}, schema=SCHEMA)


class Pipeline:
    """Streams a and b, and what a query counted: (close, number)."""

    def __init__(
        self,
        query: str,
        window_bytes: int | None,
        folder: Path | None = None,
        names: Sequence[str] = ("a", "b"),
        sub_streams: Sequence[str] = (),
    ) -> None:
        self.session = Session(window_bytes=window_bytes)
        self.checkpoint = None if folder is None else Checkpoint(folder, every_seconds=1e6)
        durable = None if self.checkpoint is None else self.session.journal_to(self.checkpoint)
        if durable is not None:
            durable.recover([])
        for name in names:
            self.session.stream(f"http://e/{name}")
        if sub_streams:
            self.session.stream("http://e/a", held=True)
        self.metrics = Metrics(names)
        self.ingest = Ingest(self.session.engine, self.metrics, durable)
        self.reports: list[tuple[int, int]] = []
        self.session.register(query, on_report=self._report)
        intakes = {name: StreamIntake(name, f"http://e/{name}", LAYOUT, name) for name in names}
        intakes |= {
            sub_stream_id: StreamIntake(sub_stream_id, "http://e/a", LAYOUT, "a") for sub_stream_id in sub_streams
        }
        self.ingest.open(intakes, {"http://e/a": None} if sub_streams else None)
        self.errors: dict[str, BaseException] = {}

    def _report(self, report) -> None:
        (row,) = self.session.bindings(report)
        self.reports.append((report.time_ms, int(row["n"].lexical)))

    def send(self, name: str, number: int, times: range) -> None:
        self.ingest.batch(name, number, records(times), records=len(times), rejected=0, seconds=0.0)

    def sending(self, name: str, number: int, times: range) -> threading.Thread:
        """As Spark does, in a thread of the stream's own."""

        def send() -> None:
            try:
                self.send(name, number, times)
            except BaseException as error:
                self.errors[name] = error

        thread = threading.Thread(target=send)
        thread.start()
        return thread

    def waiting(self, name: str) -> None:
        wait_until(lambda: name in self.ingest.waiting_for_room())


def undisturbed(query: str, *batches: tuple[str, range]) -> list[tuple[int, int]]:
    """What is reported where windows may hold anything."""
    pipeline = Pipeline(query, None)
    for number, (name, times) in enumerate(batches):
        pipeline.send(name, number, times)
    pipeline.ingest.finish()
    return pipeline.reports


def test_a_stream_that_is_ahead_waits_until_the_other_comes():
    pipeline = Pipeline(JOINED, 28_000)
    pipeline.send("b", 0, range(10))
    pipeline.send("a", 0, range(0, 2_000, 100))
    ahead = pipeline.sending("a", 1, range(2_000, 20_000, 20))  # more than all room, whatever else is on its way
    pipeline.waiting("a")
    assert pipeline.session.engine.streams["http://e/a"].watermark_ms < 20_000
    assert pipeline.session.engine.window_room("http://e/a").held_bytes <= 28_000
    for number in range(1, 20):  # each lets windows go on; any after a's last time would wait for more of a
        pipeline.send("b", number, range(1_000 * number, 1_000 * number + 10))
    pipeline.ingest.note_activity("b", "ended")  # else the last of a may wait for more of b
    ahead.join()
    pipeline.ingest.finish()
    assert not pipeline.errors
    assert pipeline.metrics.snapshot().streams["a"].waited == 1
    assert pipeline.metrics.snapshot().streams["a"].records == 920
    others = [("b", range(1_000 * each, 1_000 * each + 10)) for each in range(20)]
    whole = ("a", range(0, 2_000, 100)), ("a", range(2_000, 20_000, 20))
    assert pipeline.reports == undisturbed(JOINED, *whole, *others)


def test_a_batch_larger_than_the_budget_goes_in_piece_by_piece():
    pipeline = Pipeline(COUNTED, 20_000, names="a")
    pipeline.send("a", 0, range(0, 60_000, 10))
    pipeline.ingest.finish()
    assert pipeline.reports == [(close, 100) for close in range(1_000, 61_000, 1_000)]
    snapshot = pipeline.metrics.snapshot()
    assert (snapshot.records, snapshot.late) == (6_000, 0)
    assert snapshot.batches > 10
    assert 0 < snapshot.window_bytes <= snapshot.most_window_bytes == 20_000


def test_what_comes_to_the_engine_while_room_is_counted_takes_its_room():
    stream, held, let_in = StreamIntake("a", "http://e/a", LAYOUT, "a"), [0], []

    def count(iri: str) -> WindowRoom:
        """The engine takes what was let in when windows have been counted, and before that is announced."""
        counted = WindowRoom(held[0], 1_000, 10, 1_000)
        while let_in:
            held[0] += let_in[-1]
            admission.note_taken(let_in.pop())
        return counted

    def wait() -> None:
        raise InputError("it has to wait")

    admission = Admission(count, lambda to_ms: None)
    admission.open({"a": stream})
    pieces = admission.pieces(stream, records(range(150)), wait)
    let_in.append(next(pieces).promised_bytes)
    assert let_in == [1_000]
    with pytest.raises(InputError, match="it has to wait"):
        next(pieces)
    assert held == [1_000]


def test_streams_that_all_wait_take_turns():
    pipeline = Pipeline(JOINED, 120_000)
    both = [pipeline.sending(name, 0, range(0, 30_000, 10)) for name in "ab"]
    for thread in both:
        thread.join(300)
    pipeline.ingest.finish()
    assert not pipeline.errors
    assert pipeline.reports == [(close, 100) for close in range(1_000, 31_000, 1_000)]


def test_a_stream_that_has_ended_holds_nobody_back():
    pipeline = Pipeline(JOINED, 60_000)  # a fifth of what all of a asks for, and enough for a window however it is cut
    pipeline.send("b", 0, range(0, 1_500, 10))
    pipeline.ingest.note_activity("b", "ended")
    pipeline.send("a", 0, range(0, 60_000, 20))
    pipeline.ingest.finish()
    assert pipeline.reports == undisturbed(JOINED, ("b", range(0, 1_500, 10)), ("a", range(0, 60_000, 20)))
    assert pipeline.reports[:3] == [(1_000, 50), (2_000, 25), (3_000, 0)]


def test_parts_of_a_stream_take_turns():
    """One sub-stream is far ahead of the other, and the stream is as far as the one behind."""
    pipeline = Pipeline(COUNTED, 60_000, names=(), sub_streams=("a.1", "a.2"))
    both = [
        pipeline.sending(sub_stream_id, 0, range(at, 30_000, 20)) for at, sub_stream_id in enumerate(("a.1", "a.2"))
    ]
    for thread in both:
        thread.join(300)
    pipeline.ingest.finish()
    assert not pipeline.errors
    assert pipeline.metrics.snapshot().late == 0
    assert pipeline.reports == [(close, 100) for close in range(1_000, 31_000, 1_000)]


def test_a_part_that_has_ended_holds_no_other_back():
    pipeline = Pipeline(COUNTED, 30_000, names=(), sub_streams=("a.1", "a.2"))
    pipeline.send("a.2", 0, range(1, 500, 20))
    pipeline.ingest.note_activity("a.2", "ended")
    pipeline.send("a.1", 0, range(0, 30_000, 20))
    pipeline.ingest.finish()
    assert pipeline.reports == [(1_000, 75), *((close, 50) for close in range(2_000, 31_000, 1_000))]


def test_where_nobody_can_make_room_the_run_ends_and_says_so():
    pipeline = Pipeline(COUNTED.replace("PT1S", "PT1H"), 20_000, names="a")
    said = r"the stream a cannot go on: windows hold \d+ of 20000 bytes, and no other stream can move them on"
    with pytest.raises(BudgetError, match=said):
        pipeline.send("a", 0, range(0, 60_000, 10))
    with pytest.raises(BudgetError, match=said):
        pipeline.ingest.check()


def test_all_who_wait_hear_that_the_run_ends():
    pipeline = Pipeline(JOINED, 10_000)
    pipeline.send("b", 0, range(1))
    ahead = pipeline.sending("a", 0, range(0, 60_000, 10))
    pipeline.waiting("a")
    pipeline.ingest.end_waits()
    ahead.join(300)
    assert isinstance(pipeline.errors["a"], InputError)
    pipeline.ingest.close()


def test_a_batch_that_was_in_piece_by_piece_is_whole_after_a_restart(tmp_path):
    first = Pipeline(JOINED, 20_000, tmp_path)
    first.send("b", 0, range(10))
    ahead = first.sending("a", 0, range(0, 20_000, 50))
    first.waiting("a")
    first.ingest.end_waits()
    ahead.join(300)
    assert isinstance(first.errors["a"], InputError)
    first.ingest.close()
    before = first.session.engine.streams["http://e/a"].elements
    assert 0 < before < 400
    again = Pipeline(JOINED, None, tmp_path)
    assert again.ingest.last_batch("a") == -1
    again.send("a", 0, range(0, 20_000, 50))  # Spark repeats what it has not heard of
    assert again.ingest.last_batch("a") == 0
    for number in range(1, 21):
        again.send("b", number, range(1_000 * number, 1_000 * number + 10))
    again.ingest.finish()
    again.ingest.close()
    assert again.session.engine.streams["http://e/a"].elements == 400
    others = [("b", range(1_000 * each, 1_000 * each + 10)) for each in range(21)]
    assert again.reports == undisturbed(JOINED, ("a", range(0, 20_000, 50)), *others)


def test_a_checkpoint_between_two_pieces_knows_where_the_batch_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_ENTRIES", 0)  # a mark before every entry
    first = Pipeline(JOINED, 80_000, tmp_path)
    for number in range(10):
        first.send("b", number, range(1_000 * number, 1_000 * (number + 1), 50))
    ahead = first.sending("a", 0, range(0, 40_000, 10))
    first.waiting("a")
    for number in range(10, 20):
        first.send("b", number, range(1_000 * number, 1_000 * (number + 1), 50))
    wait_until(lambda: len(first.reports) >= 19)
    first.waiting("a")
    first.ingest.end_waits()
    ahead.join(300)
    first.ingest.close()
    again = Pipeline(JOINED, None, tmp_path)
    pieces = {each["id"]: tuple(each["piece"]) for each in again.checkpoint.state["sources"] if each["piece"]}
    assert pieces["a"][0] == 0
    assert 1_000 < pieces["a"][1] < 40_000
    again.send("a", 0, range(0, 40_000, 10))
    again.send("b", 20, range(20_000, 40_000, 50))
    again.ingest.finish()
    again.ingest.close()
    assert again.session.engine.streams["http://e/a"].elements == 4_000
    wanted = undisturbed(JOINED, ("b", range(0, 40_000, 50)), ("a", range(0, 40_000, 10)))
    assert first.reports == wanted[: len(first.reports)]
    assert again.reports[-20:] == wanted[-20:]  # those before were delivered, and may lack what no window needs now


def test_the_triples_of_a_batch_are_counted_with_those_of_lists():
    lists = pa.table(
        {
            "time": [1, 2],
            "arrived": [1, 2],
            "text_0": ["a", "b"],
            "text_1": pa.array([["x", "y", "z"], None], pa.list_(pa.string())),
        }
    )
    assert elements_in(lists, Layout(((0, 0, 0), (0, 0, 1)), (("", ""),) * 2)) == 2 + 3


def test_a_query_that_waits_for_remote_data_makes_room_in_time():
    """Windows are full of what its thread has not come to yet: batches wait for it, and the run goes on."""
    endpoint = EndpointProcess("<http://e/a> <http://e/followers> 10 .")
    session = Session(services=ServiceSettings(hosts=("127.0.0.1",)), window_bytes=40_000)
    session.stream("http://e/a")
    reports: list[int] = []
    ingest = Ingest(session.engine, Metrics(["a"]), None)
    try:
        session.register(
            COUNTED.replace("?s :p ?o }", f"?s :p ?o }} SERVICE <{endpoint.url}> {{ ?any :followers ?f }}"),
            on_report=lambda report: reports.append(report.time_ms),
        )
        ingest.open({"a": StreamIntake("a", "http://e/a", LAYOUT, "a")})
        endpoint.does(delay_seconds=0.3)
        for number in range(8):
            times = range(1000 * number, 1000 * number + 1000, 10)
            ingest.batch("a", number, records(times), records=len(times), rejected=0, seconds=0.0)
        ingest.finish()
        assert reports == [1000 * number for number in range(1, 9)]
    finally:
        session.close()
        ingest.end_waits()
        endpoint.stop()
