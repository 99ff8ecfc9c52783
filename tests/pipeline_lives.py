"""Runs of a pipeline without Spark: batches as Spark hands them over, which end well or without a word."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from freshet import Session
from freshet.rdf.batch import Layout
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.ingest import Ingest
from freshet.runtime.intake import StreamIntake
from freshet.runtime.metrics import Metrics
from freshet.runtime.sinks import FileSink
from waiting import wait_until

S, M = "http://e/s", "http://e/m"
SOURCES = {"s": S, "m.1": M, "m.2": M}
LAYOUT = Layout(((0, 1, 2),), (("", ""),) * 3)
SCHEMA = pa.schema([("time", pa.int64()), ("arrived", pa.int64()), *((f"text_{k}", pa.string()) for k in range(3))])
QUERIES = {
    "named": """PREFIX : <http://e/> REGISTER ISTREAM <named> AS SELECT ?s ?name \
FROM NAMED WINDOW <w> ON :s [RANGE PT4S STEP PT1S]
WHERE { ?s :name ?name . WINDOW <w> { ?s :p ?o } }""",
    "both": """PREFIX : <http://e/> REGISTER RSTREAM <both> AS SELECT (COUNT(*) AS ?n) \
FROM NAMED WINDOW <w> ON :m [RANGE PT2S STEP PT1S]
WHERE { WINDOW <w> { ?s :p ?o } }""",
}  # as in the folders of earlier versions
BATCHES = 60


def batch(source: str, number: int) -> pa.Table:
    at = number * 500
    rows = [(at, f"<http://e/{number % 9}>", "<http://e/p>", f'"{number}"')]
    if source == "s" and number % 4 == 0:
        rows.append((at, f"<http://e/{number % 9}>", "<http://e/name>", f'"name {number}"'))
    times, *texts = zip(*rows, strict=True)
    columns = {f"text_{k}": text for k, text in enumerate(texts)}
    return pa.table({"time": times, "arrived": times, **columns}, schema=SCHEMA)


class PipelineLife:
    """A run of a pipeline on a folder, from its start to its end, clean or not."""

    def __init__(
        self, folder: Path, graph: tuple[Path, ...] = (), queries: dict[str, str] = QUERIES, *, has_log: bool = False
    ) -> None:
        self.checkpoint = Checkpoint(folder / "checkpoint", every_seconds=1e6)
        self.session = Session(stored=self.checkpoint.dataset)
        durable = self.session.journal_to(self.checkpoint)
        durable.recover((str(each), None) for each in graph)
        self.session.stream(S, lateness_ms=1000, absorb=["http://e/name"])
        self.session.stream(M, held=True)
        self.metrics, self._pushed = Metrics(["s", "m"]), 0
        self.ingest = Ingest(self.session.engine, self.metrics, durable)
        for name, text in queries.items():
            self.session.register(text, name=name, on_batch=self.ingest.deliver)
            resume = not self.checkpoint.is_new
            self.ingest.connect(name, [FileSink(folder / "out" / name, resume=resume)])
        if has_log:
            self.session.keep_reports(folder=folder / "checkpoint" / "reports")
        intakes = [StreamIntake(key, iri, LAYOUT, key[0], 1000 if key == "s" else 0) for key, iri in SOURCES.items()]
        self.ingest.open({each.sub_stream_id: each for each in intakes}, {M: None})
        if has_log:
            self.session.report_log.go_on(query.name for query in self.session.queries())

    def push(self, last: int) -> None:
        """Take the batches up to before one, from where the run is."""
        for number in range(min(map(self.ingest.last_batch, SOURCES)) + 1, last):
            for source in SOURCES:
                self._pushed += number > self.ingest.last_batch(source)
                self.ingest.batch(source, number, batch(source, number), records=1, rejected=0, seconds=0.0)
        wait_until(lambda: all(self.ingest._sources.taken.whole.get(source, -1) + 1 >= last for source in SOURCES))
        wait_until(lambda: self.metrics.snapshot().batches >= self._pushed)  # the watermarks have moved, too

    def stop(self) -> None:
        self.ingest.end_waits()
        self.session.close()
        self.ingest.close()

    def kill(self) -> None:
        """As if the process had ended here: nothing is written any more, and the lock is gone."""
        self.checkpoint._stop.set()
        self.checkpoint.journal._close()
        self.checkpoint.release()


def lived(folder: Path, *, until: int = 40, graph: tuple[Path, ...] = ()) -> PipelineLife:
    """A run that makes some checkpoints, and has not ended."""
    life = PipelineLife(folder, graph)
    for last in range(10, until, 10):
        life.push(last)
        life.checkpoint.make()
    life.push(until)
    return life


def finished(folder: Path, graph: tuple[Path, ...] = ()) -> None:
    """A run that takes what is left, to the end."""
    life = PipelineLife(folder, graph)
    life.push(BATCHES)
    life.ingest.finish()
    life.stop()


def reports(folder: Path) -> dict[str, list[str]]:
    """What is in the files of the sinks; the rows of a report are in some order."""
    found = {}
    for name in QUERIES:
        lines = [line for part in sorted((folder / "out" / name).glob("*")) for line in part.read_text().splitlines()]
        found[name] = [json.dumps(_in_order(json.loads(line))) for line in lines]
    return found


def _in_order(report: dict) -> dict:
    return {**report, "bindings": sorted(report["bindings"], key=json.dumps)}
