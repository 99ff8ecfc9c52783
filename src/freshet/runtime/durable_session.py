"""What makes a session or a pipeline outlive its process: each change is in a journal first, and replayed from there.

A session writes an entry and does it in one call. A pipeline writes a batch when Spark has it (`write_batch`), and does
it later in a thread of its own (`take_batch`), so that Spark works on the next one meanwhile.

Reports of entries that were done before, and whose reports are known to have been received, are not handed over again;
all others are, also where they were handed over and not acknowledged before the process ended.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.native.engine import Engine
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.owned_lock import OwnedLock
from freshet.native.reentrant_call_queue import EndedError
from freshet.native.scheduled_query import without_limits
from freshet.native.service.watermark_log import catching_up, done_for
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.reading import Quads
from freshet.results.answers import AnswerBatch
from freshet.runtime.batch_sources import BatchSources, pack_batch
from freshet.runtime.checkpoint import Checkpoint, needs_everything
from freshet.runtime.checkpoint_manifest import State
from freshet.runtime.checkpoint_segments import GraphRows
from freshet.runtime.definitions import QueryDefinition
from freshet.runtime.durable_contents import DurableContents, OnQueryFailure, OpenGraph
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
from freshet.runtime.folder_state import changed_queries, check_layouts, check_of_pipeline, state_of_folder
from freshet.runtime.intake import StreamIntake, last_time
from freshet.runtime.journal import Header, JournalEntry, Piece
from freshet.runtime.origins import PUSHED, TextOrigin
from freshet.runtime.packed_changes import pack_changes
from freshet.runtime.packed_elements import pack_elements
from freshet.runtime.registered_query import RegisteredQuery
from freshet.store.changes import StoreChanges
from freshet.store.dataset import DatasetSnapshot

if TYPE_CHECKING:
    from freshet.runtime.report_log import ReportLog

_FEW_QUERIES = 64  # up to this number, all are asked at every entry which reports have been received


class DurableSession:
    """The journal and the checkpoints of a session or a pipeline. The engine is changed only through this.

    A session calls `restore`. A pipeline, whose file says what streams and queries there are, calls `recover`, declares
    and registers these, and calls `resume`. A session that finds the folder of a pipeline can be asked, and nothing
    in the folder changes by it.
    """

    def __init__(
        self,
        engine: Engine,
        dictionary: Dictionary,
        checkpoint: Checkpoint,
        open_graph: OpenGraph | None = None,
        on_failure: OnQueryFailure = lambda name, reason: None,
    ) -> None:
        """`open_graph` adds what is elsewhere, and stays there, to the stored data: a path, and the graph it is for.
        `on_failure` gets the name of a query of a pipeline that cannot be registered again, and the reason."""
        self._engine = engine
        self._dictionary = dictionary
        self._checkpoint = checkpoint
        self._order = OwnedLock()  # the journal and the engine have one order
        engine.service_threads.delivering = self._order
        self._reports = DurableReports(engine, checkpoint)
        self._outboxes = self._reports.boxes
        self._contents = DurableContents(
            engine, dictionary, checkpoint, self._reports, self._deliver, open_graph, on_failure
        )
        self._state: State = {}  # of the folder
        self._is_run = False  # of a pipeline
        self._is_asked_only = False
        self._sync_sinks: Callable[[], None] = lambda: None
        self._log: ReportLog | None = None
        self.changed_queries: list[str] = []
        self.join_problems: list[str] = []  # what waits to be joined and could not be taken up
        self._restored_streams: set[str] = set()
        self._current = self._done = self._newest_batch = -1
        self._writing_batch = threading.Lock()
        self._depth = 0
        self._written = -1  # up to which entry it is on the disk that reports have been received
        self.is_restoring = True
        self._ended_by = ""  # what ended an entry in the middle, so that its reports are to come after a restart
        self._closed = False

    # ---- taking up what a folder has

    def restore(self) -> None:
        """Take up what there is: the checkpoint, then the journal."""
        with self._taking_up():
            self._recover(self._contents.open_again)
            self._is_asked_only = "sources" in self._state
            if self._is_asked_only:
                check_layouts(self._state, self._checkpoint.headers)
            if self._state:
                self._contents.restore(self._state, leave_out=self._is_asked_only)
            self._replay()
            self._restored_streams = set(self._engine.streams)
        if not self._is_asked_only:
            self._checkpoint.run()

    def recover(self, graphs: Iterable[tuple[str, str | None]]) -> None:
        """Take up the stored data for a pipeline: files and directories, each with its named graph or None, and what
        streams left there.
        """

        def open_first(state: State) -> None:
            check_of_pipeline(state, self._checkpoint.headers)
            with self._dictionary.pins:
                for path, graph in graphs:
                    self._contents.open(path, graph)

        self._is_run = True
        with self._taking_up():
            self._recover(open_first)

    def resume(self, sources: BatchSources, on_skip: OnBatch, sync_sinks: Callable[[], None]) -> None:
        """Continue where an earlier run was, with the streams and queries of this one.

        `on_skip` gets reports that were delivered before; `sync_sinks` brings to the disk what was delivered.
        """
        self._sync_sinks = sync_sinks
        for box in self._outboxes.values():
            box.on_skip = on_skip
        with self._taking_up():
            run = self._contents.define_run(sources)
            if "queries" in self._state:
                self.changed_queries = changed_queries(self._state["queries"], run["queries"])
            self._checkpoint.window_ms = self._reports.window_ms
            self._contents.restore_added(self._state)
            self._contents.restore_positions(self._state)
            self.join_problems = self._checkpoint.restore_joins(sources.joins)
            self._replay()
            with self._order:
                self._checkpoint.mark(self._checkpoint.journal.next_sequence)
                self._done = self._current = self._checkpoint.append(run)
                for name in self._contents.taken_over:
                    self._write_between({"kind": "unregister", "name": name})
                deliver = self._drop if self._log is None else self._log.add
                for name in self._contents.added_queries():
                    self._outboxes[name].hand_to(None, deliver)
        self._checkpoint.run()

    def added_names(self) -> set[str]:
        """The queries that may have come while an earlier run of a pipeline went on, and are not taken up yet."""
        registered = {header["name"] for _, header in self._checkpoint.headers if header["kind"] == "register"}
        return {*registered, *self._state.get("added", {}).get("queries", ())}

    def is_added(self, name: str) -> bool:
        """Whether a query came while the pipeline went on: its file does not have it."""
        return name in self._contents.added_queries()

    @contextmanager
    def _taking_up(self) -> Iterator[None]:
        try:
            with without_limits(), catching_up():
                yield
        except BaseException:
            self._checkpoint.release()
            raise

    def _recover(self, first: Callable[[State], None]) -> None:
        """The graph of the checkpoint, after what `first` does with the state."""
        checkpoint = self._checkpoint

        def read_state(state: State) -> None:
            self._state = state_of_folder(state, checkpoint.headers)
            first(self._state)

        with self._order:
            checkpoint.recover(self._dictionary, read_state)
            self._reports.finish_recovery()
            self._written = checkpoint.delivered
            checkpoint.start(self._contents.describe, self._engine)
            self._engine.go_on_counting(checkpoint.counted)

    def _replay(self) -> None:
        """Do the entries of the journal again."""
        checkpoint = self._checkpoint
        self._engine.go_on_counting({})  # queries of the checkpoint are registered by now
        first = checkpoint.headers[0][0] if checkpoint.headers else checkpoint.journal.next_sequence
        self._current = self._done = first - 1
        checkpoint.restore_changes()
        if checkpoint.headers:
            checkpoint.mark(first)
        done_before = self._state.get("between", -1)
        for entry in entries_as_done(checkpoint):
            if "after" in entry.header and entry.sequence <= done_before:
                continue
            with self._order:
                self._do_again(entry)
            self._engine.service_threads.hold_back()
        if self._state:  # the checkpoint has nothing of what is older than what is kept now
            self._engine.free_windows()
        with self._order:
            self._done = self._current = checkpoint.journal.next_sequence - 1
            self.is_restoring = False

    def _do_again(self, entry: JournalEntry) -> None:
        if "after" in entry.header:  # what it reports belongs to the batch before
            self._note_between(entry.sequence, entry.header)
            with done_for(self._current), self._dictionary.pins:
                self._contents.do_again(entry)
            return
        self._mark_if_due(entry.sequence)
        with self._processing(entry.sequence, latest_in(entry.header)), self._dictionary.pins:
            self._contents.do_again(entry)

    def restored_name(self, text: str) -> str | None:
        """The name of a query of this text that was registered before the restart, and has not been asked for since."""
        boxes = self._outboxes.items()
        return next((name for name, box in boxes if box.is_restored and box.registration.text == text), None)

    # ---- what a session does

    def declare(self, options: StreamOptions) -> None:
        """The options are checked."""
        with self._order:
            if self._is_run and self.is_restoring:  # the file of a pipeline has it
                declare_stream(self._engine, options)
                return
            state = self._engine.streams.get(options.iri)
            if (
                state is not None
                and options.iri in self._restored_streams
                and replace(options_of(state, self._dictionary), idle_ms=options.idle_ms) == options
            ):
                self._restored_streams.discard(options.iri)
                state.idle_ms = options.idle_ms  # what it has brought about is in the journal, so it may be another
                return
            if state is not None:
                otherwise = "is in the checkpoint, declared otherwise"
                how = otherwise if options.iri in self._restored_streams else "is declared twice"
                raise InputError(f"the stream <{options.iri}> {how}")
            with self._writing({"kind": "stream", **asdict(options)}):
                self._contents.declare(options)

    def register(
        self, registration: DurableRegistration, on_report: OnReport | None, on_batch: OnBatch | None = None
    ) -> RegisteredQuery:
        """A query that was registered before the restart is taken up again, if it is the same."""
        with self._order:
            box = self._outboxes.get(registration.name)
            if box is not None and box.is_restored:
                known = box.registration
                if replace(registration, streams=known.streams, since_ms=known.since_ms) != known:
                    raise InputError(f"a query named {registration.name} is registered already, with other words")
                box.is_restored = False
                return self.registered(registration.name, on_report, on_batch)
            registration = replace(registration, streams=len(self._engine.streams))
            if self._is_run and self.is_restoring:  # the file of a pipeline has it
                box = self._contents.register(registration)
                box.on_report, box.on_batch = on_report, on_batch
                return box.query
            self._begin()
            self._contents.register(registration)  # before it is journaled, since it may be refused
            try:
                with self._entry({"kind": "register", **asdict(registration)}):
                    self._contents.catch_up(registration)
            except BaseException:
                self._contents.unregister(registration.name)
                raise
            if self._engine.keeps_everything(registration.name):
                warnings.warn(needs_everything(registration.name), stacklevel=4)
            return self.registered(registration.name, on_report, on_batch)

    @property
    def trouble(self) -> str:
        """Why the last checkpoint could not be made, or nothing."""
        return self._checkpoint.trouble

    @property
    def definitions(self) -> dict[str, QueryDefinition]:
        """Queries with parameters, by name."""
        return self._contents.definitions

    def define(self, definition: QueryDefinition) -> None:
        """One that has been checked."""
        fields = asdict(definition)
        with self._order, self._writing({"kind": "define", **fields}):
            self._contents.define(fields)

    def undefine(self, name: str) -> None:
        with self._order, self._writing({"kind": "undefine", "name": name}):
            del self._contents.definitions[name]

    def queries(self) -> list[RegisteredQuery]:
        """All that are registered."""
        with self._order:
            return [box.query for box in self._outboxes.values()]

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
            if self._is_run and not self.is_added(name):
                raise InputError(f"the pipeline file has the query {name}: remove it there")
            with self._writing({"kind": "unregister", "name": name}):
                self._contents.unregister(name)

    def drop_failed_query(self, name: str) -> None:
        """A query has failed, and is gone; it does not come back."""
        self._checkpoint.is_gone(name)
        is_of_file = self._is_run and not self.is_added(name)  # which has it still
        is_kept = self.is_restoring or is_of_file or self._is_asked_only
        if self._outboxes.pop(name, None) is not None and not is_kept:
            header: Header = {"kind": "unregister", "name": name}
            with suppress(CheckpointError):  # then it fails again after a restart
                if self._is_run:
                    self._write_between(header)
                else:
                    self._checkpoint.append(header)

    def push(
        self,
        stream: str,
        elements: Elements,
        key: tuple[str, str] | None = None,
        origin: TextOrigin = PUSHED,
        graphs: NDArray[np.int64] | None = None,
    ) -> bool:
        """Columns that have been checked; the caller holds a pin on the dictionary.

        With a key and a digest, what has been pushed before is not pushed again; says whether it was pushed now.
        """
        header, body = pack_elements(elements, self._dictionary, graphs)
        latest_ms = int(elements.times.max()) if len(elements.times) else BEFORE_ALL_TIME
        with self._order:
            if key is not None and self._contents.keys.is_known(*key):
                return False
            self._engine.check_room(stream, elements)  # what is refused is not in the journal
            header |= {"kind": "push", "stream": stream, "latest_ms": latest_ms}
            if key is not None:
                header["key"] = key
            if not origin.is_plain:
                header["origin"] = origin.describe()
            with self._writing(header, *body):
                if key is not None:
                    self._contents.keys.add(*key)
                self._contents.push(stream, elements, origin, graphs)
            return True

    def advance(self, stream: str, watermark_ms: int) -> None:
        with self._order:
            self._engine.check_stream(stream)
            with self._writing({"kind": "advance", "stream": stream, "to": watermark_ms}):
                self._engine.advance(stream, watermark_ms)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Held around what belongs together."""
        with self._order:
            yield

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
            header: Header = {"kind": "load", "graph": graph, "scopes": self._dictionary.scopes}
            with self._loading(header, rows):
                self._contents.load(quads, graph)

    def update(self, changes: Callable[[DatasetSnapshot], StoreChanges]) -> tuple[int, int]:
        """Make the changes that the graphs as they are now ask for. The caller holds a pin on the dictionary."""
        with self._order:
            self._begin()
            with self._engine.loading():
                found = changes(self._checkpoint.dataset.named())
                if not found:
                    return 0, 0
                header, body = pack_changes(found, self._dictionary)
                with self._writing({"kind": "update", "scopes": self._dictionary.scopes, **header}, *body):
                    return self._contents.update(found)

    @contextmanager
    def _loading(self, header: Header, rows: GraphRows) -> Iterator[None]:
        """Write triples, and an entry of them; what is within is what it does."""
        if self._is_run:
            header = self._between(header)
            self._note_between(self._checkpoint.append_load(header, rows, self._current), header)
            with done_for(self._current):
                yield
            return
        header = self._with_delivered(header)
        sequence = self._checkpoint.append_load(header, rows)
        self._wrote(header)
        with self._processing(sequence, BEFORE_ALL_TIME):
            yield

    def open(self, path: str, graph: str | None) -> int:
        """Add data that stay where they are, and are opened there again after a restart; gives how many triples."""
        with self._order, self._writing({"kind": "open", "path": path, "graph": graph}), self._dictionary.pins:
            return self._contents.open(path, graph)

    def keep_reports(self, log: ReportLog) -> None:
        """Reports go to a log from now on; of a pipeline, those of queries that came while it went on."""
        with self._order:
            self._log = log

    def positions(self) -> dict[str, Position]:
        with self._order:
            return self._contents.positions()

    def make_checkpoint(self) -> bool:
        if self._is_asked_only:
            return False
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
        delivered = self._last_delivered()
        self._sync()
        self._checkpoint.delivered = delivered
        if self._depth == 0 and not self._ended_by:
            self._checkpoint.mark(self._checkpoint.journal.next_sequence)

    def close(self) -> None:
        """What was taken counts as received. Of a pipeline, that ends with `close_run`."""
        with self._order:
            if self._closed or self._is_run:
                return
            if not self._is_asked_only:
                self._note_received()
            self._closed = True
        self._checkpoint.close()
        self._report_trouble()

    def _note_received(self) -> None:
        for box in self._outboxes.values():
            box.query.acknowledge()
        stopped_at = self._reports.stopped_at()
        with suppress(CheckpointError):
            if stopped_at or self._last_delivered() > self._written:
                self._append({"kind": "received", "stopped_at": stopped_at}, always=True)
        self._note_done(self._current)
        self._mark_now()

    # ---- what a pipeline does

    def write_batch(
        self,
        stream: StreamIntake,
        number: int,
        table: pa.Table,
        until_ms: int | None,
        inputs: pa.Table | None = None,
    ) -> int:
        """Journal a batch, all of it or what comes before a time, from any thread; gives its entry. `inputs` are what
        it was joined of."""
        header, body = pack_batch(stream, number, table, until_ms, inputs)
        with self._writing_batch:
            self._newest_batch = self._checkpoint.append({**header, "delivered": self._checkpoint.delivered}, body)
            return self._newest_batch

    def take_batch(
        self, sequence: int, stream: StreamIntake, number: int, table: pa.Table, until_ms: int | None
    ) -> None:
        """Push a batch that is in the journal."""
        with self._order:
            if self._checkpoint.is_mark_due():
                self._note_delivered()
                self._checkpoint.mark(sequence)
            sources = self._contents.sources
            assert sources is not None, "the run has been resumed"
            with self._processing(sequence, last_time(table)):
                sources.take(self._engine, stream, number, table, until_ms)
                self._contents.count_batch(stream.iri)

    def advance_between(self, stream: str, watermark_ms: int) -> None:
        """Advance a stream after the last batch that was done. Later ones may be in the journal already."""
        with self._order, self._entry({"kind": "advance", "stream": stream, "to": watermark_ms}):
            self._engine.advance(stream, watermark_ms)

    def finish_run(self) -> None:
        """Close every window that has content. A later run may have more input, so this is not journaled."""
        with self._order, done_for(self._done):
            self._engine.end()
        self._engine.drain()

    def close_run(self, *, whole: bool) -> None:
        """End the use of the folder; `whole` where all batches were done, and the sinks have all reports."""
        with self._order:
            self._closed = True
            if whole and not self.is_restoring:
                self._checkpoint.delivered = max(self._checkpoint.delivered, self._last_delivered())
                with suppress(CheckpointError):
                    self._checkpoint.append({"kind": "received", "delivered": self._checkpoint.delivered})
        self._checkpoint.close()

    def _note_delivered(self) -> None:
        """What has been reported so far is on the disk before the checkpoint relies on it."""
        delivered = self._last_delivered()  # first, as queries with their own threads go on reporting
        self._sync()
        self._checkpoint.delivered = max(self._checkpoint.delivered, delivered)

    # ---- the order of things

    @contextmanager
    def _writing(self, header: Header, *body: Piece) -> Iterator[None]:
        """Write an entry; what is within is what it does."""
        self._begin()
        with self._entry(header, *body):
            yield

    @contextmanager
    def _entry(self, header: Header, *body: Piece) -> Iterator[None]:
        """Likewise, of what has begun."""
        if self._is_run:
            self._write_between(header, *body)
            with done_for(self._current):
                yield
            return
        sequence = self._append(header, *body)
        with self._processing(sequence, latest_in(header)):
            yield

    def _pause_if_due(self) -> None:
        """Batches get marks. Where clients feed a pipeline, and no batch comes, an entry that does nothing has one, so
        that there are checkpoints."""
        if self._depth or self._ended_by or not self._checkpoint.is_mark_due():
            return
        self._note_delivered()
        with self._writing_batch:
            if self._newest_batch > self._current:  # it is done soon, and gets a mark
                return
            sequence = self._checkpoint.journal.next_sequence
            self._checkpoint.mark(sequence)
            self._checkpoint.append({"kind": "pause", "delivered": self._checkpoint.delivered})
        with self._processing(sequence, BEFORE_ALL_TIME):
            """Nothing more to do."""

    def _write_between(self, header: Header, *body: Piece) -> None:
        """Write an entry that is done after the last batch that was done. Later ones may be in the journal already."""
        header = self._between(header)
        self._note_between(self._checkpoint.append(header, *body), header)

    def _between(self, header: Header) -> Header:
        return {**header, "after": self._current, "delivered": self._checkpoint.delivered}

    def _note_between(self, sequence: int, header: Header) -> None:
        self._contents.between = sequence
        self._checkpoint.note_entry(self._current, latest_in(header))

    @contextmanager
    def _processing(self, sequence: int, latest_ms: int) -> Iterator[None]:
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
            is_last = self.is_restoring or self._is_run  # the journal has entries that are not done yet
            self._done = sequence if is_last else self._checkpoint.journal.next_sequence - 1

    def _mark_if_due(self, sequence: int) -> None:
        """Before anything of an entry is done; not within another one."""
        if self._depth == 0 and self._checkpoint.is_mark_due():
            self._checkpoint.mark(sequence)

    def _with_delivered(self, header: Header, *, always: bool = False) -> Header:
        few = len(self._outboxes) <= _FEW_QUERIES and self._log is None
        if always or few or self._checkpoint.is_mark_due():
            delivered = self._last_delivered()
            self._sync()  # what has been reported is on the disk before the journal relies on it
            self._checkpoint.delivered = header["delivered"] = delivered
        return header

    def _append(self, header: Header, *body: Piece, always: bool = False) -> int:
        sequence = self._checkpoint.append(self._with_delivered(header, always=always), *body)
        self._wrote(header)
        return sequence

    def _wrote(self, header: Header) -> None:
        self._written = max(self._written, header.get("delivered", -1))

    def _last_delivered(self) -> int:
        return self._reports.received(self._done)

    def _sync(self) -> None:
        self._sync_sinks()
        if self._log is not None:
            self._log.sync()

    def _begin(self) -> None:
        """Before anything of an entry is done, also of one that may be refused."""
        if self._closed:
            raise InputError("the session is closed")
        if self._is_asked_only:
            raise InputError("the checkpoint is a pipeline's: it can be asked, and only the pipeline changes it")
        if self._ended_by:
            raise EndedError(self._ended_by)
        if self._is_run:
            if self.is_restoring:
                raise CheckpointError("the pipeline has not started yet")
            self._pause_if_due()
            return
        self._report_trouble()
        self._mark_if_due(self._checkpoint.journal.next_sequence)

    def _report_trouble(self) -> None:
        """Checkpoints are made in the background; the next call reports, once, that one failed."""
        if trouble := self._checkpoint.new_trouble():
            warnings.warn(trouble, stacklevel=5)

    def _drop(self, batch: AnswerBatch) -> None:
        """There are no subscribers in this run."""

    def _deliver(self, box: Outbox, batch: AnswerBatch) -> None:
        if not self._closed:
            self._reports.deliver(box, batch, self._current, again=self.is_restoring)


def entries_as_done(checkpoint: Checkpoint) -> Iterator[JournalEntry]:
    """What is to be replayed, in the order in which it was done.

    Of a pipeline, what is not a batch was done `after` one batch and before another, though that was in the journal
    before.
    """
    has_some = any("after" in header for _, header in checkpoint.headers)
    between = (entry for entry in (checkpoint.entries() if has_some else ()) if "after" in entry.header)
    waiting = next(between, None)
    for entry in checkpoint.entries():
        if "after" not in entry.header:
            while waiting is not None and waiting.header["after"] < entry.sequence:
                yield waiting
                waiting = next(between, None)
            yield entry
    if waiting is not None:
        yield waiting
        yield from between
