"""What makes a session outlive its process: every change is in a journal first, and is replayed from there.

Reports of entries that were done before, and whose reports are known to have been received, are not handed over again;
all others are, also where they were handed over and not acknowledged before the process ended.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace

import numpy as np

from freshet.native.coordinator import Engine
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.owned_lock import OwnedLock
from freshet.native.releases import catching_up, done_for
from freshet.native.scheduled_query import without_limits
from freshet.native.turns import EndedError
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.reading import Quads
from freshet.results.answers import AnswerBatch
from freshet.runtime.checkpoint import Checkpoint, needs_everything
from freshet.runtime.checkpoint_segments import GraphRows
from freshet.runtime.durable_contents import DurableContents, OpenGraph
from freshet.runtime.durable_files import CheckpointError
from freshet.runtime.durable_records import (
    DurableRegistration,
    OnBatch,
    OnReport,
    Outbox,
    Position,
    StreamOptions,
    declare_stream,
    latest_in,
    options_of,
)
from freshet.runtime.durable_reports import DurableReports
from freshet.runtime.journal import Header, Piece
from freshet.runtime.packed_elements import pack_elements
from freshet.runtime.registered_query import RegisteredQuery

_FEW_QUERIES = 64  # up to this number, all are asked at every entry which reports have been received


class DurableSession:
    """The journal and the checkpoints of a session. Its engine is changed only through this."""

    def __init__(
        self,
        engine: Engine,
        dictionary: Dictionary,
        checkpoint: Checkpoint,
        open_graph: OpenGraph | None = None,
    ) -> None:
        """`open_graph` adds what is elsewhere, and stays there, to the stored data: a path, and the graph it is for."""
        self._engine = engine
        self._dictionary = dictionary
        self._checkpoint = checkpoint
        self._order = OwnedLock()  # the journal and the engine have one order
        engine.lanes.delivering = self._order
        self._reports = DurableReports(engine, checkpoint)
        self._outboxes = self._reports.boxes
        self._contents = DurableContents(engine, dictionary, checkpoint, self._reports, self._deliver, open_graph)
        self._restored_streams: set[str] = set()
        self._current = self._done = -1
        self._depth = 0
        self._written = -1  # up to which entry it is on the disk that reports have been received
        self._restoring = True
        self._ended_by = ""  # what ended an entry in the middle, so that its reports are to come after a restart
        self._closed = False

    def restore(self) -> None:
        """Take up what there is: the checkpoint, then the journal."""
        try:
            with without_limits(), catching_up():
                self._restore(self._checkpoint)
        except BaseException:
            self._checkpoint.release()
            raise

    def _restore(self, checkpoint: Checkpoint) -> None:
        with self._order:
            state = checkpoint.recover(self._dictionary, self._contents.open_again)
            self._reports.finish_recovery()
            self._written = checkpoint.delivered
            checkpoint.start(self._contents.describe, self._engine)
            if state:
                self._engine.go_on_counting(checkpoint.counted)
                self._contents.restore(state)
                self._engine.go_on_counting({})
        for entry in checkpoint.entries():
            with self._order:
                self._mark_if_due(entry.sequence)
                with self._doing(entry.sequence, latest_in(entry.header)), self._dictionary.pins:
                    self._contents.do_again(entry)
            self._engine.lanes.hold_back()
        with self._order:
            self._done = self._current = checkpoint.journal.next_sequence - 1
            self._restored_streams = set(self._engine.streams)
            self._restoring = False
        checkpoint.run()

    def restored_name(self, text: str) -> str | None:
        """The name of a query of this text that was registered before the restart, and has not been asked for since."""
        boxes = self._outboxes.items()
        return next((name for name, box in boxes if box.is_restored and box.registration.text == text), None)

    # ---- what a session does

    def declare(self, options: StreamOptions) -> None:
        """The options are checked."""
        with self._order:
            state = self._engine.streams.get(options.iri)
            if (
                state is not None
                and options.iri in self._restored_streams
                and options_of(state, self._dictionary) == options
            ):
                self._restored_streams.discard(options.iri)
                return
            if state is not None:
                otherwise = "is in the checkpoint, declared otherwise"
                how = otherwise if options.iri in self._restored_streams else "is declared twice"
                raise InputError(f"the stream <{options.iri}> {how}")
            with self._writing({"kind": "stream", **asdict(options)}):
                declare_stream(self._engine, options)

    def register(
        self, registration: DurableRegistration, on_report: OnReport | None, on_batch: OnBatch | None = None
    ) -> RegisteredQuery:
        """A query that was registered before the restart is taken up again, if it is the same."""
        with self._order:
            box = self._outboxes.get(registration.name)
            if box is not None and box.is_restored:
                if replace(registration, streams=box.registration.streams) != box.registration:
                    raise InputError(f"a query named {registration.name} is registered already, with other words")
                box.is_restored = False
                return self.registered(registration.name, on_report, on_batch)
            registration = replace(registration, streams=len(self._engine.streams))
            self._begin()
            self._contents.register(registration)  # before it is journaled, since it may be refused
            try:
                sequence = self._append({"kind": "register", **asdict(registration)})
            except BaseException:
                self._contents.unregister(registration.name)
                raise
            with self._doing(sequence, BEFORE_ALL_TIME):
                pass
            if self._engine.keeps_everything(registration.name):
                warnings.warn(needs_everything(registration.name), stacklevel=4)
            return self.registered(registration.name, on_report, on_batch)

    def registered(self, name: str, on_report: OnReport | None, on_batch: OnBatch | None = None) -> RegisteredQuery:
        """A query that is registered; a callback gets the reports that wait, and all from now on."""
        with self._order:
            if name not in self._outboxes:
                raise InputError(f"there is no query named {name}")
            box = self._outboxes[name]
            if on_report is not None or on_batch is not None:
                box.hand_to(on_report, on_batch)
            return box.query

    def unregister(self, name: str) -> None:
        with self._order:
            if name not in self._outboxes:
                raise InputError(f"there is no query named {name}")
            with self._writing({"kind": "unregister", "name": name}):
                self._contents.unregister(name)

    def drop_failed_query(self, name: str) -> None:
        """A query has failed, and is gone; it does not come back."""
        self._checkpoint.is_gone(name)
        if self._outboxes.pop(name, None) is not None and not self._restoring:
            with suppress(CheckpointError):  # then it fails again after a restart
                self._checkpoint.append({"kind": "unregister", "name": name})

    def push(self, stream: str, elements: Elements) -> None:
        """Columns that have been checked; the caller holds a pin on the dictionary."""
        header, body = pack_elements(elements, self._dictionary)
        latest_ms = int(elements.times.max()) if len(elements.times) else BEFORE_ALL_TIME
        with self._order:
            self._engine.check_room(stream, elements)  # what is refused is not in the journal
            header |= {"kind": "push", "stream": stream, "latest_ms": latest_ms}
            with self._writing(header, *body):
                self._contents.push(stream, elements)

    def advance(self, stream: str, watermark_ms: int) -> None:
        with self._order:
            if stream not in self._engine.streams:
                raise InputError(f"there is no stream <{stream}>")
            with self._writing({"kind": "advance", "stream": stream, "to": watermark_ms}):
                self._engine.advance(stream, watermark_ms)

    def finish(self) -> None:
        with self._order, self._writing({"kind": "finish"}):
            self._engine.end()
        self._engine.drain()

    def load(self, quads: Quads, graph: str | None) -> None:
        """The caller holds a pin on the dictionary."""
        times = np.full(len(quads.graphs), BEFORE_ALL_TIME, np.int64)
        rows = GraphRows(quads.graphs, times, *quads[:3])
        with self._order:
            self._begin()
            header = self._with_delivered({"kind": "load", "graph": graph, "scopes": self._dictionary.scopes})
            sequence = self._checkpoint.append_load(header, rows)
            self._wrote(header)
            with self._doing(sequence, BEFORE_ALL_TIME):
                self._contents.load(quads, graph)

    def open(self, path: str, graph: str | None) -> int:
        """Add data that stay where they are, and are opened there again after a restart; gives how many triples."""
        with self._order, self._writing({"kind": "open", "path": path, "graph": graph}), self._dictionary.pins:
            return self._contents.open(path, graph)

    def positions(self) -> dict[str, Position]:
        with self._order:
            return self._contents.positions()

    def make_checkpoint(self) -> bool:
        with self._order:
            self._begin()
            self._mark_now()
            delivered = self._checkpoint.delivered
        is_made = self._checkpoint.make()
        if is_made:
            with self._order:
                self._written = max(self._written, delivered)
        return is_made

    def _mark_now(self) -> None:
        self._checkpoint.delivered = self._delivered()
        if self._depth == 0 and not self._ended_by:
            self._checkpoint.mark(self._checkpoint.journal.next_sequence)

    def close(self) -> None:
        """What was taken counts as received."""
        with self._order:
            if self._closed:
                return
            for box in self._outboxes.values():
                box.query.acknowledge()
            stopped_at = self._reports.stopped_at()
            with suppress(CheckpointError):
                if stopped_at or self._delivered() > self._written:
                    self._append({"kind": "received", "stopped_at": stopped_at}, always=True)
            self._note_done(self._current)
            self._mark_now()
            self._closed = True
        self._checkpoint.close()
        self._report_trouble()

    # ---- the order of things

    @contextmanager
    def _writing(self, header: Header, *body: Piece) -> Iterator[None]:
        """Write an entry; what is within is what it does."""
        self._begin()
        sequence = self._append(header, *body)
        with self._doing(sequence, latest_in(header)):
            yield

    @contextmanager
    def _doing(self, sequence: int, latest_ms: int) -> Iterator[None]:
        """An entry is done. Within it there may be others, where a callback makes them."""
        outer = self._current
        self._current = sequence
        self._checkpoint.note_entry(sequence, latest_ms)
        self._depth += 1
        try:
            with done_for(sequence):
                yield
        except FreshetError:
            raise
        except BaseException as error:
            self._ended_by = type(error).__name__
            raise
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._note_done(sequence)
            else:
                self._current = outer

    def _note_done(self, sequence: int) -> None:
        """All is done up to an entry, and what callbacks have done within it; not where that was ended."""
        if not self._ended_by:
            self._done = self._checkpoint.journal.next_sequence - 1 if not self._restoring else sequence

    def _mark_if_due(self, sequence: int) -> None:
        """Before anything of an entry is done; not within another one."""
        if self._depth == 0 and self._checkpoint.is_mark_due():
            self._checkpoint.mark(sequence)

    def _with_delivered(self, header: Header, *, always: bool = False) -> Header:
        if always or len(self._outboxes) <= _FEW_QUERIES or self._checkpoint.is_mark_due():
            self._checkpoint.delivered = header["delivered"] = self._delivered()
        return header

    def _append(self, header: Header, *body: Piece, always: bool = False) -> int:
        sequence = self._checkpoint.append(self._with_delivered(header, always=always), *body)
        self._wrote(header)
        return sequence

    def _wrote(self, header: Header) -> None:
        self._written = max(self._written, header.get("delivered", -1))

    def _delivered(self) -> int:
        return self._reports.received(self._done)

    def _begin(self) -> None:
        """Before anything of an entry is done, also of one that may be refused."""
        if self._closed:
            raise InputError("the session is closed")
        if self._ended_by:
            raise EndedError(self._ended_by)
        self._report_trouble()
        self._mark_if_due(self._checkpoint.journal.next_sequence)

    def _report_trouble(self) -> None:
        """Checkpoints are made in the background; the next call reports, once, that one failed."""
        if trouble := self._checkpoint.new_trouble():
            warnings.warn(trouble, stacklevel=5)

    def _deliver(self, box: Outbox, batch: AnswerBatch) -> None:
        if not self._closed:
            self._reports.deliver(box, batch, self._current, again=self._restoring)
