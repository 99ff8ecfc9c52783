"""Query groups, feeds and windows against their naive twin: random windows, streams, disorder and batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

import numpy as np
import pytest

from counts import count
from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import BGP, Project, Query, QueryForm, TriplePattern
from freshet.algebra.nodes import Window as WindowNode
from freshet.algebra.windows import (
    AdaptiveWindow,
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
from freshet.native.buffers.leaf_buffer import LeafPattern
from freshet.native.change import MomentBatch
from freshet.native.engine import Engine
from freshet.native.moments import BEFORE_ALL_TIME, time_of
from freshet.native.r2s.relation_to_stream import Answers
from freshet.native.streams.stream import StreamState
from freshet.native.timing import Counted
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.terms import XSD, Iri, Literal
from freshet.store.dataset import StoredDataset
from naive_windows import Line, Stream, derive, moments, receive

S, T = "http://e/s", "http://e/t"
AT = Iri("http://e/at")
ANY_TRIPLE = LeafPattern((0, 0, 0), ((0,), (1,), (2,)))
BLOCKS = 10
EXAMPLES = count(500, "FRESHET_EXAMPLES") // 12


class Recorder:
    """A query that follows the rows of its leaves, and writes down what lives at each evaluation."""

    def __init__(self, plan, windows, leaves) -> None:
        self.plan, self.windows, self.leaves = plan, windows, leaves
        self.rests = False
        self.held = [set() for _ in leaves]
        self.reports = []
        self.compared = []  # each report with the one before it, as R2S compares them

    def evaluate(self, batch: MomentBatch, total) -> Answers:
        lives = [self._lives(leaf, held, batch) for leaf, held in zip(self.leaves, self.held, strict=True)]
        for moment, held in zip(batch.due.tolist(), total.tolist(), strict=True):
            contents = [{row for row, born, died in rows if born <= moment < died} for rows in lives]
            counts = [_held_at(window, moment) for window in self.windows]
            assert sum(counts) == held
            before = self.reports[-1][1] if self.reports and any(self.reports[-1][1]) else None
            self.reports.append((time_of(moment), contents, counts))
            self.compared.append((moment, before, self.reports[-1]))
        return Answers(np.empty(0, np.int64), np.empty((0, 0), np.int64))

    def _lives(self, leaf, held, batch):
        """All rows that live in a batch, each with its life; before it lived those that are held."""
        fresh, dead = leaf.fresh(batch.number).tolist(), leaf.dead(batch.number).tolist()
        assert all(batch.first <= leaf.born[row] <= batch.last for row in fresh)
        assert all(batch.first <= leaf.died[row] <= batch.last for row in dead)
        rows = {*leaf.live_rows().tolist(), *fresh, *dead}
        lives = [(tuple(leaf.values[row].tolist()), int(leaf.born[row]), int(leaf.died[row])) for row in rows]
        assert held == {row for row, born, _ in lives if born < batch.first}
        held.clear()
        held |= {tuple(leaf.values[row].tolist()) for row in leaf.live_rows()}
        return lives


class RecordingEngine(Engine):
    one_by_one = False  # whether each evaluation is a batch of its own, as where data are remote

    def __init__(self, *given):
        super().__init__(*given)
        self._placement._with_own_plan = self._recorded

    def _recorded(self, asked):
        group, plan = self._placement._group(asked.timing), asked.plan
        group._one_by_one = self.one_by_one
        with group.registering(asked.timing):
            windows = [group.window(window) for window in plan.windows]
            self.recorder = Recorder(plan, windows, [window.leaf(ANY_TRIPLE) for window in windows])
            group.add(asked.name, self.recorder, asked.timing, asked.limits)
        return group, plan


def _held_at(window, moment: int) -> int:
    """How many elements a window has at a moment of the present batch."""
    entered, left = (int(np.searchsorted(each, moment, side="right")) for each in (window.entering, window.leaving))
    return window.held_before + entered - left


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

    def adaptive() -> AdaptiveWindow:
        lower = small()
        return AdaptiveWindow(stream(), lower, lower * random.choice([1, 2, 8]))

    closing = [
        lambda: SlidingWindow(stream(), small(), small(), random.choice([0, 0, 3]), random.choice([0, 0, 4, 13])),
        lambda: EventTimeWindow(stream(), AT, small(), small()),
    ]
    arriving = [lambda: CountWindow(stream(), small(), small()), lambda: EventTimeWindow(stream(), AT, small())]
    following = [
        lambda: RangeWindow(stream(), random.randint(0, 12)),
        lambda: RangeWindow(stream(), small(), tumbling=True),
        lambda: NowWindow(stream()),
        lambda: TriplesWindow(stream(), small()),
        lambda: AllWindow(stream()),
    ]
    if random.random() < 0.3:
        following.append(adaptive)
        arriving = [adaptive, adaptive, lambda: CountWindow(stream(), small()), arriving[1]]
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


Batch = tuple[str, list[Line]]


def batches_of(lines: dict[str, list[Line]], random: Random) -> list[Batch]:
    """The lines of all streams in batches by chance; one that moves the watermark is alone."""
    left = {iri: list(given) for iri, given in lines.items()}
    whole = random.random() < 0.2
    batches: list[Batch] = []
    while any(left.values()):
        iri = random.choice([iri for iri, given in left.items() if given])
        size = len(left[iri]) if whole else random.choice([1, 1, 2, 5])
        batch, left[iri] = left[iri][:size], left[iri][size:]
        if any(element is None for _, element in batch):
            batches += [(iri, [line]) for line in batch]
        else:
            batches.append((iri, batch))
    return batches


def hand_over(engine: Engine, iri: str, lines: list[Line]) -> None:
    if lines[0][1] is None:
        engine.advance(iri, lines[0][0])
        return
    rows = np.array([(time, *element) for time, element in lines], np.int64)
    engine.push(iri, Elements(*(np.ascontiguousarray(column) for column in rows.T)))


@dataclass(frozen=True)
class Asked:
    """A query that a world asks."""

    windows: list[WindowOperator]
    period: int | None
    conditions: frozenset[str]


class World:
    """Two streams, and some queries over them."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random = Random(seed)
        self.dictionary = dictionary = Dictionary()
        integer, date_time = Iri(XSD + "integer"), Iri(XSD + "dateTime")
        self.times = {dictionary.encode(Literal(str(time), integer)): time for time in range(0, 60, 3)}
        self.times[dictionary.encode(Literal("1970-01-01T00:00:00.0079Z", date_time))] = 7
        ids = {
            "subjects": [dictionary.encode(Iri(f"http://e/{name}")) for name in "ab"],
            "predicates": [dictionary.encode(AT), *(dictionary.encode(Iri(f"http://e/{name}")) for name in "pq")],
            "objects": [dictionary.encode(Literal(str(value))) for value in range(4)],
            "times": [*self.times, dictionary.encode(Literal("no time"))],
        }
        self.at = ids["predicates"][0]
        self.lateness = {iri: random.choice([0, 0, 4]) for iri in (S, T)}
        self.lines = {iri: random_lines(random, self.lateness[iri], ids) for iri in (S, T)}
        self.received = {iri: receive(self.lines[iri], self.lateness[iri]) for iri in (S, T)}
        self.asked = [
            Asked(
                random_windows(random),
                random.choice([None, None, random.randint(1, 15)]),
                frozenset(word for word in ("change", "non-empty") if random.random() < 0.2),
            )
            for _ in range(random.randint(1, 3))
        ]

    def engine(
        self, counted: Mapping[str, Counted] = MappingProxyType({}), *, one_by_one: bool = False
    ) -> tuple[Engine, list[Recorder]]:
        engine = RecordingEngine(self.dictionary, StoredDataset(), lambda *failure: pytest.fail(str(failure)))
        engine.one_by_one = one_by_one
        engine.go_on_counting(counted)
        for iri in (S, T):
            engine.declare(StreamState(iri, self.lateness[iri]))
        recorders = []
        for at, asked in enumerate(self.asked):
            engine.register(f"q{at}", query_over(asked.windows, asked.period), print, report=asked.conditions)
            recorders.append(engine.recorder)
        return engine, recorders

    def stream_of(self, window: WindowOperator) -> Stream:
        base, lateness = self.received[window.stream.value], self.lateness[window.stream.value]
        if not isinstance(window, EventTimeWindow):
            return base

        def time_of(triple: tuple[int, int, int]) -> int | None:
            return self.times.get(triple[2]) if triple[1] == self.at else None

        return derive(base, lateness, time_of, lambda triple: triple[0])

    def __repr__(self) -> str:
        return f"World({self.seed}): {self.asked}\n{self.lines}"


