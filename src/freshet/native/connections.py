"""Which clocks each stream feeds, by itself and by way of streams that are derived from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from freshet.algebra.nodes import Query
from freshet.algebra.windows import EventTimeWindow, WindowDeclaration
from freshet.native.derived_stream import DerivedStream
from freshet.native.lane import Lane
from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME
from freshet.native.query_group import QueryGroup
from freshet.native.s2r.waiting import ELEMENT_BYTES
from freshet.native.stream import StreamState
from freshet.native.timing import Timing, source_of
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri

AnyClock = QueryGroup | Lane


class Connections:
    """Streams and the clocks that wait for them. What feeds nobody is let go when they are connected anew."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.streams: dict[str, StreamState] = {}
        self.derived: dict[str, DerivedStream] = {}
        self.dictionary = dictionary
        self._clocks_of: dict[str, list[AnyClock]] = {}  # by the name of a stream, derived ones too
        self._states_of: dict[AnyClock, list[StreamState]] = {}
        self._derived_of: dict[str, list[DerivedStream]] = {}

    def beginning_now(self, query: Query) -> Query:
        """A query with windows over derived streams of what comes from now on."""
        windows = tuple(self._begun(declaration) for declaration in query.windows)
        return query if windows == query.windows else replace(query, windows=windows)

    def _begun(self, declaration: WindowDeclaration) -> WindowDeclaration:
        window = declaration.window
        if not isinstance(window, EventTimeWindow) or window.stream.value not in self.streams:
            return declaration
        return replace(declaration, window=replace(window, since=self.streams[window.stream.value].elements))

    def make_streams(self, timing: Timing) -> None:
        """Make known the streams that a query reads and nobody has declared."""
        for window in timing.windows:
            assert isinstance(window.stream, Iri)
            base = self.streams.setdefault(window.stream.value, StreamState(window.stream.value))
            source = source_of(window)
            if isinstance(window, EventTimeWindow) and source not in self.derived:
                self.derived[source] = DerivedStream(source, base, window.predicate, self.dictionary)

    def elements_of(self, timing: Timing) -> tuple[int, ...]:
        """How many elements have come in the streams of a query."""
        return tuple(self.streams[stream].elements for stream in sorted(timing.base_streams))

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
        absorbed = state.absorb or state.carries
        return absorbed is None or any(self.dictionary.lookup(term) in absorbed for term in timing.stored)

    def connect(self, clocks: Sequence[AnyClock]) -> None:
        """Find out anew which clocks and derived streams each stream feeds."""
        found: dict[str, list[AnyClock]] = {}
        for clock in clocks:
            for stream in clock.streams:
                found.setdefault(stream, []).append(clock)
        self._clocks_of = found
        self.derived = {name: derived for name, derived in self.derived.items() if name in found}
        self._derived_of = {}
        for derived in self.derived.values():
            others = self._derived_of.setdefault(derived.base.iri, [])
            derived.is_oldest = all(other.predicate != derived.predicate for other in others)
            others.append(derived)
        states = self.streams | {name: derived.state for name, derived in self.derived.items()}
        self._states_of = {clock: [states[stream] for stream in clock.streams] for clock in clocks}

    @property
    def clocks(self) -> list[AnyClock]:
        """The clocks that are connected."""
        return list(self._states_of)

    def element_bytes(self, stream: str) -> int:
        """What an element of a stream takes at most, in all that wait for it."""
        size = sum(clock.element_bytes(stream) for clock in self._clocks_of.get(stream, ()))
        for derived in self._derived_of.get(stream, ()):
            size += ELEMENT_BYTES + self.element_bytes(derived.state.iri)
        return size

    def partners(self, stream: str) -> frozenset[str]:
        """The other streams that some who wait for a stream, or for one derived from it, wait for too."""
        names = [stream, *(derived.state.iri for derived in self._derived_of.get(stream, ()))]
        found = {each for name in names for clock in self._clocks_of.get(name, ()) for each in clock.streams}
        bases = {self.derived[each].base.iri if each in self.derived else each for each in found}
        return frozenset(bases - {stream})

    def partner_watermark(self, stream: str) -> int:
        """How far the furthest of a stream's partners has come."""
        return max((self.streams[each].watermark_ms for each in self.partners(stream)), default=BEFORE_ALL_TIME)

    def is_ahead(self, stream: str) -> bool:
        """Whether some that wait for a stream, or for one that is derived from it, are held back by others."""
        states = [self.streams[stream], *(derived.state for derived in self._derived_of.get(stream, ()))]
        return any(
            _least_watermark(self._states_of[clock]) < state.watermark_ms
            for state in states
            for clock in self._clocks_of.get(state.iri, ())
        )

    def push(self, state: StreamState, elements: Elements) -> None:
        """Give elements to those who wait for a stream."""
        for clock in self._clocks_of.get(state.iri, ()):
            clock.push(state.iri, elements, state.watermark_ms)
        for derived in self._derived_of.get(state.iri, ()):
            derived.push(elements)

    def advance(self, stream: str) -> None:
        """A stream has come further: let those who wait for it go on."""
        for derived in self._derived_of.get(stream, ()):
            if self._release(derived):
                self._go_on(derived.state.iri)
        self._go_on(stream)

    def _go_on(self, stream: str) -> None:
        for clock in self._clocks_of.get(stream, ()):
            states = self._states_of.get(clock)
            if states is not None:  # else a report of another has made somebody remove its last query
                clock.advance(_least_watermark(states))

    def end(self) -> dict[str, int]:
        """All streams have ended; says how far each had come."""
        watermarks = {iri: state.watermark_ms for iri, state in self.streams.items()}
        for state in self.streams.values():
            state.watermark_ms = AFTER_ALL_TIME
        for derived in self.derived.values():
            self._release(derived)
            watermarks[derived.state.iri] = derived.state.watermark_ms
            derived.state.watermark_ms = AFTER_ALL_TIME
        return watermarks

    def _release(self, derived: DerivedStream) -> bool:
        elements = derived.release()
        if elements is None:
            return False
        for clock in self._clocks_of.get(derived.state.iri, ()):
            clock.push(derived.state.iri, elements)
        return True


def _least_watermark(states: list[StreamState]) -> int:
    """How far all streams of a clock have come."""
    watermark_ms = AFTER_ALL_TIME
    for state in states:
        if state.watermark_ms < watermark_ms:
            watermark_ms = state.watermark_ms
    return watermark_ms
