"""Clock, feeds and windows against their naive twin: random windows, streams, disorder and batches."""

from __future__ import annotations

import os
from random import Random

import numpy as np
import pytest

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import BGP, Project, Query, QueryForm, TriplePattern
from freshet.algebra.nodes import Window as WindowNode
from freshet.algebra.windows import (
    AllWindow,
    CountWindow,
    EventTimeWindow,
    NowWindow,
    RangeWindow,
    SlidingWindow,
    TriplesWindow,
    WindowDeclaration,
    WindowOperator,
)
from freshet.native.coordinator import Engine
from freshet.native.leaf_buffer import LeafPattern
from freshet.native.stream import StreamState
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.terms import XSD, Iri, Literal
from freshet.store.dataset import StoredDataset
from naive_windows import Line, Stream, derive, moments, receive

S, T = "http://e/s", "http://e/t"
AT = Iri("http://e/at")
ANY_TRIPLE = LeafPattern((0, 0, 0), ((0,), (1,), (2,)))
BLOCKS = 10
EXAMPLES = int(os.environ.get("FRESHET_EXAMPLES", "500")) // 12


class Recorder:
    """A query that keeps the rows of its leaves by increments, and writes down what it has when a report is due."""

    def __init__(self, plan, windows, leaves) -> None:
        self.plan, self.windows, self.leaves = plan, windows, leaves
        self.held = [set() for _ in leaves]
        self.seen = 0
        self.reports = []

    def take_in(self, number: int) -> None:
        for leaf, held in zip(self.leaves, self.held, strict=True):
            held -= {tuple(leaf.values[row].tolist()) for row in leaf.dead(self.seen)}
            held |= {tuple(leaf.values[row].tolist()) for row in leaf.fresh(self.seen)}
            assert held == {tuple(leaf.values[row].tolist()) for row in leaf.live_rows()}
        self.seen = number

    def report(self, time_ms: int) -> None:
        self.reports.append((time_ms, [set(held) for held in self.held], [window.count for window in self.windows]))


class RecordingEngine(Engine):
    def _alone(self, name, plan, timing, on_report, limit_seconds, measurements):
        clock = self._clock(timing)
        windows = [clock.window(window) for window in plan.windows]
        self.recorder = Recorder(plan, windows, [window.leaf(ANY_TRIPLE) for window in windows])
        clock.add(name, self.recorder, timing, limit_seconds)
        return clock, plan


def query_over(windows: list[WindowOperator], period: int | None = None) -> Query:
    declared = tuple(WindowDeclaration(Iri(f"http://e/w{at}"), window) for at, window in enumerate(windows))
    s, p, o = map(Variable, "spo")
    pattern = WindowNode(declared[0].name, BGP((TriplePattern(s, p, o),)))
    return Query(QueryForm.SELECT, Project(pattern, (s,)), windows=declared, period_ms=period)


def random_windows(random: Random) -> list[WindowOperator]:
    def stream() -> Iri:
        return Iri(random.choice([S, T]))

    def small() -> int:
        return random.randint(1, 12)

    closing = [
        lambda: SlidingWindow(stream(), small(), small(), random.choice([0, 0, 3])),
        lambda: EventTimeWindow(stream(), AT, small(), small()),
    ]
    arriving = [lambda: CountWindow(stream(), small(), small()), lambda: EventTimeWindow(stream(), AT, small())]
    following = [
        lambda: RangeWindow(stream(), random.randint(0, 12), random.choice([None, small()])),
        lambda: NowWindow(stream()),
        lambda: TriplesWindow(stream(), small()),
        lambda: AllWindow(stream()),
    ]
    kinds = random.choice([closing, arriving, [*closing, *arriving], following])
    return list(dict.fromkeys(random.choice(kinds)() for _ in range(random.randint(1, 3))))


def random_lines(random: Random, lateness: int, ids: dict[str, list[int]]) -> list[Line]:
    lines: list[Line] = []
    now = random.randint(-5, 20)
    for _ in range(random.randint(0, 30)):
        now += random.choice([0, 0, 1, 1, 2, 5, 30])
        time = now - random.randint(0, lateness + 2) if random.random() < 0.3 else now
        if random.random() < 0.1:
            lines.append((time, None))
            continue
        predicate = random.choice(ids["predicates"])
        objects = ids["times"] if predicate == ids["predicates"][0] else ids["objects"]
        lines.append((time, (random.choice(ids["subjects"]), predicate, random.choice(objects))))
    return lines


