"""Queries of a pipeline that read the answers of others, in a run that is continued."""

from pathlib import Path

import pytest

from freshet.results.answers import AnswerBatch
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.ingest import Ingest
from freshet.runtime.intake import StreamIntake
from freshet.runtime.metrics import Metrics
from freshet.runtime.session import Session
from ingest_batches import LAYOUT, batch

IRI = "http://e/s"
QUERIES = {
    "seen": """PREFIX : <http://e/> CONSTRUCT { ?s :seen ?o } FROM NAMED WINDOW <w> ON :s [RANGE PT2S STEP PT1S]
        WHERE { WINDOW <w> { ?s :p ?o } }""",
    "count": """PREFIX : <http://e/> REGISTER RSTREAM <count> AS SELECT (COUNT(*) AS ?n)
        FROM NAMED WINDOW <w> ON <seen> [RANGE PT6S STEP PT3S] WHERE { WINDOW <w> { ?s :seen ?o } }""",
}


class Received:
    """A sink. What comes again, as not every run says what it has delivered, is the same."""

    def __init__(self) -> None:
        self.reports: list[tuple[int, int]] = []

    def deliver(self, batch: AnswerBatch) -> None:
        self.reports += [(report.time_ms, report.to_arrow().to_pydict()["n"][0]) for report in batch.reports()]

    def skip(self, batch: AnswerBatch) -> None: ...
    def flush(self) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...


def run(folder: Path | None, batches: range, *, finish: bool = False) -> list[tuple[int, int]]:
    """What the second query reports in a run that takes some batches."""
    sink = Received()
    checkpoint = None if folder is None else Checkpoint(folder, every_seconds=1e6)
    session = Session(stored=None if checkpoint is None else checkpoint.dataset)
    durable = None if checkpoint is None else session.journal_to(checkpoint)
    if durable is not None:
        durable.recover([])
    session.stream(IRI)
    ingest = Ingest(session.engine, Metrics(["s"]), durable)
    for name, text in QUERIES.items():
        session.register(text, name=name, on_batch=ingest.deliver)
        ingest.connect(name, [sink] if name == "count" else [])
    ingest.open({"s": StreamIntake("s", IRI, LAYOUT, "s")})
    for number in batches:
        times = (700 * number, 700 * number + 100 * (number % 5))
        ingest.batch("s", number, batch(*times), records=2, rejected=0, seconds=0.0)
    if finish:
        ingest.finish()
    ingest.close()
    return sink.reports


@pytest.mark.parametrize("every", [3, 10, 17])
def test_a_run_that_is_continued_reports_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int) -> None:
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_ENTRIES", 2)
    whole = run(None, range(60), finish=True)
    found: dict[int, int] = {}
    for first in range(0, 60, every):
        last = min(60, first + every)
        for time_ms, count in run(tmp_path / "c", range(first, last), finish=last == 60):
            assert found.setdefault(time_ms, count) == count
    assert len(whole) > 10
    assert list(found.items()) == whole


def test_a_session_asks_the_folder(tmp_path: Path) -> None:
    run(tmp_path / "c", range(20))
    with Session(checkpoint=tmp_path / "c") as session:
        assert [query.name for query in session.queries()] == ["seen", "count"]
        assert len(session.query(QUERIES["seen"]).subjects) > 0
        assert session.failures == []
