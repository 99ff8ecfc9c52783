"""`freshet bench joins`: registered joins that a hash of keys does not help, beside the plain way.

A window of 10,000 numbers, and elements of another stream, each of which finds the few numbers that are less than 5
away from its own. The baseline is the same query with its condition in COALESCE, which hides it: every pair is tested.
And a join of three windows, in which one key has 20,000 partners in one window and none in another: the baseline is an
element of an ordinary key. Rates are by processor time of all threads, latencies by the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, cycle, islice, repeat

import numpy as np

from freshet.rdf.elements import Elements
from freshet.rdf.terms import XSD, Iri, Literal
from freshet.rdf.values import Ids
from freshet.runtime.session import Session
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.registered import Throughput, one_element_figures, push_batch, register, throughput

EX = "http://example.org/"
WINDOW = 10_000
PARTNERS = 20_000
APART = 50  # the mean distance of two numbers of a window

_CLOSE = "?a > ?b - 5 && ?a < ?b + 5"
_RANGE = f"""PREFIX : <{EX}> REGISTER ISTREAM :range AS SELECT ?x ?y ?a ?b
FROM NAMED WINDOW :v ON :left [COUNT %d] FROM NAMED WINDOW :w ON :right [COUNT %d]
WHERE {{ WINDOW :v {{ ?x :p ?a }} WINDOW :w {{ ?y :p ?b }} FILTER (%s) }}"""
_SKEW = f"""PREFIX : <{EX}> REGISTER ISTREAM :skew AS SELECT ?x ?y ?z ?w
FROM NAMED WINDOW :a ON :first [COUNT %d] FROM NAMED WINDOW :b ON :second [COUNT %d]
FROM NAMED WINDOW :c ON :third [COUNT %d]
WHERE {{ WINDOW :a {{ ?x :p ?y }} WINDOW :b {{ ?y :p ?z }} WINDOW :c {{ ?y :p ?w }} }}"""


def joins_figures(
    window: int = WINDOW, partners: int = PARTNERS, seconds: float = 2.0, singles: int = 1_000
) -> Sequence[Figure]:
    """Run the benchmark."""
    _range_join(min(window, 100), _CLOSE, 0.0)  # compiles what is not compiled yet
    found, plain = _range_join(window, _CLOSE, seconds), _range_join(window, f"COALESCE({_CLOSE}, false)", seconds)
    heavy, ordinary = _skewed_join(partners, singles)
    return [
        Figure(
            "range_join_elements_per_second",
            found.elements_per_second,
            "elements/s",
            Baseline("every pair is tested", plain.elements_per_second),
        ),
        Figure("range_join_rows_per_element", found.rows / found.elements, "rows"),
        Figure(
            "skewed_join_one_element_microseconds", heavy, "µs", Baseline("an element of an ordinary key", ordinary)
        ),
        Figure("window_rows", window, "rows"),
        Figure("partners_of_the_key", partners, "rows"),
    ]


def _range_join(window: int, condition: str, seconds: float) -> Throughput:
    """Batches of 100 elements, after a window that is full."""
    session = Session()
    with session.dictionary.pins:  # the batches hold terms that nothing else does yet
        query = register(session, _RANGE % (window, window, condition))
        dice = np.random.default_rng(7)
        push_batch(session, {EX + "left": _numbers(session, dice, window, window, 0)})
        session.advance(EX + "left", 1 << 40)
        batches = ({EX + "right": _numbers(session, dice, window, 100, 100 * number)} for number in count(1))
        for batch in islice(batches, 3):
            push_batch(session, batch)
        return throughput(session, [query], batches, seconds=seconds)


def _numbers(session: Session, dice: np.random.Generator, window: int, size: int, first: int) -> Elements:
    dictionary = session.dictionary
    subjects = dictionary.encode_many([Iri(f"{EX}n{first + at}") for at in range(size)])
    numbers = dice.integers(0, window * APART, size).tolist()
    objects = dictionary.encode_many([Literal(str(number), Iri(XSD + "integer")) for number in numbers])
    predicates = np.full(size, dictionary.encode(Iri(EX + "p")))
    return Elements(np.arange(first, first + size), subjects, predicates, objects)


def _skewed_join(partners: int, singles: int) -> tuple[float, float]:
    """How long an element takes whose key has many partners in one window, and one whose key has one in each."""
    session = Session()
    with session.dictionary.pins:
        query = register(session, _SKEW % (1_000, 2 * partners, 2 * partners))
        encode = session.dictionary.encode
        p, hub = encode(Iri(EX + "p")), encode(Iri(EX + "hub"))
        others = session.dictionary.encode_many([Iri(f"{EX}o{number}") for number in range(partners)])
        again, predicates = np.full(partners, hub), np.full(partners, p)
        push_batch(session, {EX + "second": Elements(np.zeros(partners, np.int64), again, predicates, others)})
        push_batch(
            session, {EX + "second": Elements(np.zeros(partners // 2, np.int64), *_pairs(others, p, partners // 2))}
        )
        push_batch(session, {EX + "third": Elements(np.zeros(partners, np.int64), *_pairs(others, p, partners))})
        times, warm = count(1), singles // 10
        streams = [EX + name for name in ("first", "second", "third")]
        found = []
        for keys in (repeat(hub), cycle(others.tolist())):
            elements = ({streams[0]: _element(next(times), p, p, key)} for key in keys)
            taken = one_element_figures("join", session, query, streams, elements, count=singles, warm=warm)
            found.append(taken[0].value)
    return found[0], found[1]


def _pairs(ids: Ids, predicate: int, size: int) -> tuple[Ids, Ids, Ids]:
    return ids[:size], np.full(size, predicate), ids[:size]


def _element(time_ms: int, subject: int, predicate: int, object_: int) -> Elements:
    return Elements(*(np.array([value]) for value in (time_ms, subject, predicate, object_)))