def run(engine: Engine, lines: dict[str, list[Line]], random: Random) -> None:
    """Hand the lines of all streams over, in batches by chance."""
    left = {iri: list(given) for iri, given in lines.items()}
    whole = random.random() < 0.2
    while any(left.values()):
        iri = random.choice([iri for iri, given in left.items() if given])
        size = len(left[iri]) if whole else random.choice([1, 1, 2, 5])
        batch, left[iri] = left[iri][:size], left[iri][size:]
        if any(element is None for _, element in batch):
            for line in batch:
                hand_over(engine, iri, [line])
        else:
            hand_over(engine, iri, batch)


def hand_over(engine: Engine, iri: str, lines: list[Line]) -> None:
    if lines[0][1] is None:
        engine.advance(iri, lines[0][0])
        return
    rows = np.array([(time, *element) for time, element in lines], np.int64)
    engine.push(iri, Elements(*(np.ascontiguousarray(column) for column in rows.T)))


def check(seed: int) -> None:
    random = Random(seed)
    dictionary = Dictionary()
    integer = Iri(XSD + "integer")
    times = {dictionary.encode(Literal(str(time), integer)): time for time in range(0, 60, 3)}
    late_evening = Literal("1970-01-01T00:00:00.0079Z", Iri(XSD + "dateTime"))
    times[dictionary.encode(late_evening)] = 7
    ids = {
        "subjects": [dictionary.encode(Iri(f"http://e/{name}")) for name in "ab"],
        "predicates": [dictionary.encode(AT), *(dictionary.encode(Iri(f"http://e/{name}")) for name in "pq")],
        "objects": [dictionary.encode(Literal(str(value))) for value in range(4)],
        "times": [*times, dictionary.encode(Literal("no time"))],
    }
    lateness = {iri: random.choice([0, 0, 4]) for iri in (S, T)}
    lines = {iri: random_lines(random, lateness[iri], ids) for iri in (S, T)}
    base = {iri: receive(lines[iri], lateness[iri]) for iri in (S, T)}

    def stream_of(window: WindowOperator) -> Stream:
        if not isinstance(window, EventTimeWindow):
            return base[window.stream.value]
        at = ids["predicates"][0]
        return derive(
            base[window.stream.value],
            lateness[window.stream.value],
            lambda triple: times.get(triple[2]) if triple[1] == at else None,
            lambda triple: triple[0],
        )

    engine = RecordingEngine(dictionary, StoredDataset(), on_failure=lambda *failure: pytest.fail(str(failure)))
    for iri in (S, T):
        engine.declare(StreamState(iri, lateness[iri]))
    asked = []
    for number in range(random.randint(1, 3)):
        windows = random_windows(random)
        period = random.choice([None, None, random.randint(1, 15)])
        conditions = frozenset(word for word in ("change", "non-empty") if random.random() < 0.2)
        engine.register(f"q{number}", query_over(windows, period), lambda report: None, report=conditions)
        asked.append((windows, period, conditions, engine.recorder))
    run(engine, lines, random)
    engine.finish()
    assert {iri: state.late for iri, state in engine.streams.items()} == {iri: base[iri].dropped for iri in base}
    for windows, period, conditions, recorder in asked:
        streams = {window: stream_of(window) for window in windows}
        wanted = [
            (time, [{triple for _, triple in held} for held in contents], [len(held) for held in contents])
            for time, contents in moments(windows, streams, period=period, conditions=conditions)
        ]
        assert recorder.reports == wanted, f"seed {seed}: {windows}, every {period}, {set(conditions)}\n{lines}"


@pytest.mark.parametrize("block", range(BLOCKS))
def test_clock_equals_its_naive_twin(block: int) -> None:
    for seed in range(block * EXAMPLES, (block + 1) * EXAMPLES):
        check(seed)
