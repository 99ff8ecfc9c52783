"""A pipeline goes on from its checkpoint with other queries: they are reported, and none sends its reports again."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from freshet.rdf.batch import Layout
from freshet.results.answers import AnswerBatch
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.ingest import Ingest
from freshet.runtime.intake import StreamIntake
from freshet.runtime.metrics import Metrics
from freshet.runtime.session import Session

IRI = "http://e/s"
LAYOUT = Layout(((0, 1, 2),), (("", ""),) * 3)
SCHEMA = pa.schema([("time", pa.int64()), ("arrived", pa.int64()), *((f"text_{k}", pa.string()) for k in range(3))])


class TimesSink:
    def __init__(self) -> None:
        self.times: list[int] = []

    def deliver(self, batch: AnswerBatch) -> None:
        self.times += batch.times.tolist()

    def skip(self, batch: AnswerBatch) -> None:
        """It was delivered before."""

    def flush(self) -> None:
        """There is nothing to flush."""

    sync = close = flush


class MarkedOften(Checkpoint):
    """Every batch gets a mark, so that a checkpoint can be made after any."""

    def is_mark_due(self) -> bool:
        return True


def words(name: str, seconds: int) -> str:
    return f"""REGISTER RSTREAM <{name}> AS SELECT ?o FROM NAMED WINDOW <w> ON <{IRI}> [RANGE PT{seconds}S STEP PT1S]
        WHERE {{ WINDOW <w> {{ ?s ?p ?o }} }}"""


def run(folder: Path, widths: dict[str, int], numbers: range) -> tuple[list[str], dict[str, list[int]]]:
    """A run that takes some batches and is stopped: which queries had changed, and when each reported."""
    checkpoint = MarkedOften(folder, every_seconds=1e6)
    session = Session(stored=checkpoint.dataset)
    durable = session.journal_to(checkpoint)
    durable.recover([])
    session.stream(IRI)
    ingest = Ingest(session.engine, Metrics(["s"]), durable)
    sinks = {name: TimesSink() for name in widths}
    for name, seconds in widths.items():
        session.register(words(name, seconds), on_batch=ingest.deliver)
        ingest.connect(name, [sinks[name]])
    ingest.open({"s": StreamIntake("s", IRI, LAYOUT, "s")})
    for number in numbers:
        times = [500 + 1000 * number]
        texts = {"text_0": ["<http://e/a>"], "text_1": ["<http://e/p>"], "text_2": [f'"{number}"']}
        table = pa.table({"time": times, "arrived": times, **texts}, schema=SCHEMA)
        ingest.batch("s", number, table, records=1, rejected=0, seconds=0.0)
    ingest.close()
    session.close()
    return ingest.changed_queries(), {name: sink.times for name, sink in sinks.items()}


def test_queries_that_were_added_or_changed_are_told(tmp_path: Path) -> None:
    first = run(tmp_path / "c", {"kept": 1, "wider": 1, "gone": 1}, range(10))
    closes = [1000 * close for close in range(1, 15)]
    assert first == ([], dict.fromkeys(("kept", "wider", "gone"), closes[:9]))
    changed, times = run(tmp_path / "c", {"kept": 1, "wider": 3, "added": 2}, range(10, 15))
    assert changed == ["wider", "added"]
    assert times == dict.fromkeys(("kept", "wider", "added"), closes[9:])
    changed, _ = run(tmp_path / "c", {"kept": 1, "wider": 3, "added": 2}, range(15, 16))
    assert changed == []
