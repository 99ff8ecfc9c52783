"""Windows that adapt: their subwindows are those of mapped joins with one key, however elements come."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

import freshet
from declaring import register
from freshet.algebra.windows import AdaptiveWindow
from freshet.native.s2r.adaptive_window import AdaptiveCounts, Subwindow, SubwindowSequence
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import Iri
from freshet.rml.windows import JoinWindow, WindowKind
from naive_joins import Record, naive
from naive_subwindows import subwindows

S, T = "http://example.org/s", "http://example.org/t"
PREFIX = "PREFIX : <http://example.org/>\n"
JOIN = PREFIX + (
    "REGISTER ISTREAM :q AS SELECT ?v ?u FROM NAMED WINDOW :w ON :s [ADAPTIVE {0} TO {1}]"
    " FROM NAMED WINDOW :x ON :t [ADAPTIVE {0} TO {1}] WHERE {{ WINDOW :w {{ ?x :p ?v }} WINDOW :x {{ ?x :p ?u }} }}"
)


def random_times(random: Random, count: int) -> list[int]:
    """Times in order that come in bursts, with silences."""
    times, now = [], random.randint(-300, 300)
    for _ in range(count):
        now += random.choice([0, 0, 1, 3, 20, 150, 900] + [12_000] * (random.random() < 0.05))
        times.append(now)
    return times


def line(time_ms: int, value: str) -> str:
    return f'{time_ms}\t<http://example.org/a> <http://example.org/p> "{value}" .\n'


@pytest.mark.parametrize("seed", range(40))
def test_subwindows_are_those_of_the_twin_in_any_pieces(seed: int) -> None:
    random = Random(seed)
    lower_ms = random.choice([1, 5, 40, 300])
    window = AdaptiveWindow(Iri(S), lower_ms, lower_ms * random.choice([1, 3, 20, 500]))
    own, other = random_times(random, random.randint(0, 80)), random_times(random, random.randint(1, 80))
    expected = subwindows(own, other, window.lower_ms, window.upper_ms)
    sequence = SubwindowSequence(window)
    ends = sorted(random.choice([*own, *other]) for _ in range(random.randint(0, 9)))
    start_ms = -(2**60)
    found: list[tuple[int, int]] = []
    for end_ms in [*ends, 2**60]:
        pieces = [np.array([time for time in side if start_ms <= time < end_ms], np.int64) for side in (own, other)]
        start_ms = end_ms
        if any(map(len, pieces)):
            sequence.take(*pieces)
        found += [each for each in expected if (last := sequence.at(each[0]))[:2] == each and last.time_ms == each[0]]
        if random.random() < 0.5:
            sequence.forget_before(end_ms - 1)
    assert list(dict.fromkeys(found)) == expected
    counts = sequence.counted()
    assert (counts.subwindows, counts.elements) == (len(expected) - 1, len(own) + len(other))
    assert counts.size_ms == expected[-1][1]


@pytest.mark.parametrize("seed", range(20))
def test_a_sequence_goes_on_from_any_subwindow(seed: int) -> None:
    random = Random(seed)
    window = AdaptiveWindow(Iri(S), 20, 2_000)
    own, other = (np.array(random_times(random, 60), np.int64) for _ in range(2))
    whole = SubwindowSequence(window)
    whole.take(own, other)
    moment_ms = random.choice([*own.tolist(), *other.tolist()])
    again = SubwindowSequence(window, whole.at(moment_ms))
    again.take(own, other)
    for time_ms in (each for each in sorted([*own.tolist(), *other.tolist()]) if each >= moment_ms):
        assert again.at(time_ms) == whole.at(time_ms)


@pytest.mark.parametrize("seed", range(12))
def test_a_join_finds_the_pairs_of_a_mapped_join_with_one_key(seed: int) -> None:
    random = Random(seed)
    lower_ms, upper_ms = random.choice([(5, 900), (50, 5_000), (1, 100)])
    arrivals = [(time, random.randint(0, 1)) for time in random_times(random, 100)]
    records = [Record("k", time, side, f"r{number}") for number, (time, side) in enumerate(arrivals)]
    mapped = JoinWindow(WindowKind.DYNAMIC, size=min(1_000, upper_ms), lower=lower_ms, upper=upper_ms)
    expected = naive(records, mapped, 0).pairs
    session = freshet.Session()
    session.stream(S)
    session.stream(T)
    query = register(session, JOIN.format(lower_ms, upper_ms))
    for record in records:
        session.push((S, T)[record.side], line(record.time, record.name))
    session.finish()
    assert not session.failures
    found = Counter((row["v"].lexical, row["u"].lexical) for report in query.take() for row in session.bindings(report))
    assert found == expected
    assert found.total() > 40


def test_what_is_counted_by_hand() -> None:
    sequence = SubwindowSequence(AdaptiveWindow(Iri(S), 1_000, 4_000))
    assert sequence.counted() == AdaptiveCounts(0, 0, 0, 0, 0, 0)
    sequence.take(np.array([0, 100, 200, 1000]), np.array([300, 900]))
    # 3/2 + 2/2 = 2.5 is too much, but 1 s is the lower limit; the lists are 2 * (1.5 + 0.5) and 2 * (1 + 0.5)
    assert sequence.at(5_000) == Subwindow(1_000, 1_000, 4.0, 3.0)
    sequence.take(np.array([2_500]), np.array([], np.int64))  # 1/4 + 0/3 is too little
    assert sequence.at(5_000) == Subwindow(2_500, 2_000, 3.0, 1.5)
    assert sequence.counted() == AdaptiveCounts(2_000, 2, 1_000, 1_000, 7, 5)


def test_why_finds_the_subwindow_of_a_report() -> None:
    session = freshet.Session()
    session.stream(S)
    session.stream(T)
    query = register(session, JOIN.format(1_000, 4_000))
    for time_ms in (0, 1_500, 1_600):
        session.push(S, line(time_ms, str(time_ms)))
        session.push(T, line(time_ms + 50, str(time_ms + 50)))
    session.finish()
    last = query.take()[-1]
    assert last.time_ms == 1_650
    rows = list(session.bindings(last))
    assert sorted(row["v"].lexical for row in rows) == ["1500", "1600"]
    for at, row in enumerate(rows):
        times = sorted(element.time_ms for element in query.why(last, at).elements)
        assert times == sorted(int(row[name].lexical) for name in "vu")


def test_what_does_not_go_with_it() -> None:
    session = freshet.Session()
    session.stream(S)
    stepped = PREFIX + (
        "REGISTER ISTREAM :q AS SELECT ?v FROM NAMED WINDOW :w ON :s [ADAPTIVE 1s TO 2s]"
        " FROM NAMED WINDOW :x ON :s [COUNT 4 STEP 2] WHERE { WINDOW :w { ?x :p ?v } WINDOW :x { ?x :p ?v } }"
    )
    with pytest.raises(UnsupportedError, match="with a step beside an adaptive window"):
        register(session, stepped)
    timed = PREFIX + (
        "PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#>"
        "SELECT ?v WHERE { STREAM :s [ADAPTIVE 1s TO 2s] { ?x :p ?v FILTER (f:timestamp(?x, :p, ?v) > 5) } }"
    )
    with pytest.raises(UnsupportedError, match="timestamp in a query with an adaptive window"):
        register(session, timed)
