"""Windows that depend on all that came hold the same after a restart, and the journal is as short as they are."""

import warnings
from pathlib import Path
from random import Random

import pytest

from freshet import Session
from freshet.algebra.windows import AdaptiveWindow, CountWindow
from freshet.native.s2r.adaptive_window import Subwindow
from freshet.native.s2r.feed import Begin
from freshet.native.timing import Timing
from freshet.rdf.terms import Iri
from short_lives import IRI, begun, killed

OTHER = "http://e/t"
PREFIX = "PREFIX : <http://e/> "
FROM = PREFIX + "REGISTER {0} <q> AS SELECT {1} FROM NAMED WINDOW <w> ON :s [{2}] WHERE {{ WINDOW <w> {{ ?s :p ?o }} }}"
QUERIES = {
    "count": FROM.format("RSTREAM", "?s ?o", "COUNT 7 STEP 3"),
    "count, what is new": FROM.format("ISTREAM", "?s", "COUNT 7 STEP 3"),
    "count, what is gone": FROM.format("DSTREAM", "?s", "COUNT 3 STEP 7"),
    "count with every element": FROM.format("ISTREAM", "?o", "COUNT 5 STEP 1"),
    "count, computed now and then": FROM.format("RSTREAM", "(COUNT(?s) AS ?n) (MIN(?o) AS ?least)", "COUNT 9 STEP 4"),
    "triples": PREFIX + "SELECT ?s WHERE { STREAM :s [TRIPLES 6] { ?s :p ?o } }",
    "triples of two streams": PREFIX
    + "SELECT ?s ?o ?n WHERE { STREAM :s [TRIPLES 8] { ?s :p ?o } STREAM :t [TRIPLES 3] { ?s :q ?n } }",
    "triples, grouped": PREFIX + "SELECT ?s (COUNT(?o) AS ?n) WHERE { STREAM :s [TRIPLES 6] { ?s :p ?o } } GROUP BY ?s",
    "triples and a range": PREFIX
    + "SELECT ?s ?n WHERE { STREAM :s [TRIPLES 8] { ?s :p ?o } STREAM :t [RANGE 300ms] { ?s :q ?n } }",
    "count and a slide": PREFIX
    + """REGISTER RSTREAM <q> AS SELECT ?s ?o ?n FROM NAMED WINDOW <w> ON :s [COUNT 7 STEP 3]
    FROM NAMED WINDOW <v> ON :t [RANGE PT0.4S STEP PT0.2S] WHERE { WINDOW <w> { ?s :p ?o } WINDOW <v> { ?s :q ?n } }""",
    "adaptive": PREFIX
    + "SELECT ?s ?n WHERE { STREAM :s [ADAPTIVE 20 TO 900] { ?s :p ?o } STREAM :t [ADAPTIVE 20 TO 900] { ?s :q ?n } }",
    "adaptive, what is gone": FROM.format("DSTREAM", "?s ?o", "ADAPTIVE 10 TO 400"),
    "adaptive, computed now and then": FROM.format("RSTREAM", "(COUNT(?s) AS ?n)", "ADAPTIVE 50 TO 500"),
    "adaptive and triples": PREFIX
    + "SELECT ?s ?n WHERE { STREAM :s [TRIPLES 8] { ?s :p ?o } STREAM :t [ADAPTIVE 20 TO 600] { ?s :q ?n } }",
}
EVERY_MS = {"count, computed now and then": 250, "adaptive, computed now and then": 130}
STEPS = 150


def batches(random: Random) -> list[tuple[str, str]]:
    """Batches of two streams, of none to some elements; many share a time, and some are late."""
    made, now_ms = [], 0
    for _ in range(STEPS):
        now_ms += random.choice([0, 5, 40, 40, 120])
        stream, predicate = (IRI, "p") if random.random() < 0.7 else (OTHER, "q")
        size = random.choice([0, 1, 1, 2, 3, 9])
        times = [
            2 * (now_ms + random.choice([0, 0, 3, -20, -80, -200])) + 1 for _ in range(size)
        ]  # not when they close
        lines = [
            f'{time_ms}\t<http://e/{random.randrange(5)}> <http://e/{predicate}> "{random.randrange(30)}" .'
            for time_ms in times
        ]
        made.append((stream, "\n".join(lines)))
    return made


class Life:
    """A session until it is killed; reports are received once for each moment, or are the same again."""

    def __init__(self, session: Session, kind: str, received: dict[int, list[str]]) -> None:
        self.session = session
        for stream in (IRI, OTHER):
            session.stream(stream, lateness_ms=200)
        self.query = session.register(QUERIES[kind], name="q", every_ms=EVERY_MS.get(kind))
        self.received = received

    def push(self, stream: str, text: str) -> None:
        self.session.push(stream, text)
        self.take()

    def take(self) -> None:
        for report in self.query:
            rows = sorted(str(sorted(row.items())) for row in self.session.bindings(report))
            assert self.received.setdefault(report.time_ms, rows) == rows


