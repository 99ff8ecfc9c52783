"""Queries and streams that clients add to a pipeline while it runs: they are there again after it is killed."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from freshet import Iri, Session
from freshet.rdf.errors import InputError
from pipeline_lives import BATCHES, QUERIES, SOURCES, M, PipelineLife, S, batch

EXTRA = "http://e/extra"
WIDE = """PREFIX : <http://e/> SELECT ?o (COUNT(*) AS ?n) FROM NAMED WINDOW <w> ON :s [RANGE PT7S STEP PT1S]
WHERE { WINDOW <w> { ?s :p ?o } } GROUP BY ?o"""
JOINED = """PREFIX : <http://e/> SELECT ?s ?name FROM NAMED WINDOW <w> ON :extra [RANGE PT5S STEP PT1S]
WHERE { WINDOW <w> { ?s :seen ?o } OPTIONAL { ?s :name ?name } }"""
BOUND = """PREFIX : <http://e/> SELECT ?o FROM NAMED WINDOW <w> ON :m [RANGE PT3S STEP PT1S]
WHERE { WINDOW <w> { ?user :p ?o } }"""


@pytest.fixture(autouse=True)
def many_marks(monkeypatch):
    """A checkpoint may be of any entry."""
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 0)


def extra(number: int) -> str:
    return f'{number * 500}\t<http://e/{number % 9}> <http://e/seen> "{number}" .\n'


def act(session: Session, number: int) -> None:
    """What clients do after a batch."""
    if number == 8:
        session.register(WIDE, name="wide")
        session.stream(EXTRA, lateness_ms=500)
    if number >= 10:
        session.push_text(EXTRA, extra(number).encode(), key=f"key {number}")
    match number:
        case 12:
            session.register(JOINED, name="joined")
            session.define("bound", BOUND, ["user"])
        case 14:
            session.bind("bound", {"user": Iri("http://e/4")})
        case 21:
            session.unregister("wide")
        case 27:
            session.register(WIDE.replace("PT7S", "PT4S"), name="wide")


def act_before_waiting_batches(life: PipelineLife, number: int) -> None:
    """Batches are in the journal first, and done after."""
    durable = life.session._durable
    with durable.changing():  # so that the worker waits
        for source in ("s", "m.1"):
            life.ingest.batch(source, number, batch(source, number), records=1, rejected=0, seconds=0.0)
        act(life.session, number - 1)
    life.push(number + 1)


class ServedLife:
    """A pipeline that clients change, killed or stopped before some batches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.life = self._begin()

    def _begin(self) -> PipelineLife:
        return PipelineLife(self.folder, has_log=True)

    def live(self, ends: dict[int, str], checkpoints: set[int]) -> None:
        for number in range(BATCHES):
            if number in ends:
                getattr(self.life, ends[number])()
                self.life = self._begin()
            if number % 5 == 4:
                act_before_waiting_batches(self.life, number)
            else:
                act(self.life.session, number - 1)
                self.life.push(number + 1)
            if number in checkpoints:
                self.life.checkpoint.make()

    def reports(self) -> dict[str, list[dict]]:
        log = self.life.session.report_log
        found = {}
        for query in self.life.session.queries():
            lines = [json.loads(line) for logged in log.after(query.name, "start") for line in logged.lines]
            found[query.name] = [
                {"time": line["time"], "rows": sorted(map(json.dumps, line["bindings"]))} for line in lines
            ]
        return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, list[dict]]:
    """What an undisturbed run reports."""
    served = ServedLife(tmp_path_factory.mktemp("whole"))
    served.live({}, set())
    found = served.reports()
    served.life.stop()
    assert all(found[name] for name in ("wide", "joined", "bound?user=%3Chttp%3A%2F%2Fe%2F4%3E"))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_they_report_as_if_nothing_had_happened(tmp_path, whole, seed):
    chance = random.Random(seed)
    ends = {number: chance.choice(["kill", "kill", "stop"]) for number in chance.sample(range(5, BATCHES), 6)}
    served = ServedLife(tmp_path)
    served.live(ends, set(chance.sample(range(BATCHES), 12)))
    assert served.reports() == whole
    session = served.life.session
    assert list(session.definitions) == ["bound"]
    assert session.engine.streams[EXTRA].lateness_ms == 500
    assert session.push_text(EXTRA, extra(50).encode(), key="key 50") == 0
    served.life.stop()


def test_a_session_asks_the_folder(tmp_path):
    served = ServedLife(tmp_path)
    served.live({}, {20, 40})
    served.life.kill()
    with Session(checkpoint=tmp_path / "checkpoint") as session:
        names = {query.name for query in session.queries()}
        assert {*QUERIES, "wide", "joined"} <= names
        assert set(session.positions()) == {S, M, EXTRA}


def test_the_file_keeps_its_queries_and_may_take_over_others(tmp_path):
    life = PipelineLife(tmp_path, has_log=True)
    life.push(3)
    with pytest.raises(InputError, match="the pipeline file has the query both: remove it there"):
        life.session.unregister("both")
    life.session.register(WIDE, name="wide")
    life.session.register(JOINED.replace(":extra", ":m"), name="gone")
    life.kill()
    life = PipelineLife(tmp_path, has_log=True, queries={**QUERIES, "wide": WIDE})
    assert [query.name for query in life.session.queries()] == [*QUERIES, "wide", "gone"]
    with pytest.raises(InputError, match="the pipeline file has the query wide"):
        life.session.unregister("wide")
    life.session.unregister("gone")
    life.kill()
    life = PipelineLife(tmp_path, has_log=True)
    assert [query.name for query in life.session.queries()] == [*QUERIES]
    life.stop()


def test_loaded_triples_come_back(tmp_path):
    more = tmp_path / "more.nt"
    count = "SELECT (COUNT(*) AS ?n) { ?s <http://e/loaded> ?o }"
    life = PipelineLife(tmp_path, has_log=True)
    for number in range(12):
        with life.session._durable.changing():
            for source in SOURCES:
                life.ingest.batch(source, number, batch(source, number), records=1, rejected=0, seconds=0.0)
            more.write_text(f'<http://e/{number}> <http://e/loaded> "{number}" .\n')
            life.session.load(more)
        life.push(number + 1)
        if number % 3 == 1:
            life.checkpoint.make()
        if number % 4 == 2:
            life.kill()
            life = PipelineLife(tmp_path, has_log=True)
        [row] = life.session.bindings(life.session.query(count))
        assert int(row["n"].lexical) == number + 1
    life.kill()
