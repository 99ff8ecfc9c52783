"""The native engine: streams in, reports out."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Collection
from typing import Protocol

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Query, TriplePattern
from freshet.algebra.windows import EventTimeWindow
from freshet.native.clock import Clock
from freshet.native.continuous_query import ContinuousQuery
from freshet.native.derived_stream import DerivedStream
from freshet.native.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.lower import lower
from freshet.native.moments import AFTER_ALL_TIME, close_at
from freshet.native.one_way_index import Ids
from freshet.native.plan import Plan
from freshet.native.stream import StreamState
from freshet.native.timing import Timing, source_of, timing_of
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.terms import Iri
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.results.report import Report


class Graphs(Protocol):
    """What the engine needs of the stored graphs. They are named by ids, the default graph by DEFAULT_GRAPH."""

    def elements(self, graph: int = DEFAULT_GRAPH) -> Elements: ...
    def load(self, subjects: Ids, predicates: Ids, objects: Ids, graph: int = DEFAULT_GRAPH) -> Elements: ...
    def absorb(self, elements: Elements) -> None: ...


class Engine:
    """Registered queries over streams and the stored graphs. Calls may come from several threads.

    A query that fails is removed, and `on_failure` gets its name and the reason; the others go on.
    """

    def __init__(
        self, dictionary: Dictionary, graphs: Graphs, on_failure: Callable[[str, str], None] | None = None
    ) -> None:
        self.dictionary = dictionary
        self.streams: dict[str, StreamState] = {}
        self._graphs = graphs
        self._tell_failure = on_failure or _warn
        self._derived: dict[str, DerivedStream] = {}
        self._queries: dict[str, Clock] = {}
        self._clocks_of: dict[str, list[Clock]] = {}  # by the name of a stream, derived ones too
        self._derived_of: dict[str, list[DerivedStream]] = {}
        self._lock = threading.RLock()

    def declare(self, stream: StreamState) -> None:
        """Make a stream known, with its lateness and what it leaves in the stored graph."""
        with self._lock:
            if stream.iri in self.streams:
                raise InputError(f"the stream <{stream.iri}> is declared twice")
            self.streams[stream.iri] = stream
            if stream.absorb is not None:
                for clock in self._clocks():
                    if clock.reads_absorbed:
                        clock.streams.add(stream.iri)
                self._connect()

    @property
    def names(self) -> list[str]:
        """The names of the registered queries."""
        return list(self._queries)

    def register(
        self,
        name: str,
        query: Query,
        on_report: Callable[[Report], None],
        *,
        file: str | None = None,
        report: str | Collection[str] = (),
        every_ms: int | None = None,
        limit_seconds: float | None = None,
    ) -> ContinuousQuery:
        """Keep a continuous query answered from now on, over what comes from now on.

        `report` names conditions for a moment to count: close, change, non-empty. `every_ms` has it computed at
        multiples of a period, as COMPUTED EVERY does. A query that takes longer than `limit_seconds` over one step is
        removed.
        """
        plan = lower(query, file=file)
        if not query.windows:
            raise InputError(f"the query {name} has no window, so it is not continuous", file=file)
        with self._lock:
            if name in self._queries:
                raise InputError(f"a query named {name} is registered already")
            timing = timing_of(query, self.streams, report=report, every_ms=every_ms, file=file)
            self._make_streams(timing)
            clock = self._clock(timing)
            try:
                registered = self._instantiate(name, plan, clock, on_report)
                clock.add(name, registered, timing, limit_seconds)
                self._queries[name] = clock
            finally:
                clock.free()
                self._connect()
            return registered

    def unregister(self, name: str) -> None:
        """Forget a query, and what only it needed."""
        with self._lock:
            if name not in self._queries:
                raise InputError(f"there is no query named {name}")
            self._queries.pop(name).remove(name)
            self._connect()

    def push(self, stream: str, elements: Elements) -> None:
        """Elements of a stream in the order they came."""
        with self._lock:
            state = self._stream(stream)
            elements = state.accept(elements)
            if state.absorb is not None:
                self._absorb(state, elements)
            for clock in self._clocks_of.get(stream, ()):
                clock.push(stream, elements)
            for derived in self._derived_of.get(stream, ()):
                derived.push(elements)
            self._advance(stream)

    def advance(self, stream: str, watermark_ms: int) -> None:
        """Say that everything before a time has come."""
        with self._lock:
            state = self._stream(stream)
            state.watermark_ms = max(state.watermark_ms, watermark_ms)
            self._advance(stream)

    def finish(self) -> None:
        """Say that all streams have ended: every window that has content closes."""
        with self._lock:
            watermarks = {iri: state.watermark_ms for iri, state in self.streams.items()}
            for state in self.streams.values():
                state.watermark_ms = AFTER_ALL_TIME
            for derived in self._derived.values():
                self._release(derived)
                watermarks[derived.state.iri] = derived.state.watermark_ms
                derived.state.watermark_ms = AFTER_ALL_TIME
            for clock in self._clocks():
                clock.finish(watermarks)

    def passed(self) -> dict[str, int]:
        """For each query the last moment up to which everything has been reported."""
        with self._lock:
            return {name: close_at(clock.passed_ms) for name, clock in self._queries.items()}

    def moment(self, name: str) -> int:
        """The moment at which a query is, or was last, reported."""
        return self._queries[name].moment

    def needed_from(self) -> int:
        """The earliest time an element may have that matters to what is yet to be reported."""
        with self._lock:
            return min((clock.needed_from(name) for name, clock in self._queries.items()), default=AFTER_ALL_TIME)

    def load(self, subjects: Ids, predicates: Ids, objects: Ids, graph: int = DEFAULT_GRAPH) -> None:
        """Add triples to a stored graph."""
        with self._lock:
            elements = self._graphs.load(subjects, predicates, objects, graph)
            for clock in self._clocks():
                clock.load(elements, graph)

    def wanted_predicates(self, stream: str) -> frozenset[str] | None:
        """The predicates of a stream that anybody can want; None where every element counts.

        An aggregate without GROUP BY answers as soon as its windows hold anything at all; windows that move with
        every element, or count them, and reports of changes need all of them.
        """
        with self._lock:
            if self._stream(stream).absorb is not None:
                return None
            wanted: set[str] = set()
            for name, clock in self._queries.items():
                query = clock.query(name)
                assert isinstance(query, ContinuousQuery)
                plan = query.plan
                if stream not in {window.stream.value for window in plan.windows if isinstance(window.stream, Iri)}:
                    continue
                if clock.counts_every_element(name):
                    return None
                if plan.window_leaves == 0 or (plan.group is not None and not plan.group.keys):
                    return None
                for leaf in plan.leaves:
                    if leaf.window is None or leaf.window.stream != Iri(stream):
                        continue
                    if not isinstance(leaf.pattern.predicate, Iri):
                        return None
                    wanted.add(leaf.pattern.predicate.value)
            return frozenset(wanted)

    def _stream(self, iri: str) -> StreamState:
        if iri not in self.streams:
            raise InputError(f"there is no stream <{iri}>")
        return self.streams[iri]

    def _state(self, name: str) -> StreamState:
        """The state of a stream, or of a derived one."""
        return self.streams[name] if name in self.streams else self._derived[name].state

    def _make_streams(self, timing: Timing) -> None:
        """Make known the streams that a query reads and nobody has declared."""
        for window in timing.windows:
            assert isinstance(window.stream, Iri)
            base = self.streams.setdefault(window.stream.value, StreamState(window.stream.value))
            source = source_of(window)
            if isinstance(window, EventTimeWindow) and source not in self._derived:
                predicate = self.dictionary.encode(window.predicate)
                self._derived[source] = DerivedStream(source, base, predicate, self.dictionary)

    def _clock(self, timing: Timing) -> Clock:
        """The clock of the streams that a query waits for: those it reads, also by way of the stored graph."""
        streams = set(timing.streams)
        if timing.absorbed:
            streams |= {state.iri for state in self.streams.values() if state.absorb is not None}
        for clock in self._clocks():
            if clock.streams == streams:
                return clock
        return Clock(streams, self._graphs.elements, self._failed)

    def _clocks(self) -> list[Clock]:
        return list(dict.fromkeys(self._queries.values()))

    def _connect(self) -> None:
        """Find out anew which clocks and derived streams each stream feeds; what feeds nobody is let go."""
        clocks: dict[str, list[Clock]] = {}
        for clock in self._clocks():
            for stream in clock.streams:
                clocks.setdefault(stream, []).append(clock)
        self._clocks_of = clocks
        self._derived = {name: derived for name, derived in self._derived.items() if name in clocks}
        self._derived_of = {}
        for derived in self._derived.values():
            self._derived_of.setdefault(derived.base.iri, []).append(derived)
        for clock in self._clocks():
            clock.states = [self._state(stream) for stream in clock.streams]

    def _failed(self, name: str, error: Exception) -> None:
        del self._queries[name]
        self._connect()
        self._tell_failure(
            name, error.message if isinstance(error, FreshetError) else f"{type(error).__name__}: {error}"
        )

    def _absorb(self, state: StreamState, elements: Elements) -> None:
        absorbed = state.absorbed(elements)
        if absorbed is not None and len(absorbed.times):
            self._graphs.absorb(absorbed)
            for clock in self._clocks():
                clock.absorb(absorbed)

    def _advance(self, stream: str) -> None:
        """A stream has come further: let those who wait for it go on."""
        for derived in self._derived_of.get(stream, ()):
            if self._release(derived):
                for clock in self._clocks_of[derived.state.iri]:
                    clock.advance()
        for clock in self._clocks_of.get(stream, ()):
            clock.advance()

    def _release(self, derived: DerivedStream) -> bool:
        elements = derived.release()
        if elements is None:
            return False
        for clock in self._clocks_of[derived.state.iri]:
            clock.push(derived.state.iri, elements)
        return True

    def _instantiate(self, name: str, plan: Plan, clock: Clock, on_report: Callable[[Report], None]) -> ContinuousQuery:
        leaves: list[tuple[LeafBuffer, tuple[str, ...]]] = []
        for leaf in plan.leaves:
            pattern, names = self._leaf_pattern(leaf.pattern)
            home = clock.stored_leaf if leaf.window is None else clock.window(leaf.window).leaf
            leaves.append((home(pattern), names))
        windows = [clock.window(window) for window in plan.windows]
        return ContinuousQuery(name, plan, windows, leaves, self.dictionary, on_report)

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


def _warn(name: str, reason: str) -> None:
    warnings.warn(f"the query {name} failed and was removed: {reason}", stacklevel=2)
