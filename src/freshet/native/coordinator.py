"""The native engine: streams in, reports out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Query, TriplePattern
from freshet.native.clock import Clock
from freshet.native.continuous_query import ContinuousQuery
from freshet.native.forgetting import Forgetting, HoldsIds
from freshet.native.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.lower import lower
from freshet.native.one_way_index import Ids
from freshet.native.plan import Plan
from freshet.native.stream import AFTER_ALL_TIME, BEFORE_ALL_TIME, StreamState
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri
from freshet.results.report import Report


class Graph(Protocol):
    """What the engine needs of the stored graph."""

    def elements(self) -> Elements: ...
    def load(self, subjects: Ids, predicates: Ids, objects: Ids) -> Elements: ...
    def absorb(self, elements: Elements) -> None: ...
    def held_ids(self) -> Iterable[Ids]: ...


class Engine:
    """Registered queries over streams and the stored graph. Calls may come from several threads."""

    def __init__(self, dictionary: Dictionary, graph: Graph, holders: Sequence[HoldsIds] = ()) -> None:
        self.dictionary = dictionary
        self.forgetting = Forgetting(dictionary)
        self._holders = (graph, *holders)  # of ids outside the engine
        self.streams: dict[str, StreamState] = {}
        self._graph = graph
        self._clocks: dict[frozenset[str], Clock] = {}
        self._queries: dict[str, Clock] = {}
        self._lock = threading.RLock()

    def declare(self, stream: StreamState) -> None:
        """Make a stream known, with its lateness and what it leaves in the stored graph."""
        with self._lock:
            if stream.iri in self.streams:
                raise InputError(f"the stream <{stream.iri}> is declared twice")
            if stream.absorb is not None and self._queries:
                raise InputError(f"declare <{stream.iri}>, which is absorbed, before registering queries")
            self.streams[stream.iri] = stream

    @property
    def names(self) -> list[str]:
        """The names of the registered queries."""
        return list(self._queries)

    def register(
        self, name: str, query: Query, on_report: Callable[[Report], None], *, file: str | None = None
    ) -> ContinuousQuery:
        """Keep a continuous query answered from now on."""
        plan = lower(query, file=file)
        if not plan.windows:
            raise InputError(f"the query {name} has no window, so it is not continuous", file=file)
        with self._lock:
            if name in self._queries:
                raise InputError(f"a query named {name} is registered already")
            for window in plan.windows:
                self.streams.setdefault(window.stream.value, StreamState(window.stream.value))
            streams = frozenset(self._streams_of(plan))
            if streams not in self._clocks:
                self._clocks[streams] = Clock(streams, self._graph.elements())
            clock = self._queries[name] = self._clocks[streams]
            clock.queries[name] = registered = self._instantiate(name, plan, clock, on_report)
            return registered

    def unregister(self, name: str) -> None:
        with self._lock:
            clock = self._queries.pop(name)
            del clock.queries[name]
            if not clock.queries:
                del self._clocks[clock.streams]

    def push(self, stream: str, elements: Elements) -> None:
        """Elements of a stream in the order they came."""
        with self._lock:
            state = self._stream(stream)
            elements = state.accept(elements)
            absorbed = state.absorbed(elements)
            if absorbed is not None:
                self._graph.absorb(absorbed)
            for clock in self._clocks_of(stream):
                clock.push(stream, elements, absorbed)
                self._advance(clock)
            self.forget()

    def forget(self) -> None:
        """Drop terms that nothing holds any more, if it is time to."""
        if self.forgetting.is_due():
            with self._lock:
                self.forgetting.sweep([*self._holders, self, *self._clocks.values()])

    def held_ids(self) -> Iterator[Ids]:
        """The ids of predicates that streams leave in the stored graph."""
        for state in self.streams.values():
            yield np.fromiter(state.absorb or (), np.int64)

    def advance(self, stream: str, watermark_ms: int) -> None:
        """Say that everything before a time has come."""
        with self._lock:
            state = self._stream(stream)
            state.watermark_ms = max(state.watermark_ms, watermark_ms)
            for clock in self._clocks_of(stream):
                self._advance(clock)

    def finish(self) -> None:
        """Say that all streams have ended: every window that has content closes."""
        with self._lock:
            for state in self.streams.values():
                state.watermark_ms = AFTER_ALL_TIME
            for clock in self._clocks.values():
                clock.finish()

    def passed(self) -> dict[str, int]:
        """For each query the time up to which all its windows have been reported."""
        with self._lock:
            return {name: clock.passed_ms for name, clock in self._queries.items()}

    def needed_from(self, passed: dict[str, int]) -> int:
        """The earliest time an element may have that matters to closes after `passed`, or to the evaluation before."""
        with self._lock:
            return min(
                (
                    passed.get(name, BEFORE_ALL_TIME) - clock.longest_memory_ms()
                    for name, clock in self._queries.items()
                ),
                default=AFTER_ALL_TIME,
            )

    def load(self, subjects: Ids, predicates: Ids, objects: Ids) -> None:
        """Add triples to the stored default graph."""
        with self._lock:
            elements = self._graph.load(subjects, predicates, objects)
            for clock in self._clocks.values():
                clock.load(elements)

    def wanted_predicates(self, stream: str) -> frozenset[str] | None:
        """The predicates of a stream that anybody can want; None where every element counts.

        An aggregate without GROUP BY answers as soon as its windows hold anything at all.
        """
        with self._lock:
            if self._stream(stream).absorb is not None:
                return None
            wanted: set[str] = set()
            for clock in self._clocks.values():
                for query in clock.queries.values():
                    plan = query.plan
                    if stream not in {window.stream.value for window in plan.windows}:
                        continue
                    if plan.window_leaves == 0 or (plan.group is not None and not plan.group.keys):
                        return None
                    for leaf in plan.leaves:
                        if leaf.window is None or leaf.window.stream.value != stream:
                            continue
                        if not isinstance(leaf.pattern.predicate, Iri):
                            return None
                        wanted.add(leaf.pattern.predicate.value)
            return frozenset(wanted)

    def _stream(self, iri: str) -> StreamState:
        if iri not in self.streams:
            raise InputError(f"there is no stream <{iri}>")
        return self.streams[iri]

    def _streams_of(self, plan: Plan) -> set[str]:
        """The streams whose progress a query waits for: those it reads, also by way of the stored graph."""
        streams = {window.stream.value for window in plan.windows}
        if any(leaf.window is None for leaf in plan.leaves):
            streams |= {state.iri for state in self.streams.values() if state.absorb is not None}
        return streams

    def _clocks_of(self, stream: str) -> list[Clock]:
        return [clock for clock in self._clocks.values() if stream in clock.streams]

    def _advance(self, clock: Clock) -> None:
        clock.advance(min(self.streams[stream].watermark_ms for stream in clock.streams))

    def _instantiate(self, name: str, plan: Plan, clock: Clock, on_report: Callable[[Report], None]) -> ContinuousQuery:
        leaves: list[tuple[LeafBuffer, tuple[str, ...]]] = []
        for leaf in plan.leaves:
            pattern, names = self._leaf_pattern(leaf.pattern)
            home = clock.stored_leaf if leaf.window is None else clock.window(leaf.window).leaf
            leaves.append((home(pattern), names))
        windows = [clock.window(window) for window in plan.windows]

        def deliver(report: Report) -> None:
            self.forgetting.keep(report)
            on_report(report)

        return ContinuousQuery(name, plan, windows, leaves, self.dictionary, deliver)

    def _leaf_pattern(self, pattern: TriplePattern) -> tuple[LeafPattern, tuple[str, ...]]:
        ends = (pattern.subject, pattern.predicate, pattern.object)
        places: dict[str, tuple[int, ...]] = {}
        constants = [0, 0, 0]
        for at, end in enumerate(ends):
            if isinstance(end, Variable):
                places[end.name] = (*places.get(end.name, ()), at)
            else:
                constants[at] = self.dictionary.encode(end)
        subject, predicate, object_ = constants
        return LeafPattern((subject, predicate, object_), tuple(places.values())), tuple(places)
