"""Which groups each stream feeds, by itself and by way of streams that are derived from it.

A stream may be derived in four ways: its elements with the time that a predicate gives (`DerivedStream`), with their
own times as terms (`TimedStream`), with the graphs that they are in (`GraphStream`), or the answers of a query that
reads it (`ConstructedStream`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.nodes import Query
from freshet.algebra.windows import EventTimeWindow, WindowDeclaration
from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME
from freshet.native.query_group import QueryGroup
from freshet.native.s2r.waiting import ELEMENT_BYTES
from freshet.native.service.service_thread import ServiceQueryThread
from freshet.native.streams.constructed_stream import ConstructedStream
from freshet.native.streams.derived_stream import DerivedStream
from freshet.native.streams.element_log import ElementLog
from freshet.native.streams.graph_stream import GraphNodes, GraphStream, graph_stream_names, is_of_graphs
from freshet.native.streams.stream import StreamState
from freshet.native.streams.timed_stream import TimedStream, base_name
from freshet.native.timing import Timing, source_of
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import Iri

AnyGroup = QueryGroup | ServiceQueryThread
AnyDerived = DerivedStream | TimedStream | GraphStream


class StreamRouter:
    """Streams and the groups that wait for them. What feeds no group is dropped when they are connected anew."""

    def __init__(self, dictionary: Dictionary, log: ElementLog) -> None:
        self.streams: dict[str, StreamState] = {}
        self.derived: dict[str, AnyDerived] = {}
        self.constructed: dict[str, ConstructedStream] = {}  # by the names of their queries
        self.dictionary = dictionary
        self._log = log
        self._groups_of: dict[str, list[AnyGroup]] = {}  # by the name of a stream, derived ones too
        self._states_of: dict[AnyGroup, list[StreamState]] = {}
        self._derived_of: dict[str, list[AnyDerived]] = {}
        self._constructed_by: dict[AnyGroup, list[ConstructedStream]] = {}  # those that are read
        self._group_of: dict[str, AnyGroup] = {}  # by the names of constructed streams that are read
        self._stored_readers: set[AnyGroup] = set()
        self.limits: dict[str, int] = {}  # by streams the times of elements that wait to enter the stored graph
        self.on_ended: Callable[[], None] = lambda: None  # when streams have ended, and no group has

    def state_of(self, stream: str) -> StreamState | None:
        """A stream that queries can read, by its IRI; None where there is none."""
        constructed = self.constructed.get(stream)
        return self.streams.get(stream) if constructed is None else constructed.state

    def least_watermark(self) -> int:
        """How far all streams have come: queries that are registered later are evaluated after that."""
        states = [*self.streams.values(), *(each.state for each in self.derived.values())]
        return min((state.watermark_ms for state in states), default=BEFORE_ALL_TIME)

    def furthest_ms(self) -> int:
        """The time that any stream has come to."""
        states = (state for state in self.streams.values() if state.watermark_ms > BEFORE_ALL_TIME)
        return max((state.watermark_ms + state.lateness_ms for state in states), default=BEFORE_ALL_TIME)

    def beginning_now(self, query: Query) -> Query:
        """A query with windows over derived streams of what comes from now on."""
        windows = tuple(self._begin_now(declaration) for declaration in query.windows)
        return query if windows == query.windows else replace(query, windows=windows)

    def _begin_now(self, declaration: WindowDeclaration) -> WindowDeclaration:
        window = declaration.window
        if not isinstance(window, EventTimeWindow) or not isinstance(window.stream, Iri):
            return declaration
        state = self.state_of(window.stream.value)
        return declaration if state is None else replace(declaration, window=replace(window, since=state.elements))

    def check_streams(self, query: str, timing: Timing, file: str | None) -> None:
        """Raise an InputError where a query reads a stream that is not known."""
        for stream in sorted(timing.base_streams):
            if self.state_of(stream) is None:
                known = ", ".join(f"<{each}>" for each in (*self.streams, *self.constructed)) or "none"
                raise InputError(
                    f"the query {query} reads the stream <{stream}>, which is not declared; known streams: {known}",
                    file=file,
                )
        for window in timing.windows:
            assert isinstance(window.stream, Iri)
            base = base_name(window.stream.value)
            state = self.streams.get(base)
            if is_of_graphs(window.stream.value) and (state is None or not state.graphs):
                raise UnsupportedError(
                    f"the query {query} has GRAPH in a window on <{base}>, which does not keep the graphs of its"
                    " elements: declare it with graphs=True",
                    file=file,
                )
            if state is not None and state.retracts and window.stream.value != base:
                raise UnsupportedError(
                    f"the query {query} asks for the times of elements of the stream <{base}>, which retracts: not"
                    " supported",
                    file=file,
                )
        self.check_graph_changes(query, timing, file)

    def check_graph_changes(self, query: str, timing: Timing, file: str | None = None) -> None:
        """Refuse a query whose answers changes of the stored graph would wait for, while these wait for its answers."""
        for window in timing.windows:
            assert isinstance(window.stream, Iri)
            base = base_name(window.stream.value)
            if isinstance(window, EventTimeWindow) and base not in self.streams and self._is_stored_changed(timing):
                raise UnsupportedError(
                    f"the query {query} has a window by [... @<{window.predicate.value}>] over the answers of the query"
                    f" {base}, and reads the stored graph, which a stream takes triples out of: not supported together",
                    file=file,
                )

    def make_derived(self, timing: Timing) -> None:
        """Make the derived streams that a query reads."""
        for window in timing.windows:
            assert isinstance(window.stream, Iri)
            base, source = self.state_of(base_name(window.stream.value)), source_of(window)
            assert base is not None, "it was checked"
            if isinstance(window, EventTimeWindow) and source not in self.derived:
                self.derived[source] = DerivedStream(source, base, window.predicate, self.dictionary)
            elif is_of_graphs(source):
                self._make_of_graphs(base)
            elif source != base.iri and source not in self.derived:
                self.derived[source] = TimedStream(source, base, self.dictionary)

    def _make_of_graphs(self, base: StreamState) -> None:
        """Make the two streams with the graphs of a stream, unless they are there."""
        names = graph_stream_names(Iri(base.iri))
        if names.triples.value not in self.derived:
            nodes = GraphNodes(self.dictionary)
            self.derived |= {each.value: GraphStream(each.value, base, nodes) for each in names}

    def elements_of(self, timing: Timing) -> tuple[int, ...]:
        """How many elements have come in the streams of a query."""
        states = (self.state_of(stream) for stream in sorted(timing.base_streams))
        return tuple(0 if state is None else state.elements for state in states)

    def streams_of(self, timing: Timing) -> set[str]:
        """The streams that a query waits for: those it reads, also by way of the stored graph."""
        absorbing = (state.iri for state in self.streams.values() if self.feeds_stored(state, timing))
        return {*timing.streams, *absorbing}

    def feeds_stored(self, state: StreamState, timing: Timing) -> bool:
        """Whether a stream can leave a triple in the stored graph that matches a stored pattern of a query."""
        if state.absorb is None or not timing.absorbed:
            return False
        if timing.stored is None:
            return True
        if state.absorb:
            return any(self.dictionary.lookup(term) in state.absorb for term in timing.stored)
        return state.carries is None or not state.carries.isdisjoint(timing.stored)

    def _is_stored_changed(self, timing: Timing) -> bool:
        """Whether streams take triples out of the stored graph, and any leaves what a query may read there."""
        states = self.streams.values()
        return any(each.changes_graph for each in states) and any(self.feeds_stored(each, timing) for each in states)

    def connect(self, groups: Sequence[AnyGroup]) -> None:
        """Find out anew which groups and derived streams each stream feeds."""
        found: dict[str, list[AnyGroup]] = {}
        for group in groups:
            for stream in group.streams:
                found.setdefault(stream, []).append(group)
        self._groups_of = found
        self.derived = {name: derived for name, derived in self.derived.items() if name in found}
        self._derived_of = {}
        for derived in self.derived.values():
            others = self._derived_of.setdefault(derived.base.iri, [])
            derived.is_oldest = all(other.predicate != derived.predicate for other in others)
            others.append(derived)
        for name, constructed in self.constructed.items():
            constructed.is_read = name in found or name in self._derived_of
        states = self.streams | {name: each.state for name, each in (self.derived | self.constructed).items()}
        self._states_of = {group: [states[stream] for stream in group.streams] for group in groups}
        self._stored_readers &= self._states_of.keys()

    def reads_stored(self, group: AnyGroup, timing: Timing) -> bool:
        """Note whether a group has a query that reads the stored graph; says whether it is the first."""
        is_new = timing.absorbed and group not in self._stored_readers
        if is_new:
            self._stored_readers.add(group)
        return is_new

    def connected(self) -> dict[str, frozenset[str]]:
        """For each declared stream all streams that change what it changes, as far as that is more than itself.

        These are the streams that some wait for together, also by way of others derived from them, and those whose
        elements are in the store, with all streams of the queries that read it.
        """
        sets = [{base for each in group.streams for base in self._bases(each)} for group in self._states_of]
        storing = {name for name, state in self.streams.items() if state.absorb is not None or state.keep_ms}
        if storing:
            readers = (self._bases(each) for group in self._stored_readers for each in group.streams)
            sets.append(storing.union(*readers))
        found: dict[str, frozenset[str]] = {}
        for some in sets:
            if len(some) > 1:
                whole = frozenset(some.union(*(found[each] for each in some if each in found)))
                found.update(dict.fromkeys(whole, whole))
        return found

    def connect_constructed(self, group_of: dict[str, AnyGroup]) -> None:
        """Find out anew which groups make the constructed streams that are read, by the names of their queries."""
        read = [(group_of[name], each) for name, each in self.constructed.items() if each.is_read and name in group_of]
        self._group_of = {each.state.iri: group for group, each in read}
        self._constructed_by = {}
        for group, each in read:
            self._constructed_by.setdefault(group, []).append(each)

    @property
    def groups(self) -> list[AnyGroup]:
        """The groups that are connected."""
        return list(self._states_of)

    def element_bytes(self, stream: str) -> int:
        """What an element of a stream takes at most, in all that wait for it."""
        size = sum(group.element_bytes(stream) for group in self._groups_of.get(stream, ()))
        for derived in self._derived_of.get(stream, ()):
            size += derived.rows * (ELEMENT_BYTES + self.element_bytes(derived.state.iri))
        return size

    def partners(self, stream: str) -> frozenset[str]:
        """The other streams that some who wait for a stream, or for one derived from it, wait for too."""
        names = [stream, *(derived.state.iri for derived in self._derived_of.get(stream, ()))]
        found = {each for name in names for group in self._groups_of.get(name, ()) for each in group.streams}
        return frozenset({base for each in found for base in self._bases(each)} - {stream})

    def _bases(self, stream: str) -> Iterator[str]:
        """The declared streams that a stream is, or is derived from."""
        if stream in self.derived:
            yield from self._bases(self.derived[stream].base.iri)
        elif stream in self.streams:
            yield stream
        elif stream in self._group_of:
            for each in self._group_of[stream].streams:
                yield from self._bases(each)

    def partner_watermark(self, stream: str) -> int:
        """How far the furthest of a stream's partners has come."""
        return max((self.streams[each].watermark_ms for each in self.partners(stream)), default=BEFORE_ALL_TIME)

    def common_watermark(self, stream: str) -> int:
        """How far a stream and all of its partners have come."""
        return min(self.streams[each].watermark_ms for each in (stream, *self.partners(stream)))

    def stored_watermark(self, stream: str) -> int:
        """How far a stream has come, and all that matters to queries which read what it leaves in the stored graph.

        Streams by the time that a predicate gives may be far behind those that they are derived from.
        """
        readers = (group for group in self._groups_of.get(stream, ()) if group in self._stored_readers)
        derived = (state.watermark_ms for group in readers for state in self._derived_states(group))
        return min(self.common_watermark(stream), min(derived, default=AFTER_ALL_TIME))

    def _derived_states(self, group: AnyGroup) -> Iterator[StreamState]:
        """The derived streams that a group waits for, also by way of answers that are a stream."""
        for stream in group.streams:
            if stream in self.derived:
                yield self.derived[stream].state
            elif stream in self._group_of:
                yield from self._derived_states(self._group_of[stream])

    def is_ahead(self, stream: str) -> bool:
        """Whether some that wait for a stream, or for one that is derived from it, are held back by others."""
        state = self.state_of(stream)
        assert state is not None
        states = [state, *(derived.state for derived in self._derived_of.get(stream, ()))]
        return any(
            _least_watermark(self._states_of[group]) < state.watermark_ms
            for state in states
            for group in self._groups_of.get(state.iri, ())
        )

    def push(self, state: StreamState, elements: Elements, graphs: NDArray[np.int64] | None = None) -> None:
        """Give elements, and the graphs that they are in, to those who wait for a stream."""
        for group in self._groups_of.get(state.iri, ()):
            group.push(state.iri, elements, state.watermark_ms)
        for derived in self._derived_of.get(state.iri, ()):
            derived.push(elements, graphs)

    def advance(self, stream: str) -> None:
        """A stream has come further: let those who wait for it go on."""
        for derived in self._derived_of.get(stream, ()):
            if self._release(derived):
                self._go_on(derived.state.iri)
        self._go_on(stream)

    def _go_on(self, stream: str) -> None:
        for group in self._groups_of.get(stream, ()):
            states = self._states_of.get(group)
            if states is not None:  # else a callback of another report has removed its last query
                least_ms = _least_watermark(states)
                group.advance(min(least_ms, self._limit(group)) if self.limits else least_ms)
                for constructed in self._constructed_by.get(group, ()):
                    self._follow(constructed, group.passed_ms)

    def _limit(self, group: AnyGroup) -> int:
        """Before what time a group stays, as elements of that time wait to enter the stored graph."""
        return min(
            (limit_ms for stream, limit_ms in self.limits.items() if stream in group.streams), default=AFTER_ALL_TIME
        )

    def reach_of(self, group: AnyGroup) -> int:
        """How far the streams of a group have come, connected or not, and what they leave in the stored graph."""
        states = [state for stream in group.streams if (state := self.state_of(stream)) is not None]
        return min(_least_watermark(states), self._limit(group))

    def next_due_ms(self, stream: str) -> int:
        """The first watermark at which any who wait for a stream are evaluated; those with threads go their own way."""
        groups = self._groups_of.get(stream, ())
        return min((each.next_due_ms for each in groups if isinstance(each, QueryGroup)), default=AFTER_ALL_TIME)

    def evaluate_to(self, stream: str, watermark_ms: int) -> None:
        """Let those who wait for a stream go on, up to a watermark."""
        for group in self._groups_of.get(stream, ()):
            states = self._states_of.get(group)
            if states is not None:
                group.advance(min(_least_watermark(states), watermark_ms))

    def note_stored(self) -> None:
        """The stored graph has changed."""
        for group in self._states_of:
            group.note_stored()

    def _follow(self, constructed: ConstructedStream, watermark_ms: int) -> None:
        """A query has come further: pass on what it has answered."""
        before_ms = constructed.state.watermark_ms
        elements = constructed.release(watermark_ms)
        if elements is not None:
            self._log.add(constructed.state.iri, elements)
            self.push(constructed.state, elements)
        if elements is not None or constructed.state.watermark_ms > before_ms:
            self.advance(constructed.state.iri)

    def end(self) -> None:
        """All streams have ended: every group visits what is left, those that read the answers of others after them."""
        watermarks: dict[str, int] = {}
        for state in self.streams.values():
            self._end(state, watermarks)
        self.on_ended()
        for group in self._upstream_first():
            group.finish(watermarks)
            for constructed in self._constructed_by.get(group, ()):
                elements = constructed.release(constructed.state.watermark_ms)
                if elements is not None:
                    self._log.add(constructed.state.iri, elements)
                    self.push(constructed.state, elements)
                self._end(constructed.state, watermarks)

    def _end(self, state: StreamState, watermarks: dict[str, int]) -> None:
        """Note how far a stream has come, and those derived from it, and end them."""
        watermarks[state.iri] = state.watermark_ms
        state.watermark_ms = AFTER_ALL_TIME
        for derived in self._derived_of.get(state.iri, ()):
            self._release(derived)
            watermarks[derived.state.iri] = derived.state.watermark_ms
            derived.state.watermark_ms = AFTER_ALL_TIME

    def _upstream_first(self) -> list[AnyGroup]:
        """The groups, each after those whose answers it reads."""
        return sorted(self.groups, key=self._depth) if self._constructed_by else self.groups

    def _depth(self, group: AnyGroup) -> int:
        """How many queries what a group reads has gone through."""
        names = (self.derived[each].base.iri if each in self.derived else each for each in group.streams)
        return max((1 + self._depth(self._group_of[each]) for each in names if each in self._group_of), default=0)

    def _release(self, derived: AnyDerived) -> bool:
        elements = derived.release()
        if elements is None:
            return False
        self._log.add(derived.state.iri, elements)
        for group in self._groups_of.get(derived.state.iri, ()):
            group.push(derived.state.iri, elements)
        return True


def _least_watermark(states: list[StreamState]) -> int:
    """How far all streams of a group have come."""
    watermark_ms = AFTER_ALL_TIME
    for state in states:
        if state.watermark_ms < watermark_ms:
            watermark_ms = state.watermark_ms
    return watermark_ms
