"""Plans over windows of the last n elements in which every arrival is evaluated, and the same from scratch.

A plan is a chain of patterns `?v0 p0 ?v1 . ?v1 p1 ?v2 …`, each over a stream and window of its own, with something on
top of the join. Both ways use the same kernels: `Incremental` takes a batch in and gives what was born and died at each
arrival; `Scratch` fills and indexes all windows anew, joins them wholly, and compares with the answer before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from freshet.algebra.windows import CountWindow
from freshet.kernels import layout
from freshet.native.arrival_leaf import ArrivalLeaf, ArrivalLeaves
from freshet.native.arrival_source import NOTHING_OUT, ArrivalSource
from freshet.native.leaf_buffer import LeafPattern
from freshet.native.moments import AFTER_ALL_TIME
from freshet.native.one_way_index import Ids
from freshet.native.operators.arrival_distinct import ArrivalDistinctOp, TimedRows
from freshet.native.operators.arrival_group import ArrivalEndOp, ArrivalSumsOp, TimedTerms
from freshet.native.operators.arrival_join import ArrivalJoinOp, Timed
from freshet.native.r2s.bags import bag_difference
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri

_PREDICATE = 1_000_000_000
_FREE_VALUES = 1 << 40  # values that hardly ever come twice
_NUMBERS = 1_000_000


class Top(Enum):
    """What stands on top of the join."""

    NOTHING = "all variables"
    AVERAGE = "average of the last variable for each value of the first"
    LEAST = "least of the last variable"
    DISTINCT = "distinct values of the first variable"


@dataclass(frozen=True, slots=True)
class Workload:
    """A chain of patterns over windows of `window` elements with `keys` different values to join on."""

    patterns: int
    window: int
    keys: int
    top: Top = Top.NOTHING
    first_values: int = _FREE_VALUES

    @property
    def variables(self) -> list[str]:
        return [f"v{at}" for at in range(self.patterns + 1)]

    def leaves(self) -> list[ArrivalLeaf]:
        return [
            ArrivalLeaf(
                CountWindow(Iri(stream(at)), self.window),
                LeafPattern((0, _PREDICATE + at, 0), ((0,), (2,))),
                (f"v{at}", f"v{at + 1}"),
            )
            for at in range(self.patterns)
        ]

    def elements(self, random: np.random.Generator, pattern: int, times: Ids) -> Elements:
        """Elements of one stream at the times given."""
        count = len(times)
        subjects = random.integers(1, self.first_values if pattern == 0 else self.keys, count, endpoint=True)
        if pattern < self.patterns - 1:
            objects = random.integers(1, self.keys, count, endpoint=True)
        elif self.top in (Top.AVERAGE, Top.LEAST):
            objects = int(layout.pack(layout.INTEGER, 0)) + random.integers(0, _NUMBERS, count)
        else:
            objects = random.integers(1, _FREE_VALUES, count)
        return Elements(times, subjects, np.full(count, _PREDICATE + pattern), objects)

    def batch(self, random: np.random.Generator, first_ms: int, size: int) -> list[Elements]:
        """A batch of elements, one a millisecond, each in a stream chosen at random."""
        chosen = random.integers(0, self.patterns, size)
        return [self.elements(random, at, first_ms + np.flatnonzero(chosen == at)) for at in range(self.patterns)]


def stream(at: int) -> str:
    return f"http://example.org/stream{at}"


class Incremental:
    """The plan with its state: every batch gives what every arrival changed."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        leaves = workload.leaves()
        self._source = ArrivalSource(leaves)
        self._leaves = ArrivalLeaves(leaves)
        self._join = ArrivalJoinOp(self._leaves, deaths=workload.top is not Top.NOTHING)
        self._homes = self._join.homes(workload.variables)
        self._top = TopOp(workload)

    def run(self, batch: Sequence[Elements]) -> object:
        """Take a batch in, evaluate every arrival."""
        for at, elements in enumerate(batch):
            self._source.receive(stream(at), elements)
        ready = self._source.ready(AFTER_ALL_TIME)
        if ready is None:
            return None
        if self._workload.top is Top.NOTHING:
            rows = self._join.pass_through(self._source, ready, NOTHING_OUT, self._homes)
            return PutOut(rows[:, 1:], rows[:, 0])
        self._leaves.step(self._source.gather(ready), self._source.first)
        born, died = self._join.step(self._source.first, len(self._source.instants))
        put_out = self._top.step(self._join, born, died)
        self._leaves.end_step()
        return put_out


