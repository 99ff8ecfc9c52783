"""What a pipeline notes as delivered has been delivered, also by queries that wait for remote data."""

import json
import time
from pathlib import Path

import pyarrow as pa
import pytest

from freshet.federation.settings import ServiceSettings
from freshet.rdf.batch import Layout
from freshet.results.answers import AnswerBatch
from freshet.results.report import Report
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.ingest import Ingest
from freshet.runtime.intake import StreamIntake
from freshet.runtime.metrics import Metrics
from freshet.runtime.session import Session
from freshet.runtime.sinks import FileSink
from sparql_endpoint import EndpointProcess
from waiting import wait_until

IRI = "http://e/s"
LAYOUT = Layout(((0, 1, 2),), (("", ""),) * 3)
SCHEMA = pa.schema([("time", pa.int64()), ("arrived", pa.int64()), *((f"text_{k}", pa.string()) for k in range(3))])
PATIENT = ServiceSettings(hosts=("127.0.0.1",), timeout_seconds=1000)
REMOTE = "<http://e/a> <http://e/followers> 10 ."


class Noted(Checkpoint):
    """Remembers how many reports were there whenever more was noted as delivered."""

    def __init__(self, folder, reports: list[Report]) -> None:
        self.moves: list[tuple[int, int]] = []
        self._reports = reports
        super().__init__(folder, every_seconds=1e6)

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "delivered":
            self.moves.append((value, len(self._reports)))


class ListSink:
    def __init__(self, reports: list[Report]) -> None:
        self.deliver = lambda batch: reports.extend(batch.reports())

    def skip(self, batch: AnswerBatch) -> None:
        raise AssertionError("nothing was delivered before")

    def flush(self) -> None:
        """There is nothing to flush."""

    sync = close = flush


def query(endpoint: EndpointProcess) -> str:
    return f"""PREFIX : <http://e/> REGISTER RSTREAM <q> AS SELECT ?n
        FROM NAMED WINDOW <w> ON :s [RANGE PT1S STEP PT1S]
        WHERE {{ WINDOW <w> {{ ?s :p ?o }} SERVICE <{endpoint.url}> {{ ?s :followers ?n }} }}"""


LOCAL = """PREFIX : <http://e/> REGISTER RSTREAM <local> AS SELECT ?o
    FROM NAMED WINDOW <w> ON :s [RANGE PT1S STEP PT1S] WHERE { WINDOW <w> { ?s :p ?o } }"""


def push(ingest: Ingest, number: int) -> None:
    """A batch, which closes the window of the batch before it."""
    times = [500 + 1000 * number]
    texts = {"text_0": ["<http://e/a>"], "text_1": ["<http://e/p>"], "text_2": [f'"{number}"']}
    table = pa.table({"time": times, "arrived": times, **texts}, schema=SCHEMA)
    ingest.batch("s", number, table, records=1, rejected=0, seconds=0.0)


def test_delivered_waits_for_remote_data(tmp_path, endpoint):
    reports: list[Report] = []
    session = Session(services=ServiceSettings(hosts=("127.0.0.1",)))
    checkpoint = Noted(tmp_path, reports)
    durable = session.journal_to(checkpoint)
    durable.recover([])
    session.stream(IRI)
    ingest = Ingest(session.engine, Metrics(["s"]), durable)
    session.register(query(endpoint), on_batch=ingest.deliver)
    ingest.connect("q", [ListSink(reports)])
    ingest.open({"s": StreamIntake("s", IRI, LAYOUT, "s")})
    endpoint.does(delay_seconds=0.7)
    for number in range(3):
        push(ingest, number)
        time.sleep(0.3)
    ingest.close()
    session.services.close()
    assert len(reports) == 2
    assert checkpoint.moves[-1] == (3, 2)  # the first entry says what the run is
    for entry, count in checkpoint.moves:
        assert count >= entry - 1


class MarkedWhenTold(Checkpoint):
    """Marks, which checkpoints are made of, come with every batch while `is_due`, however much time goes by."""

    is_due = True

    def is_mark_due(self) -> bool:
        return self.is_due


class StoppedRun:
    """A run of a pipeline on a folder, which is stopped as a pipeline is. It has a query without remote data too."""

    def __init__(self, folder: Path, endpoint: EndpointProcess) -> None:
        self.checkpoint = MarkedWhenTold(folder / "checkpoint", every_seconds=1e6)
        self.session = Session(services=PATIENT, stored=self.checkpoint.dataset)
        durable = self.session.journal_to(self.checkpoint)
        durable.recover([])
        self.session.stream(IRI)
        self.ingest = Ingest(self.session.engine, Metrics(["s"]), durable)
        for name, text, out in (("q", query(endpoint), "out"), ("local", LOCAL, "local")):
            self.session.register(text, on_batch=self.ingest.deliver)
            sink = FileSink(folder / out, resume=not self.checkpoint.is_new)
            self.ingest.connect(name, [sink])
        self.ingest.open({"s": StreamIntake("s", IRI, LAYOUT, "s")})

    def stop(self) -> None:
        self.ingest.end_waits()
        self.session.close()
        self.ingest.close()


def reported(folder: Path, out: str = "out") -> list[int]:
    """The times of the reports in the sink's files."""
    return [json.loads(line)["time"] for file in sorted((folder / out).glob("*")) for line in file.open()]


@pytest.mark.parametrize("marks", [False, True], ids=["no marks", "a mark with every batch"])
def test_a_stop_leaves_what_remote_data_were_not_there_for_to_the_next_run(tmp_path, endpoint, marks):
    """The first run is stopped while its query waits for the endpoint, and has gone so far before that the last
    checkpoint, which says what was delivered, can cut something off the journal.

    No other query waits for it, also where what was delivered is noted: the other one reports meanwhile.
    """
    wanted = [1000 * number for number in range(1, 16)]
    first = StoppedRun(tmp_path, endpoint)
    for number in range(10):
        push(first.ingest, number)
    wait_until(lambda: len(reported(tmp_path)) == 9)
    first.checkpoint.is_due = marks
    endpoint.does(delay_seconds=1000)
    for number in range(10, 13):
        push(first.ingest, number)
    wait_until(lambda: bool(endpoint.seen))
    wait_until(lambda: len(reported(tmp_path, "local")) == 12)
    first.stop()
    before = reported(tmp_path)
    assert before == wanted[: len(before)]

    endpoint.does()
    second = StoppedRun(tmp_path, endpoint)
    for number in range(13, 15):
        push(second.ingest, number)
    second.ingest.finish()
    second.stop()
    assert reported(tmp_path) == wanted
    assert reported(tmp_path, "local") == wanted
