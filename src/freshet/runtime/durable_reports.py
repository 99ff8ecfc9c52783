"""Which reports of a durable session are handed over, and up to which entry all have been received.

A query with SERVICE reports from its own thread, some time after the entry that closed its windows was done. Its
reports belong to that entry all the same, and while it has an entry left to do, none from there on counts as received.
"""

from __future__ import annotations

from collections.abc import Callable

from freshet.federation.evaluation import Constraints
from freshet.native.coordinator import Engine
from freshet.results.answers import TRIPLE, AnswerBatch
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.durable_records import DurableRegistration, Outbox
from freshet.runtime.registered_query import RegisteredQuery
from freshet.syntax.parser import parse_query


class DurableReports:
    """The outboxes of a session's queries."""

    def __init__(self, engine: Engine, checkpoint: Checkpoint) -> None:
        self.boxes: dict[str, Outbox] = {}
        self._engine = engine
        self._lanes = engine.lanes
        self._checkpoint = checkpoint
        self._received_before = -1  # up to this entry, when the session was taken up

    def finish_recovery(self) -> None:
        """The checkpoint has been found: it says what was received."""
        self._received_before = self._checkpoint.delivered

    def register(self, registration: DurableRegistration, deliver: Callable[[Outbox, AnswerBatch], None]) -> Outbox:
        """Have a query answered; its reports go to `deliver` with the outbox that they are for."""
        one = registration
        box = Outbox(one)
        plan = self._engine.register(
            one.name,
            parse_query(one.text, file=one.file, dialect=one.dialect),
            on_answers=lambda batch: deliver(box, batch),
            file=one.file,
            report=one.report,
            every_ms=one.every_ms,
            limit_seconds=one.limit_seconds,
            constraints=Constraints(one.accuracy, one.latency_ms),
        )
        columns = None if plan.template is None else TRIPLE
        box.query = RegisteredQuery(one.name, plan.variables, box.waiting, box.made, columns)
        self.boxes[one.name] = box
        return box

    def deliver(self, box: Outbox, batch: AnswerBatch, current: int, *, again: bool) -> None:
        """Reports of an entry that is done, `again` where that was done before the restart; once, if possible."""
        if self.boxes.get(batch.query) is not box:
            return  # they came too late
        entry = self._lanes.entry_of(batch.query)
        if entry is None:
            entry = current
        elif entry <= self._received_before:
            return
        if again and entry <= self._checkpoint.delivered:
            return
        batch = batch.after(self._checkpoint.delivered_until(batch.query))
        if len(batch):
            box.put(batch, entry, lambda: self.boxes.get(batch.query) is box)

    def received(self, done: int) -> int:
        """The last entry whose reports, and those of all before, have been received; `done` is the last one done."""
        found = min((self._oldest(name, box, done + 1) for name, box in self.boxes.items()), default=done + 1) - 1
        return max(found, self._received_before)

    def stopped_at(self) -> dict[str, int]:
        """For queries that were stopped in the middle of an entry the moment up to which all has been received."""
        return {
            name: self._lanes.reported(name)
            for name, box in self.boxes.items()
            if self._lanes.unfinished_entry(name) is not None and not box.made
        }

    def _oldest(self, name: str, box: Outbox, default: int) -> int:
        unfinished = self._lanes.unfinished_entry(name)
        return min(box.oldest(default), default if unfinished is None else unfinished)
