"""One element at a time through a join of two windows, each push evaluated before the next.

The windows are over two streams whose elements take turns, one a millisecond, and hold some 500 rows each; an element
meets one row of the other window on average. RSP-QL's windows close at every millisecond, so that every push is an
evaluation, or (open) not at all while it is timed; CQELS-QL's move with every element. On top of the join stands
nothing, a FILTER over both windows or over one, DISTINCT, or fewer variables than are joined: then what goes counts
too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from statistics import median
from typing import NamedTuple

import numpy as np

from freshet.algebra.nodes import StreamOperator
from freshet.algebra.windows import RangeWindow
from freshet.native.arrival_leaf import ArrivalLeaf
from freshet.native.arrival_plan import ArrivalPlan
from freshet.native.arrival_query import ArrivalQuery
from freshet.native.leaf_buffer import LeafPattern
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError
from freshet.rdf.terms import Iri
from freshet.results.report import Report
from freshet.runtime.session import Session
from freshet_benchmarks.arrival_workloads import Scratch, Workload
from freshet_benchmarks.figures import Baseline, Figure

PUSHES = 4_000
WARM_PUSHES = 2_000
ROWS = 500
FROM_SCRATCH = "from scratch each push"
_BASE = "http://example.org/"
_STREAMS = (_BASE + "s", _BASE + "t")
_PREDICATES = (_BASE + "p", _BASE + "q")

_RSP_QL = """
PREFIX : <http://example.org/>
REGISTER {output} <closing> AS SELECT {select}
FROM NAMED WINDOW <w> ON :s [RANGE PT1S STEP {step}]
FROM NAMED WINDOW <v> ON :t [RANGE PT1S STEP {step}]
WHERE {{ WINDOW <w> {{ ?a :p ?b }} WINDOW <v> {{ ?b :q ?c }} }}
"""
_CQELS_QL = """
PREFIX : <http://example.org/>
SELECT {select} WHERE {{
    STREAM :s [RANGE 1000ms] {{ ?a :p ?b }} STREAM :t [RANGE 1000ms] {{ ?b :q ?c }} {where}
}}
"""


class Variant(NamedTuple):
    """A query under its figure's name, and whether the pushes that are timed make it report."""

    name: str
    query: str
    reports: bool = True


VARIANTS = (
    Variant("push_closing_windows", _RSP_QL.format(output="ISTREAM", select="?a ?b ?c", step="PT0.001S")),
    Variant("push_closing_windows_rstream", _RSP_QL.format(output="RSTREAM", select="?a ?b ?c", step="PT0.001S")),
    Variant("push_open_windows", _RSP_QL.format(output="ISTREAM", select="?a ?b ?c", step="PT1H"), reports=False),
    Variant("push_arrival_windows", _CQELS_QL.format(select="?a ?b ?c", where="")),
    Variant("push_arrival_windows_filter", _CQELS_QL.format(select="?a ?b ?c", where="FILTER(?a != ?c)")),
    Variant("push_arrival_windows_leaf_filter", _CQELS_QL.format(select="?a ?b ?c", where="FILTER(?a != :k1)")),
    Variant("push_arrival_windows_distinct", _CQELS_QL.format(select="DISTINCT ?a ?c", where="")),
    Variant("push_arrival_windows_projected", _CQELS_QL.format(select="?a ?c", where="")),
)

Push = Callable[[str, Elements], object]


def push_figures(pushes: int = PUSHES) -> Sequence[Figure]:
    """The median microseconds of a push, for each kind of window and of what stands on top of the join."""
    baseline = Baseline(FROM_SCRATCH, _from_scratch_microseconds())
    medians = {variant.name: _session_microseconds(variant, pushes) for variant in VARIANTS}
    medians["push_batch_of_one"] = _batch_of_one_microseconds(pushes)
    return [Figure(f"{name}_microseconds", taken, "µs", baseline) for name, taken in medians.items()]


def _session_microseconds(variant: Variant, pushes: int) -> float:
    session = Session()
    rows: list[int] = []

    def take(report: Report) -> None:
        rows.append(len(report.rows))

    session.register(variant.query, on_report=take)
    found = _median_microseconds(session.push, session.dictionary, pushes)
    if bool(rows) != variant.reports:
        raise FreshetError(f"the pushes of {variant.name} gave {len(rows)} reports")
    return found


def _batch_of_one_microseconds(pushes: int) -> float:
    """Through the operators for batches of arrivals, as batches of one."""
    dictionary = Dictionary()
    leaves = [
        ArrivalLeaf(
            RangeWindow(Iri(stream), 1_000),
            LeafPattern((0, dictionary.encode(Iri(predicate)), 0), ((0,), (2,))),
            names,
        )
        for stream, predicate, names in zip(_STREAMS, _PREDICATES, (("a", "b"), ("b", "c")), strict=True)
    ]
    query = ArrivalQuery(leaves, ArrivalPlan((), (), ("a", "b", "c"), False, StreamOperator.ISTREAM), dictionary)

    def push(stream: str, elements: Elements) -> None:
        query.receive(stream, elements)
        query.advance(int(elements.times[0]) + 1)

    return _median_microseconds(push, dictionary, pushes)


def _median_microseconds(push: Push, dictionary: Dictionary, pushes: int) -> float:
    coming = _elements(dictionary)
    for stream, elements in islice(coming, WARM_PUSHES):
        push(stream, elements)
    taken = []
    for stream, elements in islice(coming, pushes):
        began = time.perf_counter_ns()
        push(stream, elements)
        taken.append(time.perf_counter_ns() - began)
    return median(taken) / 1_000


def _elements(dictionary: Dictionary) -> Iterator[tuple[str, Elements]]:
    """Elements one by one, encoded, of the two streams by turns."""
    random = np.random.default_rng(3)
    keys = np.array([dictionary.encode(Iri(f"{_BASE}k{number}")) for number in range(ROWS)])
    predicates = [dictionary.encode(Iri(predicate)) for predicate in _PREDICATES]
    for at in count():
        turn = at % 2
        ends = keys[random.integers(0, ROWS, 2)]
        yield _STREAMS[turn], Elements(np.array([at]), ends[:1], np.array([predicates[turn]]), ends[1:])


def _from_scratch_microseconds() -> float:
    workload = Workload(2, ROWS, ROWS)
    scratch = Scratch(workload)
    scratch.receive(workload.batch(np.random.default_rng(3), 0, 3 * ROWS))
    taken = []
    for _ in range(200):
        began = time.perf_counter_ns()
        scratch.run()
        taken.append(time.perf_counter_ns() - began)
    return median(taken) / 1_000
