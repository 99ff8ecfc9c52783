"""What a session or a pipeline holds, apart from reports: what its entries do to it, and how checkpoints keep it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from freshet import __version__
from freshet.native.engine import Engine
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError
from freshet.rdf.reading import Quads
from freshet.rdf.terms import Iri
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.results.answers import AnswerBatch
from freshet.runtime.batch_sources import BatchSources
from freshet.runtime.checkpoint import Checkpoint, segments_of
from freshet.runtime.checkpoint_manifest import State
from freshet.runtime.definitions import QueryDefinition
from freshet.runtime.durable_records import (
    DurableRegistration,
    Outbox,
    Position,
    StreamOptions,
    declare_first,
    declare_read,
    declare_stream,
    load_quads,
    options_of,
    positions_of,
    registration_of,
    restore_streams,
    stream_options_of,
    streams_state,
)
from freshet.runtime.durable_reports import DurableReports
from freshet.runtime.folder_state import FORMAT
from freshet.runtime.journal import Header, JournalEntry
from freshet.runtime.origins import TextOrigin
from freshet.runtime.packed_changes import unpack_changes
from freshet.runtime.packed_elements import unpack_elements
from freshet.runtime.push_keys import PushKeys
from freshet.store.changes import StoreChanges

OpenGraph = Callable[[str, str | None], int]
OnQueryFailure = Callable[[str, str], None]
_UNBOUNDED_BYTES = 1 << 62


class DurableContents:
    """Streams, queries and stored data. Changes are made under the session's lock, after they are journaled."""

    def __init__(
        self,
        engine: Engine,
        dictionary: Dictionary,
        checkpoint: Checkpoint,
        reports: DurableReports,
        deliver: Callable[[Outbox, AnswerBatch], None],
        open_graph: OpenGraph | None,
        on_failure: OnQueryFailure,
    ) -> None:
        self._on_failure = on_failure
        self._engine = engine
        self._dictionary = dictionary
        self._checkpoint = checkpoint
        self._reports = reports
        self._deliver = deliver
        self._open_graph = open_graph
        self._batches: dict[str, int] = {}
        self._opened: list[tuple[str, str | None]] = []
        self._graphs: dict[str, None] = {}  # names of graphs that are there, if only empty
        self._dropped: dict[str, None] = {}  # of those that were, and that what is opened again may have
        self.keys = PushKeys()
        self.definitions: dict[str, QueryDefinition] = {}
        self.sources: BatchSources | None = None  # of a pipeline
        self._defined: list[DurableRegistration] | None = None  # the queries of its file, also those that have failed
        self._defined_streams: set[str] = set()
        self.taken_over: list[str] = []  # queries that it has by now, and clients had registered before
        self.between = -1  # the newest entry of a pipeline that is not a batch, if it has been done

    def do_again(self, entry: JournalEntry) -> None:
        header = entry.header
        match header["kind"]:
            case "push":
                origin = TextOrigin.of(header.get("origin"))
                elements, graphs = unpack_elements(header, entry.body, self._dictionary)
                self.push(header["stream"], elements, origin, graphs)
                if "key" in header:
                    self.keys.add(*header["key"])
            case "batch":
                assert self.sources is not None, "the folder is a pipeline's"
                self.count_batch(self.sources.replay(self._engine, entry).iri)
            case "advance":
                self._engine.advance(header["stream"], header["to"])
            case "finish":
                self._engine.end()
            case "stream":
                self.declare(stream_options_of(header))
            case "register":
                self._register_again(registration_of(header))
            case "unregister":
                name = header["name"]
                if name in (self._reports.boxes if self._defined is None else self.added_queries()):
                    self.unregister(name)
            case "define":
                self.define(header)
            case "undefine":
                self.definitions.pop(header["name"], None)
            case "open":
                self.open(header["path"], header["graph"])
            case "load":
                self._dictionary.scopes = max(self._dictionary.scopes, header["scopes"])
                rows = self._checkpoint.read_loaded(header.get("after", entry.sequence), segments_of(header))
                self.load(Quads(*rows[2:], rows.graphs), header["graph"])
            case "update":
                self._dictionary.scopes = max(self._dictionary.scopes, header["scopes"])
                self.update(unpack_changes(header, entry.body, self._dictionary))
        self._engine.collect_terms()

    def push(self, stream: str, elements: Elements, origin: TextOrigin, graphs: NDArray[np.int64] | None) -> None:
        batch = self.count_batch(stream)
        own = None if origin.is_plain else origin
        self._engine.push(stream, elements, admitted=True, batch=batch, origin=own, graphs=graphs)

    def count_batch(self, stream: str) -> int:
        """A batch of a stream is in; gives its number."""
        self._batches[stream] = number = self._batches.get(stream, 0) + 1
        return number

    def declare(self, options: StreamOptions) -> None:
        """A stream that is not there yet: the file of a pipeline may have been given one that a client declared."""
        if options.iri not in self._engine.streams:
            declare_stream(self._engine, options)

    def register(
        self, registration: DurableRegistration, *, begins_now: bool = True, is_replayed: bool = False
    ) -> Outbox:
        return self._reports.register(registration, self._deliver, begins_now=begins_now, is_replayed=is_replayed)

    def catch_up(self, registration: DurableRegistration) -> None:
        """Take a query that begins in the past, and has just been registered, to where the others are."""
        if registration.since_ms is not None:
            self._engine.catch_up(registration.name)

    def _register_again(self, registration: DurableRegistration, *, begins_now: bool = True) -> None:
        if self._defined is None:
            declare_read(self._engine, registration, ())
            self.register(registration, is_replayed=True).is_restored = True
            self.catch_up(registration)
            return
        if registration.name in self._reports.boxes:
            self.taken_over.append(registration.name)
            return
        try:
            self.register(registration, begins_now=begins_now, is_replayed=True)
            if begins_now:
                self.catch_up(registration)
        except FreshetError as error:  # as where the file does not have a stream any more
            self._on_failure(registration.name, str(error))

    def define(self, fields: Header) -> None:
        known = {name: fields[name] for name in QueryDefinition.__slots__}
        self.definitions[fields["name"]] = QueryDefinition(**{**known, "parameters": tuple(fields["parameters"])})

    def unregister(self, name: str) -> None:
        del self._reports.boxes[name]
        self._checkpoint.is_gone(name)
        self._engine.unregister(name)

    def load(self, quads: Quads, graph: str | None) -> None:
        home = DEFAULT_GRAPH if graph is None else self._dictionary.encode(Iri(graph))
        if graph is not None:
            self._graphs[graph] = None
            self._dropped.pop(graph, None)
        load_quads(self._engine, self._checkpoint.dataset, quads, home)

    def update(self, changes: StoreChanges) -> tuple[int, int]:
        """Change stored graphs; gives how many triples came that were not there, and how many went."""
        counts = self._engine.update(changes)
        there = self._checkpoint.dataset.named().names()
        touched = np.unique(np.concatenate((changes.deleted.graphs, np.fromiter(changes.exists, np.int64))))
        for term, name in zip(self._dictionary.decode_many(touched), touched.tolist(), strict=True):
            if isinstance(term, Iri) and name in there:  # also where it has no triples any more
                self._graphs[term.value] = None
                self._dropped.pop(term.value, None)
            elif isinstance(term, Iri):
                self._graphs.pop(term.value, None)
                if self._opened:
                    self._dropped[term.value] = None
        return counts

    def open(self, path: str, graph: str | None) -> int:
        """Add data that stay where they are; gives how many triples."""
        assert self._open_graph is not None, "there is nothing to open it"
        count = self._open_graph(path, graph)
        self._opened.append((path, graph))
        there = self._checkpoint.dataset.named().names()
        self._dropped = {name: None for name in self._dropped if self._dictionary.lookup(Iri(name)) not in there}
        return count

    def positions(self) -> dict[str, Position]:
        return positions_of(self._engine, self._batches)

    # ---- the state of everything but the graphs

    def describe(self) -> State:
        state: State = {
            "format": FORMAT,
            "version": __version__,
            "streams": streams_state(self._engine, self._batches),
            "queries": self.registrations(),
            "graphs": [*self._graphs],
            "dropped": [*self._dropped],
            "opened": [*self._opened],
            "scopes": self._dictionary.scopes,
            "keys": self.keys.state(),
            "definitions": [*self.definitions.values()],
        }
        if self._defined is not None:
            state |= {"added": {"streams": self._added_streams(), "queries": self.added_queries()}}
            state |= {"between": self.between}
        return state if self.sources is None else {**state, "sources": self.sources.describe()}

    def registrations(self) -> list[DurableRegistration]:
        """The queries as they were registered; all of a pipeline's file, then what came while it went on."""
        if self._defined is not None:
            return [*self._defined, *(self._reports.boxes[name].registration for name in self.added_queries())]
        return [box.registration for box in self._reports.boxes.values()]

    def added_queries(self) -> list[str]:
        """The queries that came while a pipeline went on."""
        of_file = {registration.name for registration in self._defined or ()}
        return [name for name in self._reports.boxes if name not in of_file]

    def _added_streams(self) -> list[str]:
        return [iri for iri in self._engine.streams if iri not in self._defined_streams]

    def define_run(self, sources: BatchSources) -> Header:
        """Say what batches come of, once the streams and queries of a pipeline are there; gives all that as an entry
        of the journal."""
        self.sources = sources
        self._defined = self.registrations()
        self._defined_streams = set(self._engine.streams)
        return {
            "kind": "run",
            "streams": [asdict(options_of(state, self._dictionary)) for state in self._engine.streams.values()],
            "queries": self._defined,
            "opened": [*self._opened],
            "sources": [*sources.described.values()],
        }

    def open_again(self, state: State) -> None:
        """What was open at the cut comes before the segments: it is the base that they are added to."""
        with self._dictionary.pins:
            for path, graph in state.get("opened", ()):
                self.open(path, graph)

    def restore_added(self, state: State) -> None:
        """What came while an earlier run of a pipeline went on, after the streams and queries of its file."""
        self._restore_others(state)
        self.between = state.get("between", -1)
        added = state.get("added", {})
        with self._dictionary.pins:
            declare_first(
                self._engine, [each for each in state.get("streams", ()) if each["iri"] in added.get("streams", ())]
            )
            for fields in state.get("queries", ()):
                if fields["name"] in added.get("queries", ()):
                    self._register_again(registration_of(fields), begins_now=False)

    def _restore_others(self, state: State) -> None:
        """Everything but streams and queries."""
        self._dictionary.scopes = max(self._dictionary.scopes, state.get("scopes", 0))
        self.keys.restore(state.get("keys", ()))
        for fields in state.get("definitions", ()):
            self.define(fields)
        nothing = np.empty(0, np.int64)
        with self._dictionary.pins:
            for graph in state.get("graphs", ()):
                self.load(Quads(nothing, nothing, nothing, nothing), graph)
            with self._engine.loading():
                for graph in state.get("dropped", ()):
                    self._dropped[graph] = None
                    self._drop_if_empty(self._dictionary.encode(Iri(graph)))

    def _drop_if_empty(self, graph: int) -> None:
        """It has triples where others have put them into what is opened."""
        dataset = self._checkpoint.dataset
        if not len(dataset.named().graph(graph)):
            dataset.drop(graph)

    def restore(self, state: State, *, leave_out: bool = False) -> None:
        """Streams and queries in the order they came, since a query may read all streams that are known.

        A query that cannot be registered is left out, if that is allowed, and reported as failed.
        """
        self._restore_others(state)
        with self._dictionary.pins:
            streams = list(state.get("streams", ()))
            for fields in state.get("queries", ()):
                declare_first(self._engine, streams[: fields["streams"]])
                registration = registration_of(fields)
                try:
                    declare_read(self._engine, registration, streams)
                    self.register(registration, begins_now=False).is_restored = True
                except FreshetError as error:
                    if not leave_out:
                        raise
                    self._on_failure(registration.name, str(error))
            declare_first(self._engine, streams)
        if "sources" in state:
            self._keep_windows()
            held = [iri for iri, stream in self._engine.streams.items() if stream.held]
            self.sources = BatchSources.of(state["sources"], held)
        self.restore_positions(state)

    def restore_positions(self, state: State) -> None:
        """Have streams and sources be as far as they were."""
        if self.sources is not None:
            self.sources.restore(state.get("sources", ()))
        restore_streams(self._engine, state.get("streams", ()), self._batches)

    def _keep_windows(self) -> None:
        """Have one-shot queries find the windows of the registered ones."""
        for iri, keep_ms in self._reports.window_ms.items():
            if iri in self._engine.streams:  # answers that are a stream are not kept
                self._engine.keep_windows(iri, keep_ms, _UNBOUNDED_BYTES)
