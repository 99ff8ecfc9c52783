"""What a pipeline notes as delivered has been delivered, also by queries that wait for remote data."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from freshet.federation.settings import ServiceSettings
from freshet.rdf.batch import Layout
from freshet.results.report import Report
from freshet.runtime import checkpoint as checkpoint_module
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


@pytest.fixture
def endpoint() -> Iterator[EndpointProcess]:
    process = EndpointProcess("<http://e/a> <http://e/followers> 10 .")
    yield process
    process.stop()


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
        self.deliver = reports.append

    def pass_over(self, report: Report) -> None:
        raise AssertionError("nothing was delivered before")

    def flush(self) -> None:
        """There is nothing to flush."""

    sync = close = flush


def test_delivered_waits_for_remote_data(tmp_path, endpoint):
    reports: list[Report] = []
    session = Session(services=ServiceSettings(hosts=("127.0.0.1",)))
    session.stream(IRI)
    checkpoint = Noted(tmp_path, reports)
    checkpoint.recover(session.dictionary)
    ingest = Ingest(session.engine, Metrics(["s"]), checkpoint)
    session.register(
        f"""PREFIX : <http://e/> REGISTER RSTREAM <q> AS SELECT ?n
        FROM NAMED WINDOW <w> ON :s [RANGE PT1S STEP PT1S]
        WHERE {{ WINDOW <w> {{ ?s :p ?o }} SERVICE <{endpoint.url}> {{ ?s :followers ?n }} }}""",
        on_report=ingest.deliver,
    )
    ingest.connect("q", [ListSink(reports)])
    ingest.open({"s": StreamIntake("s", IRI, LAYOUT, "s")})
    endpoint.does(delay_seconds=0.7)
    for number in range(3):  # the second closes the window of the first, the third that of the second
        times = [500 + 1000 * number]
        texts = {"text_0": ["<http://e/a>"], "text_1": ["<http://e/p>"], "text_2": [f'"{number}"']}
        table = pa.table({"time": times, "arrived": times, **texts}, schema=SCHEMA)
        ingest.batch("s", number, table, records=1, rejected=0, seconds=0.0)
        time.sleep(0.3)
    ingest.close()
    session.services.close()
    assert len(reports) == 2
    assert checkpoint.moves[-1] == (2, 2)
    for entry, count in checkpoint.moves:
        assert count >= entry


PATIENT = ServiceSettings(hosts=("127.0.0.1",), timeout_seconds=1000)


def lines(folder: Path) -> list[int]:
    """The times of all reports in a sink's files."""
    return [json.loads(line)["time"] for file in sorted(folder.glob("*")) for line in file.open()]


def run_until_stopped(folder: Path, endpoint: EndpointProcess, numbers: range, *, finish: bool) -> list[int]:
    """A run over some batches, ended as a pipeline is; gives the times of all reports of the query with SERVICE."""
    checkpoint = Checkpoint(folder / "checkpoint", every_seconds=1e6)
    session = Session(services=PATIENT, stored=checkpoint.dataset)
    checkpoint.recover(session.dictionary)
    session.engine.go_on_counting(checkpoint.counted)
    session.stream(IRI)
    ingest = Ingest(session.engine, Metrics(["s"]), checkpoint)
    session.register(
        f"""PREFIX : <http://e/> REGISTER RSTREAM <q> AS SELECT ?n
        FROM NAMED WINDOW <w> ON :s [RANGE PT1S STEP PT1S]
        WHERE {{ WINDOW <w> {{ ?s :p ?o }} SERVICE <{endpoint.url}> {{ ?s :followers ?n }} }}""",
        on_report=ingest.deliver,
    )
    session.register(
        """PREFIX : <http://e/> REGISTER RSTREAM <local> AS SELECT ?o
        FROM NAMED WINDOW <w> ON :s [RANGE PT1S STEP PT1S] WHERE { WINDOW <w> { ?s :p ?o } }""",
        on_report=ingest.deliver,
    )
    for name, out in (("q", "out"), ("local", "local")):
        ingest.connect(name, [FileSink(folder / out, session.dictionary, resume=not checkpoint.is_new)])
    ingest.open({"s": StreamIntake("s", IRI, LAYOUT, "s")})
    for number in numbers:
        times = [500 + 1000 * number]
        texts = {"text_0": ["<http://e/a>"], "text_1": ["<http://e/p>"], "text_2": [f'"{number}"']}
        table = pa.table({"time": times, "arrived": times, **texts}, schema=SCHEMA)
        ingest.batch("s", number, table, records=1, rejected=0, seconds=0.0)
        if number == 2 and not finish:
            wait_until(lambda: bool(endpoint.seen))
    if not finish:
        wait_until(lambda: len(lines(folder / "local")) == len(numbers) - 1)
    if finish:
        ingest.finish()
    ingest.let_go()
    session.close()
    ingest.close()
    return lines(folder / "out")


def test_a_stop_leaves_what_remote_data_were_not_there_for_to_the_next_run(tmp_path, endpoint):
    """The first run is stopped while its query waits for the endpoint, and some batches are not taken in yet."""
    endpoint.does(delay_seconds=1)
    wanted = [1000 * number for number in range(1, 11)]
    before = run_until_stopped(tmp_path, endpoint, range(8), finish=False)  # as many as it had waited for, if any
    assert before == wanted[: len(before)]
    endpoint.does()
    assert run_until_stopped(tmp_path, endpoint, range(8, 10), finish=True) == wanted


def test_a_query_that_waits_holds_up_no_other(tmp_path, endpoint, monkeypatch):
    """Also where what was delivered is noted with every batch; what it owes is done by the next run."""
    monkeypatch.setattr(checkpoint_module, "_MARK_SECONDS", 0.0)
    endpoint.does(delay_seconds=1000)
    assert run_until_stopped(tmp_path, endpoint, range(8), finish=False) == []
    endpoint.does()
    wanted = [1000 * number for number in range(1, 11)]
    assert run_until_stopped(tmp_path, endpoint, range(8, 10), finish=True) == wanted
    assert lines(tmp_path / "local") == wanted
