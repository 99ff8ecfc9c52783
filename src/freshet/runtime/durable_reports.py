"""Which reports of a session or a pipeline are handed over, and up to which entry all have been received.

A query with SERVICE reports from its own thread, some time after the entry that closed its windows was done. Its
reports belong to that entry all the same, and while it has an entry left to do, none from there on counts as received.
"""

from __future__ import annotations

from collections.abc import Callable

from freshet.algebra.nodes import Query
from freshet.algebra.windows import SlidingWindow
from freshet.federation.evaluation import Constraints
from freshet.native.engine import Engine
from freshet.native.measuring import Measurements
from freshet.rdf.terms import Iri
from freshet.results.answers import AnswerBatch
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.durable_records import DurableRegistration, Outbox
from freshet.runtime.registered_query import RegisteredQuery


class DurableReports:
    """The outboxes of all queries. `window_ms` is by stream how far back their windows [RANGE ... STEP ...] reach."""

    def __init__(self, engine: Engine, checkpoint: Checkpoint) -> None:
        self.boxes: dict[str, Outbox] = {}
        self.window_ms: dict[str, int] = {}
        self._engine = engine
        self._service_threads = engine.service_threads
        self._checkpoint = checkpoint
        self._received_before = -1  # up to this entry, when the session was taken up

    def finish_recovery(self) -> None:
        """The checkpoint has been found: it says what was received."""
        self._received_before = self._checkpoint.delivered

    def register(
        self,
        registration: DurableRegistration,
        deliver: Callable[[Outbox, AnswerBatch], None],
        *,
        begins_now: bool,
        is_replayed: bool,
    ) -> Outbox:
        """Have a query answered; its reports go to `deliver` with the outbox that they are for. One that begins in the
        past does not unless it `begins_now`: then it has to catch up."""
        one = registration
        box = Outbox(one)
        query = one.parse()
        measured = Measurements() if one.measured else None
        plan = self._engine.register(
            one.name,
            query,
            on_answers=lambda batch: deliver(box, batch),
            file=one.file,
            report=one.report,
            every_ms=one.every_ms,
            limits=one.limits,
            measurements=measured,
            constraints=Constraints(one.accuracy, one.latency_ms),
            since_ms=one.since_ms if begins_now else None,
            is_replayed=is_replayed,
        )
        box.query = RegisteredQuery(
            one.name,
            plan.variables,
            box.waiting,
            box.made,
            plan.graph_columns,
            one.text,
            query,
            plan,
            measured,
            (self._engine, self._checkpoint.dataset),
        )
        self.boxes[one.name] = box
        self._note_windows(query)
        return box

    def _note_windows(self, query: Query) -> None:
        """Note how far back a one-shot query over the windows of this one would look."""
        for window in (declared.window for declared in query.windows):
            if isinstance(window, SlidingWindow) and isinstance(window.stream, Iri):
                iri, needed_ms = window.stream.value, window.ago_ms + window.width_ms + window.slide_ms
                self.window_ms[iri] = max(needed_ms, self.window_ms.get(iri, 0))

    def deliver(self, box: Outbox, batch: AnswerBatch, current: int, *, again: bool) -> None:
        """Reports of an entry that is done, `again` where that was done before the restart; once, if possible."""
        if self.boxes.get(batch.query) is not box:
            return  # they came too late
        entry = self._service_threads.entry_of(batch.query)
        if entry is None:
            entry = current
        elif entry <= self._received_before:
            box.skip(batch)
            return
        if again and entry <= self._checkpoint.delivered:
            box.skip(batch)
            return
        fresh = batch.after(self._checkpoint.delivered_until(batch.query))
        if len(fresh) < len(batch):
            box.skip(batch.part(0, len(batch) - len(fresh)))
        if len(fresh):
            box.put(fresh, entry, lambda: self.boxes.get(batch.query) is box)

    def received(self, done: int) -> int:
        """The last entry whose reports, and those of all before, have been received; `done` is the last one done."""
        found = min((self._oldest(name, box, done + 1) for name, box in self.boxes.items()), default=done + 1) - 1
        return max(found, self._received_before)

    def stopped_at(self) -> dict[str, int]:
        """For queries that were stopped in the middle of an entry the moment up to which all has been received."""
        return {
            name: self._service_threads.reported(name)
            for name, box in self.boxes.items()
            if self._service_threads.unfinished_entry(name) is not None and not box.made
        }

    def _oldest(self, name: str, box: Outbox, default: int) -> int:
        unfinished = self._service_threads.unfinished_entry(name)
        return min(box.oldest(default), default if unfinished is None else unfinished)