def check(seed: int, *, one_by_one: bool = False) -> None:
    world = World(seed)
    if one_by_one:
        world.asked = world.asked[:1]  # such a query has its group for itself
    engine, recorders = world.engine(one_by_one=one_by_one)
    for iri, lines in batches_of(world.lines, world.random):
        hand_over(engine, iri, lines)
    engine.finish()
    assert {iri: state.late for iri, state in engine.streams.items()} == {
        iri: stream.dropped for iri, stream in world.received.items()
    }
    for asked, recorder in zip(world.asked, recorders, strict=True):
        streams = {window: world.stream_of(window) for window in asked.windows}
        wanted = [
            (time, [{triple for _, triple in held} for held in contents], [len(held) for held in contents])
            for time, contents in moments(asked.windows, streams, period=asked.period, conditions=asked.conditions)
        ]
        assert recorder.reports == wanted, f"{asked}\n{world}"


def check_restart(seed: int) -> None:
    """What a killed run has logged is enough to go on, and to tell which reports were made before."""
    world = World(seed)
    batches = batches_of(world.lines, world.random)
    kill = world.random.randint(0, max(0, len(batches) - 1))
    engine, recorders = world.engine()
    log: list[tuple[dict[str, int], Batch]] = []
    needed, passed, counted = BEFORE_ALL_TIME, {}, {}
    for at, (iri, lines) in enumerate(batches):
        if at <= kill:  # a batch is logged before it is taken
            needed, passed, counted = engine.needed_from(), engine.passed(), engine.counted()
            log.append(({iri: state.watermark_ms for iri, state in engine.streams.items()}, (iri, lines)))
        hand_over(engine, iri, lines)
    engine.finish()
    again, repeated = world.engine(counted)
    for watermarks, (iri, lines) in log:
        for stream, watermark in watermarks.items():
            again.advance(stream, watermark)
        if max(time for time, _ in lines) >= needed:
            hand_over(again, iri, lines)
    for iri, lines in batches[kill + 1 :]:
        hand_over(again, iri, lines)
    again.finish()
    for at, (recorder, repeater) in enumerate(zip(recorders, repeated, strict=True)):
        wanted = [made for made in recorder.compared if made[0] > passed.get(f"q{at}", BEFORE_ALL_TIME)]
        found = [made for made in repeater.compared if made[0] > passed.get(f"q{at}", BEFORE_ALL_TIME)]
        assert found == wanted, f"q{at}, killed in batch {kill} of {batches}, needed {needed}, passed {passed}\n{world}"


