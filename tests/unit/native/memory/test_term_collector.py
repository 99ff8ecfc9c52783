"""A long stream of ever new terms: the dictionary stays small, and the answers stay right."""

from __future__ import annotations

import gc
import threading
from contextlib import ExitStack

import numpy as np
import pytest

import freshet
from declaring import register
from freshet.native.memory.term_collector import TermCollector, reachable_ids
from freshet.native.service.watermark_log import WatermarkLog
from freshet.native.streams.stream import StreamState
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri, Literal

S = "http://example.org/s"
PREFIX = "PREFIX : <http://example.org/>\n"
WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE PT4S STEP PT2S] WHERE { WINDOW :w { ?s :p ?o } "
PLAIN = f'{PREFIX} SELECT ?s ?o ?c {WINDOW} BIND ("constant" AS ?c) }}'
GROUPED = f"{PREFIX} SELECT ?s (MIN(?o) AS ?least) (COUNT(DISTINCT ?o) AS ?n) {WINDOW} }} GROUP BY ?s"
STORED = f"{PREFIX} SELECT ?s ?name {WINDOW} ?s :name ?name }}"
COMPUTED = f'{PREFIX} REGISTER ISTREAM :i AS SELECT ?t {WINDOW} BIND (CONCAT(?o, "!") AS ?t) }}'

BATCHES, ROWS, LEAST = 150, 20, 100


def lines(batch: int) -> str:
    """A second of the stream: some subjects come again, the objects are new."""
    subjects = [batch * ROWS + row if row % 4 else row for row in range(ROWS)]
    return "".join(
        f'{batch * 1000 + row}\t<http://example.org/s{subject}> <http://example.org/p> "o{batch} {row}" .\n'
        for row, subject in enumerate(subjects)
    )


def run(query: str, path, *, least: int | None) -> tuple[list[tuple[int, list[str]]], list[int]]:
    """All reports as text, and how large the dictionary was after each batch."""
    session = freshet.Session(why_elements=100)
    if least is not None:
        session.engine.collector = TermCollector(session.dictionary, least)
    session.load(path)
    found: list[tuple[int, list[str]]] = []
    registered = register(session, query)
    sizes = []

    def take() -> None:
        found.extend((report.time_ms, sorted(map(str, session.bindings(report)))) for report in registered)

    for batch in range(BATCHES):
        session.push(S, lines(batch))
        sizes.append(len(session.dictionary))
        take()
    session.finish()
    take()
    return found, sizes


@pytest.fixture
def names(tmp_path):
    path = tmp_path / "names.nt"
    name = "<http://example.org/name>"
    path.write_text("".join(f'<http://example.org/s{number}> {name} "name {number}" .\n' for number in range(0, 60, 4)))
    return path


@pytest.mark.parametrize("query", [PLAIN, GROUPED, STORED, COMPUTED])
def test_the_dictionary_stays_small_and_the_answers_right(query: str, names) -> None:
    everything, growing = run(query, names, least=None)
    found, sizes = run(query, names, least=LEAST)
    assert len(everything) >= BATCHES // 2
    assert found == everything
    assert growing[-1] > 5_000
    assert max(sizes) < 2_500  # what stands in arrays where rows were is held until others stand there


def test_a_report_that_somebody_holds_can_be_decoded() -> None:
    session = freshet.Session(why_elements=100)
    session.engine.collector = TermCollector(session.dictionary, LEAST)
    registered = register(session, COMPUTED)
    session.push(S, lines(0) + lines(1) + lines(2))
    [held] = registered
    answer = session.query('SELECT ?x { BIND (CONCAT("a ", "computed term") AS ?x) }')
    before = [*session.bindings(held), *session.bindings(answer)]
    for batch in range(3, BATCHES):
        session.push(S, lines(batch))
    registered.take()
    assert session.dictionary.generation > 0
    assert [*session.bindings(held), *session.bindings(answer)] == before
    dropped = int(held.rows[0, 0])
    del held
    session.engine.collector.sweep([])
    with pytest.raises(KeyError):
        session.dictionary.decode(dropped)


def test_pins_put_a_sweep_off() -> None:
    dictionary = Dictionary()
    collector = TermCollector(dictionary, 1)
    term_id = dictionary.encode(Iri("http://example.org/a"))
    with dictionary.pins:
        assert collector.is_due()
        assert collector.sweep([]) == 0  # it begins
        assert not collector.is_due()
        assert collector.sweep([]) == 0
    assert collector.is_due()
    assert dictionary.decode(term_id) == Iri("http://example.org/a")
    assert collector.sweep([]) == 1
    assert dictionary.lookup(Literal("x")) == 0
    assert not collector.is_due()


def test_what_is_large_is_gone_through_more_seldom() -> None:
    dictionary = Dictionary()
    collector = TermCollector(dictionary, 1)
    dictionary.encode(Iri("http://example.org/a"))
    assert collector.sweep([np.arange(3_200)]) == 1
    for number in range(99):
        dictionary.encode(Iri(f"http://example.org/a{number}"))
        assert not collector.is_due()
    dictionary.encode(Iri("http://example.org/b"))
    assert collector.is_due()
    assert collector.sweep([]) == 100


def test_readers_that_overlap_for_ever_put_no_sweep_off(names) -> None:
    """There is always a reader, and the terms that no window has any more are dropped all the same."""
    session = freshet.Session(why_elements=100)
    session.engine.collector = TermCollector(session.dictionary, LEAST)
    session.load(names)
    registered = register(session, COMPUTED)
    sizes = []
    with ExitStack() as readers:
        readers.enter_context(session.dictionary.pins)
        for batch in range(BATCHES):
            earlier = readers.pop_all()
            readers.enter_context(session.dictionary.pins)
            session.push(S, lines(batch))
            earlier.close()
            session.push(S, "")
            registered.take()
            sizes.append(len(session.dictionary))
    assert max(sizes) < 2_000  # of 8,000 and more; how many stay depends on when sweeps fall


def test_a_term_that_is_given_out_or_pushed_while_a_sweep_waits_is_kept() -> None:
    session = freshet.Session(why_elements=100)
    session.stream(S)
    dictionary = session.dictionary
    a, b, c, d = (Iri(f"http://example.org/{name}") for name in "abcd")
    with ExitStack() as earlier:
        earlier.enter_context(dictionary.pins)
        ids = {term: dictionary.encode(term) for term in (a, b, c, d)}
        assert dictionary.sweep([]) == 0
        with dictionary.pins:
            assert dictionary.encode(a) == ids[a]
            assert dictionary.lookup(b) == ids[b]
            session.engine.push(S, Elements(*(np.array([number]) for number in (5, *(ids[c],) * 3))))
            dictionary.encode(Iri("http://example.org/new"))
            assert dictionary.sweep([]) == 0
            earlier.close()
            assert dictionary.sweep([]) == 1  # later pins cannot have it
            assert [dictionary.decode(ids[term]) for term in (a, b, c)] == [a, b, c]
            with pytest.raises(KeyError):
                dictionary.decode(ids[d])
    assert dictionary.sweep([]) == 4


def test_threads_that_ask_while_terms_are_swept_find_all_of_theirs() -> None:
    """Readers whose questions overlap, a writer of ever new terms, and a sweep whenever one is possible."""
    session = freshet.Session(why_elements=100)
    session.engine.collector = TermCollector(session.dictionary, 1)
    session.stream(S, keep_ms=6_000)
    asked = (
        f"{PREFIX} SELECT ?s (CONCAT(?o, '?') AS ?t) ?c FROM NAMED WINDOW :w ON :s [RANGE PT4S STEP PT2S]"
        " WHERE { WINDOW :w { ?s :p ?o } BIND (IF(STRLEN(?o) > 4, 'long', 'short') AS ?c) }"
    )
    computed = "SELECT ?x { VALUES ?n { 1 2 3 } BIND (CONCAT('computed ', STR(RAND())) AS ?x) }"
    ended, answered = threading.Event(), threading.Semaphore(0)
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            while not ended.is_set():
                rows = list(session.bindings(session.query(asked)))
                assert all(row["t"].lexical.endswith("?") and row["c"].lexical in ("long", "short") for row in rows)
                assert len(list(session.bindings(session.query(computed)))) == 3
                answered.release()
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    sizes = []
    try:
        for batch in range(4 * BATCHES):
            session.push(S, lines(batch))
            sizes.append(len(session.dictionary))
            assert answered.acquire(timeout=60)
    finally:
        ended.set()
        for thread in threads:
            thread.join(60)
    assert not failures
    assert max(sizes) < 4 * BATCHES * ROWS  # of subjects and objects that came, and all that readers computed


def test_what_is_held_is_found_in_attributes_and_slots_which_stay_where_they_are() -> None:
    log, state = WatermarkLog(), StreamState("s", lateness_ms=77_002)  # the one has a dictionary, the other slots
    log.add(77_001, 640)
    found = {number for ids in reachable_ids([log, state]) for number in ids.tolist()}
    assert {640, 2 * 77_001, 77_002} <= found
    # A dictionary that was asked for once takes the place of the attributes, and all that read them take longer.
    assert not any(isinstance(part, dict) for part in gc.get_referents(log))
    assert "_waiting" in vars(log)
    assert any(isinstance(part, dict) for part in gc.get_referents(log))
    assert {640, 2 * 77_001} <= {number for ids in reachable_ids(log) for number in ids.tolist()}


@pytest.mark.parametrize("query", [PLAIN, GROUPED, STORED, COMPUTED])
def test_room_that_nothing_has_used_yet_keeps_no_terms(query: str, names, monkeypatch) -> None:
    """Memory that Python gives out again has ids of earlier rows in it, which must not count as held."""
    mark, plain = 77_003, np.empty

    def marked(*arguments, **options):
        array = plain(*arguments, **options)
        if array.dtype == np.int64:
            array[...] = mark
        return array

    monkeypatch.setattr(np, "empty", marked)
    session = freshet.Session(why_elements=100)
    session.load(names)
    registered = register(session, query)
    for batch in range(10):
        session.push(S, lines(batch))
        registered.take()
    holders: list[object] = []
    monkeypatch.setattr(session.engine, "collector", collector := TermCollector(session.dictionary, 1))
    monkeypatch.setattr(collector, "sweep", lambda *held: holders.extend(held))
    session.engine.collect_terms()
    assert holders
    assert not any((ids == mark).any() for ids in reachable_ids(*holders))