def undisturbed(kind: str, sent: list[tuple[str, str]]) -> dict[int, list[str]]:
    life = Life(Session(), kind, {})
    for batch in sent:
        life.push(*batch)
    life.session.finish()
    life.take()
    return life.received


def first_entry(folder: Path) -> int:
    return min(int(file.stem) for file in (folder / "journal").glob("*.log"))


@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.parametrize("seed", range(3))
def test_the_same_after_a_restart(tmp_path, monkeypatch, kind, seed):
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 0)
    random = Random(seed)
    sent = batches(random)
    received: dict[int, list[str]] = {}
    life = Life(begun(tmp_path), kind, received)
    for batch in sent:
        life.push(*batch)
        if random.random() < 0.3:
            life.session.checkpoint()
        if random.random() < 0.1:
            killed(life.session)
            life = Life(begun(tmp_path), kind, received)
            life.take()
    assert first_entry(tmp_path) > STEPS // 2, "the journal has not been cut"
    life.session.finish()
    life.take()
    life.session.close()
    assert received == undisturbed(kind, sent)


def test_queries_that_were_registered_at_other_times_count_for_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 0)

    def reports(folder: Path | None) -> set[tuple[str, int, str]]:
        session = Session() if folder is None else begun(folder)
        session.stream(IRI)
        queries: dict = {}
        found = set()  # one that was taken just before the end comes again
        for number in range(40):
            if number in (0, 4, 5):
                queries[number] = session.register(QUERIES["count"].replace("<q>", f"<q{number}>"))
            session.push(IRI, f'{number * 10}\t<http://e/{number}> <http://e/p> "{number}" .')
            for query in queries.values():
                found |= {(each.query, each.time_ms, str(sorted(session.bindings(each), key=str))) for each in query}
            if folder is not None and number % 6 == 5:
                session.checkpoint()
                killed(session)
                session = begun(folder)
                queries = {at: session.registered(f"q{at}") for at in queries}
        return found

    whole = reports(None)
    assert {name for name, _, _ in whole} == {"q0", "q4", "q5"}
    assert reports(tmp_path) == whole
    assert first_entry(tmp_path) > 15


def test_what_leaves_a_range_after_the_streams_went_on_without_elements(tmp_path, monkeypatch):
    """A row that is there again as it leaves is nothing new, also when the process ended in between."""
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 0)
    text = PREFIX + "SELECT ?o WHERE { STREAM :s [RANGE 100ms] { ?s :p ?o } }"

    def rows(restart: bool) -> list[int]:
        session = begun(tmp_path) if restart else Session()
        session.stream(IRI)
        query = session.register(text, name="q")
        found = []
        for number in range(6):
            session.push(IRI, f'{number * 1000}\t<http://e/{number}> <http://e/p> "same" .')
            session.advance(IRI, number * 1000 + 900)
            found += [report.time_ms for report in query]
            if restart:
                session.checkpoint()
                killed(session)
                session = begun(tmp_path)
                query = session.registered("q")
        return found

    assert rows(restart=False) == [0]
    assert rows(restart=True) == [0]


def test_a_window_of_everything_says_what_it_costs(tmp_path):
    session = begun(tmp_path)
    session.stream(IRI)
    text = PREFIX + "SELECT ?s WHERE { STREAM :s [ALL] { ?s :p ?o } }"
    with pytest.warns(UserWarning, match=r"q has a window \[ALL\] or .*, which needs all that ever came"):
        session.register(text, name="q")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.register(QUERIES["triples"], name="r")
    session.close()


def test_so_does_a_window_over_times_in_the_data(tmp_path):
    session = begun(tmp_path)
    session.stream(IRI)
    text = (
        PREFIX + "REGISTER RSTREAM <q> AS SELECT ?s FROM NAMED WINDOW <w> ON :s [RANGE PT1S @:at STEP PT1S] "
        "WHERE { WINDOW <w> { ?s :p ?o } }"
    )
    with pytest.warns(UserWarning, match=r"@predicate\], which needs all that ever came"):
        session.register(text)
    session.close()


def test_a_subwindow_is_gone_on_with():
    window = AdaptiveWindow(Iri(IRI), 50, 500)
    counted = [[0, 1000, 250, IRI, "3.5", "1.0"]]
    assert Timing((window,)).going_on(counted).begins == ((window, Subwindow(1000, 250, 3.5, 1.0)),)
    assert Timing((AdaptiveWindow(Iri(OTHER), 50, 500),)).going_on(counted).begins == ()


def test_what_was_counted_of_another_stream_is_not_gone_on_with():
    one, other = CountWindow(Iri(IRI), 5, 3), CountWindow(Iri(IRI + "2"), 5, 3)
    counted = [[0, 1000, 7, IRI], [1, 2000, 8, IRI]]
    assert Timing((one, other)).going_on(counted).begins == ((one, Begin(1000, 7)),)
    assert Timing((other,)).going_on(counted).begins == ()
    assert Timing((one,)).going_on([[0, 1000, 7]]).begins == ((one, Begin(1000, 7)),)  # as it was written before
