"""Queries that are answered for many instants at once, as the engine sees them: a clock of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from freshet.algebra.windows import CountWindow, NowWindow, RangeWindow, TriplesWindow
from freshet.native.arrival_plan import parameter_predicate
from freshet.native.arrival_query import ArrivalQuery
from freshet.native.members import Members
from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME, close_at, instant_at
from freshet.native.one_way_index import Ids
from freshet.native.plan import Plan
from freshet.native.r2s.bags import dealt_out
from freshet.native.reads import reads_stored
from freshet.native.timing import Counted
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.results.report import Report


class ArrivalClock:
    """One query, or several that differ only in constants, over windows that move with every element.

    Where several share the plan, its last variable has the number of the query.
    """

    def __init__(
        self,
        name: str,
        plan: Plan,
        streams: Iterable[str],
        query: ArrivalQuery,
        on_failure: Callable[[str, Exception], None],
        on_member_failure: Callable[[str, Exception], None],
        *,
        shared: bool,
        dictionary: Dictionary,
    ) -> None:
        self.name = name
        self.plan = plan
        self.streams = set(streams)
        self.moment = close_at(BEFORE_ALL_TIME)
        self.passed_ms = BEFORE_ALL_TIME
        self.reads_absorbed = reads_stored(plan)
        self._query = query
        self._on_failure = on_failure
        self._shared = shared
        self._members = Members(on_member_failure, dictionary)

    stored_leaves: tuple[()] = ()  # rows of the stored graph stand among those of windows, and are not counted

    # ---- queries

    def __len__(self) -> int:
        return len(self._members)

    def add(self, name: str, constants: list[int], on_report: Callable[[Report], None]) -> None:
        """One query more, with its constants where they are parameters of a shared plan."""
        number = self._members.add(name, on_report)
        for at, constant in enumerate(constants):
            row = (BEFORE_ALL_TIME, number, parameter_predicate(at), constant)
            self._query.stored(Elements(*(np.array([value], np.int64) for value in row)))

    def remove(self, name: str) -> None:
        self._members.remove(name)

    def query(self, name: str) -> ArrivalClock:
        return self

    def counts_every_element(self, name: str) -> bool:
        """Every element is an instant, and counts in windows of so many elements."""
        return True

    def free(self) -> None:
        """All that it holds is its own."""

    def needed_from(self, name: str) -> int:
        """The earliest time of an element that matters to the next instant, or was inside at the last one."""
        known_ms = self.passed_ms
        if self._query.last_ms != BEFORE_ALL_TIME:  # what leaves at the next instant was inside then
            known_ms = min(known_ms, self._query.last_ms + 1)
        needed_ms = known_ms
        for window in self.plan.windows:
            match window:
                case RangeWindow(_, width_ms):
                    needed_ms = min(needed_ms, known_ms - width_ms - 1)
                case NowWindow():
                    needed_ms = min(needed_ms, known_ms - 1)
                case CountWindow(Iri(stream)) | TriplesWindow(Iri(stream)):
                    needed_ms = min(needed_ms, self._query.since(stream, known_ms))
                case _:
                    return BEFORE_ALL_TIME
        return needed_ms

    def counted(self, name: str) -> Counted:
        """No window of these counts in steps."""
        return ()

    # ---- data and time

    def load(self, elements: Elements, graph: int) -> None:
        """Triples that have been added to a stored graph, as if they had always been there."""
        if graph == DEFAULT_GRAPH:
            self._query.stored(elements)

    def absorb(self, elements: Elements) -> None:
        """Elements that a stream leaves in the stored default graph."""
        self._query.stored(elements)

    def push(self, stream: str, elements: Elements, watermark_ms: int = BEFORE_ALL_TIME) -> None:
        """Elements of a stream, none behind its watermark, which has come so far with them."""
        if stream in self._query.streams:
            self._query.receive(stream, elements)

    def element_bytes(self, stream: str) -> int:
        """What an element of a stream takes at most."""
        return self._query.element_bytes(stream) if stream in self._query.streams else 0

    def advance(self, watermark_ms: int) -> None:
        """Answer for every instant before the watermark."""
        if watermark_ms <= self.passed_ms:
            return
        try:
            answered = self._query.advance(watermark_ms)
        except Exception as error:  # whatever goes wrong in one query must not stop the others
            self._on_failure(self.name, error)
            return
        self.passed_ms = watermark_ms
        for time_ms, rows in answered:
            self._report(time_ms, rows)

    def finish(self, watermarks: dict[str, int]) -> None:
        """The streams have ended."""
        self.advance(AFTER_ALL_TIME)

    def _report(self, time_ms: int, rows: Ids) -> None:
        self.moment = instant_at(time_ms)
        if self._shared:
            self._members.give(dealt_out(rows)[1], time_ms, self.plan.output, self.plan.variables[:-1])
        else:
            parts = [(number, rows) for number in self._members.numbers()]
            self._members.give(parts, time_ms, self.plan.output, self.plan.variables)