class Scratch:
    """The plan without state, but for the answer before: every batch has all windows filled, indexed and joined."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._contents = [
            workload.elements(np.random.default_rng(0), at, np.empty(0, np.int64)) for at in range(workload.patterns)
        ]
        self.answer = np.empty((0, 0), np.int64)

    def receive(self, batch: Sequence[Elements]) -> None:
        """Note the windows' contents after a batch; what this costs is not counted."""
        for at, more in enumerate(batch):
            joined = (
                np.concatenate(pair)[-self._workload.window :] for pair in zip(self._contents[at], more, strict=True)
            )
            self._contents[at] = Elements(*joined)

    def run(self) -> Ids:
        """Evaluate the plan on the windows' contents; gives what the answer before did not have."""
        leaves = self._workload.leaves()
        source, filled = ArrivalSource(leaves), ArrivalLeaves(leaves)
        for at, content in enumerate(self._contents):
            source.receive(stream(at), content._replace(times=np.zeros(len(content.times), np.int64)))
        arrived = source.take(AFTER_ALL_TIME)
        assert arrived is not None
        filled.step(arrived, 0)
        join = ArrivalJoinOp(filled)
        pointers = join.all(0)
        nothing = Timed(pointers[:0], np.empty(0, np.int64))
        found = TopOp(self._workload).step(join, Timed(pointers, np.zeros(len(pointers), np.int64)), nothing)
        before, self.answer = self.answer, found.rows
        return found.rows if before.shape[1] == 0 else bag_difference(found.rows, before)


class TopOp:
    """What stands on top of the join, by increments."""

    def __init__(self, workload: Workload) -> None:
        self._top = workload.top
        self._variables = workload.variables
        dictionary = Dictionary()
        self._average = ArrivalSumsOp(1, dictionary, mean=True)
        self._least = ArrivalEndOp(0, dictionary, greatest=False)
        self._distinct = ArrivalDistinctOp(1)

    def step(self, join: ArrivalJoinOp, born: Timed, died: Timed) -> PutOut:
        """What a batch changed."""
        if self._top is Top.NOTHING:
            return PutOut(_rows(join, born, self._variables), born.moments)
        if self._top is Top.DISTINCT:
            appeared, _ = self._distinct.step(
                *(TimedRows(_rows(join, part, ["v0"]), part.moments) for part in (born, died))
            )
            return PutOut(*appeared)
        keys = ["v0"] if self._top is Top.AVERAGE else []
        entering, leaving = (
            TimedTerms(_rows(join, part, keys), join.column(part.pointers, self._variables[-1]), part.moments)
            for part in (born, died)
        )
        if self._top is Top.LEAST:
            found = self._least.step(entering, leaving)
            return PutOut(np.column_stack((found.keys, found.terms)), found.moments)
        means = self._average.step(entering, leaving)
        return PutOut(
            np.column_stack((means.keys, means.numbers.high, means.numbers.low.view(np.int64))), means.moments
        )


@dataclass(frozen=True, slots=True)
class PutOut:
    """Rows with the moments at which they became part of the answer."""

    rows: Ids
    moments: Ids


def _rows(join: ArrivalJoinOp, results: Timed, names: Sequence[str]) -> Ids:
    rows = np.empty((len(results.moments), len(names)), np.int64)
    for at, name in enumerate(names):
        rows[:, at] = join.column(results.pointers, name)
    return rows