@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_group_equals_its_naive_twin(block: int) -> None:
    for seed in range(block * EXAMPLES, (block + 1) * EXAMPLES):
        check(seed)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_each_evaluation_can_be_a_batch_of_its_own(block: int) -> None:
    for seed in range(block * EXAMPLES // 2, (block + 1) * EXAMPLES // 2):
        check(seed, one_by_one=True)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_restart_loses_and_repeats_nothing(block: int) -> None:
    for seed in range(block * EXAMPLES, (block + 1) * EXAMPLES):
        check_restart(seed)


@pytest.mark.parametrize("step", [1, 3])
def test_where_windows_begin_is_the_same_whenever_it_is_asked_for(step):
    """Between two questions enough elements come for the times of early ones to be dropped."""
    rows = [Elements(*(np.array([value]) for value in (time, 1, 2, 3))) for time in range(1, 1500)]
    query = Query(
        QueryForm.SELECT,
        Project(WindowNode(Iri("http://e/w"), BGP((TriplePattern(*map(Variable, "spo")),))), (Variable("s"),)),
        windows=(WindowDeclaration(Iri("http://e/w"), CountWindow(Iri(S), 4, step)),),
    )
    asked_always, asked_once = (Engine(Dictionary(), StoredDataset()) for _ in range(2))
    for engine in (asked_always, asked_once):
        engine.declare(StreamState(S))
        engine.register("q", query, on_report=lambda report: None)
    found = []
    for elements in rows:
        for engine in (asked_always, asked_once):
            engine.push(S, elements)
        found.append((asked_always.needed_from(), asked_always.counted()))
    assert (asked_once.needed_from(), asked_once.counted()) == found[-1]
    assert found[-1][0] > 1400
