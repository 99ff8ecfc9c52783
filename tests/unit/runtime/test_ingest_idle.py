"""A stream of a pipeline that is silent for longer than its `idle` goes on with the wall clock."""

from pathlib import Path

from freshet import ManualClock
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.ingest import Ingest
from freshet.runtime.intake import StreamIntake
from freshet.runtime.metrics import Metrics
from freshet.runtime.session import Session
from ingest_batches import LAYOUT, batch
from waiting import wait_until

IRI, OTHER = "http://e/s", "http://e/t"
QUERY = """
PREFIX : <http://e/> REGISTER RSTREAM <q> AS SELECT ?s FROM NAMED WINDOW <w> ON :s [RANGE PT5S STEP PT5S]
WHERE { WINDOW <w> { ?s :p ?o } }
"""
BOTH = """
PREFIX : <http://e/> REGISTER RSTREAM <q> AS SELECT ?s FROM NAMED WINDOW <w> ON :s [RANGE PT5S STEP PT5S]
FROM NAMED WINDOW <v> ON :t [RANGE PT5S STEP PT5S]
WHERE { WINDOW <w> { ?s :p ?o } OPTIONAL { WINDOW <v> { ?s :q ?o } } }
"""


class Run:
    """A stream with a source and an idle time of 2 s, and another that has none."""

    def __init__(self, checkpoint: Checkpoint | None = None, query: str = QUERY, idle: str = IRI) -> None:
        self.clock = ManualClock()
        self.session = Session()
        durable = None if checkpoint is None else self.session.journal_to(checkpoint)
        if durable is not None:
            durable.recover([])
        for iri in (IRI, OTHER):
            self.session.stream(iri)
        self.metrics = Metrics(["s", "t"])
        self.ingest = Ingest(self.session.engine, self.metrics, durable, clock=self.clock.now)
        self.reports: list[tuple[int, list[str]]] = []
        self.session.register(query, on_report=self._report)
        intakes = {name: StreamIntake(name, f"http://e/{name}", LAYOUT, name) for name in "st"}
        self.ingest.open(intakes, {idle: 2000}, {idle})

    def _report(self, report) -> None:
        self.reports.append((report.time_ms, sorted(row["s"].value[9:] for row in self.session.bindings(report))))

    def send(self, name: str, number: int, *times: int) -> None:
        self.ingest.batch(name, number, batch(*times), records=len(times), rejected=0, seconds=0.0)

    def pass_silently(self, seconds: float, name: str = "s") -> None:
        """The run loop looks ten times a second."""
        for _ in range(round(seconds * 10)):
            self.ingest.note_activity(name, "waits")
            self.clock.advance(0.1)
        self.ingest.note_activity(name, "waits")

    def watermark_ms(self, iri: str = IRI) -> int:
        return self.session.engine.streams[iri].watermark_ms


def test_a_lone_record_is_answered_and_what_comes_later_is_late() -> None:
    run = Run()
    run.send("s", 0, 4000)
    wait_until(lambda: run.watermark_ms() == 4000)
    run.pass_silently(10.05)
    wait_until(lambda: run.watermark_ms() == 14_000)
    wait_until(lambda: run.reports == [(5000, ["4000"])])
    run.send("s", 1, 13_000, 14_100)
    wait_until(lambda: run.metrics.snapshot().late == 1)
    run.ingest.close()


def test_a_stream_without_records_goes_with_its_partners() -> None:
    run = Run(query=BOTH, idle=OTHER)
    run.send("s", 0, 1000, 6000)
    run.pass_silently(2.05, "t")
    wait_until(lambda: run.reports == [(5000, ["1000"])])
    assert run.watermark_ms(OTHER) == 6000
    run.ingest.close()


def test_a_run_that_continues_repeats_what_the_clock_did(tmp_path: Path) -> None:
    first = Run(Checkpoint(tmp_path))
    first.send("s", 0, 4000)
    wait_until(lambda: first.watermark_ms() == 4000)
    first.pass_silently(10.05)
    wait_until(lambda: first.watermark_ms() == 14_000)
    first.send("s", 1, 13_000, 14_100)
    first.ingest.close()
    again = Run(Checkpoint(tmp_path))
    assert again.watermark_ms() == 14_100
    assert again.session.engine.streams[IRI].late == 1
    again.send("s", 2, 15_000)
    again.ingest.finish()
    assert again.reports[-2:] == [(15_000, ["14100"]), (20_000, ["15000"])]
