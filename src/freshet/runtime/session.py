"""The Python API: the native engine with its dictionary and graph, and nothing to start."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa

from freshet.algebra.nodes import Query
from freshet.algebra.rewrite.rules import rewrite
from freshet.federation.client import ServiceClient
from freshet.federation.evaluation import Constraints
from freshet.federation.local_views import LocalViews
from freshet.federation.settings import ServiceSettings
from freshet.federation.view_entries import ViewEntry
from freshet.native.coordinator import Engine
from freshet.oneshot.answer import answer
from freshet.oneshot.deadline import Deadline
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.reading import read_rdf
from freshet.rdf.terms import Iri, Term
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.results.arrow import record_batch
from freshet.results.report import Answer, BooleanAnswer, Report, Solutions
from freshet.results.write import report_json
from freshet.runtime.checkpoint import EVERY_SECONDS, Checkpoint
from freshet.runtime.durable_records import DurableRegistration, Position, StreamOptions, declare_stream, load_quads
from freshet.runtime.durable_session import DurableSession
from freshet.runtime.open_graph import open_graph
from freshet.runtime.pushing import Pushed, Pushing
from freshet.runtime.query_failure import OnFailure, QueryFailure, report_failure
from freshet.runtime.registered_query import RegisteredQuery
from freshet.runtime.session_checks import (
    check_columns,
    check_ids,
    check_options,
    check_registration,
    check_whole_number,
    parse_absorb,
    seconds,
)
from freshet.runtime.window_contents import window_contents
from freshet.store.dataset import DatasetSnapshot, StoredDataset
from freshet.store.graph_directory import GraphDirectory
from freshet.store.stream_windows import DEFAULT_BUDGET_BYTES
from freshet.syntax.parser import parse_query


class Session:
    """Continuous and one-shot SPARQL in this process.

    >>> session = Session()
    >>> query = session.register('''
    ...     REGISTER RSTREAM <hot> AS SELECT ?room (MAX(?t) AS ?max)
    ...     FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT10S STEP PT10S]
    ...     WHERE { WINDOW <w> { ?room <http://example.org/temperature> ?t } } GROUP BY ?room''')
    >>> session.push("http://example.org/s",
    ...     '1000\\t<http://example.org/a> <http://example.org/temperature> "21" .')
    >>> session.finish()
    >>> len(query.take())
    1
    """

    def __init__(
        self,
        *,
        on_failure: OnFailure | None = None,
        services: Iterable[str] | ServiceSettings = (),
        checkpoint: str | Path | None = None,
        checkpoint_seconds: float = EVERY_SECONDS,
        sync: bool = True,
        stored: StoredDataset | None = None,
        window_bytes: int | None = None,
    ) -> None:
        """`on_failure` hears of each query that fails, with its reason; what it raises is a warning.

        `services` are the hosts that SERVICE may ask (`example.org`, `localhost:3030`), none if not given.

        With a `checkpoint` folder, everything but one-shot queries outlives the process (docs/recovery.md): what is
        in the folder is taken up, and whatever changes the session is on the disk when the call returns. Where `sync`
        is false only a loss of power loses anything, the last calls at most.

        Windows of registered queries may hold `window_bytes` in all (docs/windows.md), half of the machine's memory if
        not given. A push that could go beyond that is refused whole, with a BudgetError.
        """
        if isinstance(services, str):
            services = (services,)
        if checkpoint is not None and stored is not None:
            raise InputError("a session with a checkpoint has stored data of its own: give 'checkpoint' or 'stored'")
        settings = services if isinstance(services, ServiceSettings) else ServiceSettings(tuple(services))
        self.services = ServiceClient(settings)
        self.dictionary = Dictionary()
        self.failures: list[QueryFailure] = []
        self._on_failure = on_failure
        self._registered: dict[str, RegisteredQuery] = {}
        self._durable: DurableSession | None = None
        every = seconds(checkpoint_seconds, "the time between checkpoints")
        kept = None if checkpoint is None else Checkpoint(Path(checkpoint), every_seconds=every, sync=sync)
        self.stored = stored or (StoredDataset() if kept is None else kept.dataset)
        self._views = LocalViews(self.services, self.dictionary)
        self.engine = Engine(self.dictionary, self.stored, self._failed, self._views, window_bytes)
        self.engine.lanes.most_behind = settings.most_behind
        if kept is not None:
            self._durable = DurableSession(self.engine, self.dictionary, kept, self._open)
            self._durable.restore()
            for problem in kept.problems:
                warnings.warn(problem, stacklevel=2)

    def load(self, *paths: str | Path, graph: str | None = None) -> int:
        """Add RDF files and graph directories to the stored data; gives the number of statements read.

        Named graphs of TriG and N-Quads are kept. Where a graph's name is given, it takes what the files have outside
        of their own named graphs.
        """
        count = 0
        with self.dictionary.pins:
            home = DEFAULT_GRAPH if graph is None else self.dictionary.encode(Iri(graph))
            for path in paths:
                if Path(path).is_dir():
                    where = str(Path(path).absolute())
                    GraphDirectory(where)  # what is none is refused before anything is journaled
                    count += self._open(where, graph) if self._durable is None else self._durable.open(where, graph)
                    continue
                quads = read_rdf(path, self.dictionary)
                quads = quads._replace(graphs=np.where(quads.graphs == DEFAULT_GRAPH, home, quads.graphs))
                if self._durable is None:
                    load_quads(self.engine, self.stored, quads, home)
                else:
                    self._durable.load(quads, graph)
                count += len(quads.graphs)
        return count

    def _open(self, path: str, graph: str | None) -> int:
        """Add a graph directory, which stays where it is."""
        home = DEFAULT_GRAPH if graph is None else self.dictionary.encode(Iri(graph))
        return open_graph(GraphDirectory(path), self.dictionary, self.stored, self.engine, home)

    def dataset(self) -> DatasetSnapshot:
        """The stored data as they are now, with what streams have left in them; later changes do not show in it."""
        return self.stored.snapshot()

    def local_views(self) -> list[ViewEntry]:
        """What is held of remote data for queries with SERVICE, entry by entry, with best-before times."""
        with self.dictionary.pins:
            return self._views.entries()

    def sizes(self) -> dict[str, int]:
        """Bytes by what they are for: the parts of the stored data (docs/store.md), the dictionary, and windows."""
        stored = self.stored.nbytes()._asdict()
        return {**stored, "dictionary": self.dictionary.nbytes, "windows": self.engine.window_bytes()}

    def stream(
        self,
        iri: str,
        *,
        lateness_ms: int = 0,
        absorb: bool | str | Iterable[str] = False,
        held: bool = False,
        keep_ms: int = 0,
        keep_bytes: int = DEFAULT_BUDGET_BYTES,
    ) -> None:
        """Declare a stream, how late its elements may be, and what it leaves in the graph: nothing (False or "none"),
        everything (True or "all"), or the triples of some predicates.

        Where it is `held` only `advance` moves its watermark. With `keep_ms` its last elements are kept for so long,
        and one-shot queries can ask for windows of them; what it does not leave in the graph may take `keep_bytes`
        then, and a push for which there is no room is refused with a BufferFullError.
        """
        kept_bytes = keep_bytes if keep_ms else 0
        options = check_options(StreamOptions(iri, lateness_ms, parse_absorb(absorb), held, keep_ms, kept_bytes))
        with self.dictionary.pins:
            if self._durable is None:
                declare_stream(self.engine, options)
            else:
                self._durable.declare(options)

    def register(
        self,
        text: str,
        *,
        name: str | None = None,
        on_report: Callable[[Report], None] | None = None,
        file: str | None = None,
        dialect: str | None = None,
        report: str | Collection[str] = (),
        every_ms: int | None = None,
        limit_seconds: float | None = None,
        accuracy: float | None = None,
        latency_ms: float | None = None,
    ) -> RegisteredQuery:
        """Keep a continuous query answered from now on. Its name is what REGISTER says, else the name given.

        It is evaluated whenever one of its windows moves, or every so often (`every_ms`, COMPUTED EVERY). Moments that
        do not satisfy all conditions in `report` (`change`: an element came or went, `non-empty`: some window holds
        anything, `close`: none) are passed over. A query that fails, or that takes longer than `limit_seconds` over
        one step, is removed and added to `failures`. So is one whose callback raises; the others go on. Callbacks may
        register and unregister queries, this one too.

        A query with SERVICE keeps local views of the remote data, and refreshes what matters most so that an evaluation
        takes no longer than `latency_ms`; where an `accuracy` is given, no more than that needs. Its reports come from
        a thread of its own, and say how fresh they are.
        """
        query = parse_query(text, file=file, dialect=dialect)
        chosen = query.name or name or f"query{len(self.engine.names) + 1}"
        constraints = Constraints(
            query.accuracy if accuracy is None else accuracy,
            query.latency_ms if latency_ms is None else latency_ms,
        )
        if self._durable is not None and query.name is None and name is None:
            chosen = self._durable.restored_name(text) or chosen
        conditions = (report,) if isinstance(report, str) else tuple(report)
        accuracy, latency_ms = constraints.accuracy, constraints.latency_ms
        asked = DurableRegistration(
            chosen, text, file, dialect, conditions, every_ms, limit_seconds, 0, accuracy, latency_ms
        )
        asked = check_registration(asked)
        if self._durable is not None:
            return self._durable.register(asked, on_report)
        waiting: deque[Report] = deque()
        plan = self.engine.register(
            chosen,
            query,
            on_report or waiting.append,
            file=file,
            report=asked.report,
            every_ms=asked.every_ms,
            limit_seconds=asked.limit_seconds,
            constraints=constraints,
        )
        self._registered[chosen] = RegisteredQuery(chosen, plan.variables, waiting)
        return self._registered[chosen]

    def registered(self, name: str, *, on_report: Callable[[Report], None] | None = None) -> RegisteredQuery:
        """A query that is registered, also one of before a restart. With a checkpoint it may be given a callback,
        which gets the reports that wait, and all that come.
        """
        if self._durable is not None:
            return self._durable.registered(name, on_report)
        if on_report is not None:
            raise InputError("a callback is given when a query is registered; later only where there is a checkpoint")
        if name not in self.engine.names:
            raise InputError(f"there is no query named {name}")
        return self._registered[name]

    def unregister(self, name: str) -> None:
        """Forget a query, and what only it needed."""
        if self._durable is not None:
            self._durable.unregister(name)
        else:
            self.engine.unregister(name)
            self._registered.pop(name, None)

    def push(self, stream: str, elements: Pushed, *, time_ms: int | None = None, file: str = "pushed data") -> None:
        """Give elements of a stream in the order they came.

        They may be encoded, timed N-Triples, one element or several as tuples `(time_ms, subject, predicate, object)`
        of terms, or an Arrow table or batch with the columns time (int64), subject, predicate and object (int64 ids,
        or strings of N-Triples terms). RDF text without times (N-Triples, N-Quads or Turtle) is pushed with `time_ms`.

        Where a query with SERVICE is too many elements behind, this waits for it (`most_behind` of the settings); not
        in a callback that gets a report. What such a callback pushes is taken in when what is being pushed has been.
        """
        with self.dictionary.pins:  # nothing holds the elements' terms until the engine has them
            if not isinstance(elements, Elements) or time_ms is not None:
                elements = Pushing(self.dictionary, self.blank_scope(stream), file).elements(elements, time_ms)
            else:
                check_columns(elements)
                check_ids(elements, self.dictionary)
            if self._durable is None:
                self.engine.push(stream, elements)
            else:
                self._durable.push(stream, elements)
        self.engine.forget()
        self.engine.lanes.hold_back()

    def positions(self) -> dict[str, Position]:
        """For each stream how many batches and elements are in, so that a source knows from where to send again."""
        if self._durable is None:
            raise InputError("positions are kept where the session has a checkpoint")
        return self._durable.positions()

    def checkpoint(self) -> bool:
        """Make a checkpoint now, not only in the background; says whether there was anything new to keep."""
        return self._durable is not None and self._durable.make_checkpoint()

    def close(self) -> None:
        """Ask no endpoint any more, end the threads of queries with SERVICE, and let go of the checkpoint folder.

        Reports that were taken count as received.
        """
        self.engine.close()
        self.services.close()
        if self._durable is not None:
            self._durable.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def blank_scope(self, stream: str) -> str:
        """What stands before the labels of a stream's blank nodes, so that streams do not share them."""
        if stream not in self.engine.streams:
            raise InputError(f"there is no stream <{stream}>")
        return f"s{list(self.engine.streams).index(stream)}"

    def advance(self, stream: str, watermark_ms: int) -> None:
        """Say that all of a stream's elements before a time have come."""
        watermark_ms = check_whole_number(watermark_ms, "a watermark in milliseconds")
        if self._durable is None:
            self.engine.advance(stream, watermark_ms)
        else:
            self._durable.advance(stream, watermark_ms)

    def finish(self) -> None:
        """Say that all streams have ended: every window that has content closes."""
        if self._durable is None:
            self.engine.finish()
        else:
            self._durable.finish()

    def prepare(self, text: str, *, file: str | None = None, dialect: str | None = None) -> Query:
        """A one-shot query, read and rewritten, to be answered any number of times."""
        return rewrite(parse_query(text, file=file, dialect=dialect))

    def query(
        self,
        query: str | Query,
        *,
        file: str | None = None,
        dialect: str | None = None,
        timeout_seconds: float | None = None,
        deadline: Deadline | None = None,
    ) -> Answer:
        """Answer a query over the stored data once, as they are now.

        Windows of streams that are kept (`keep_ms`) hold what they held when they closed last.
        It stops with a QueryStoppedError after `timeout_seconds`, or when the `deadline` given is cancelled.
        """
        prepared = self.prepare(query, file=file, dialect=dialect) if isinstance(query, str) else query
        try:
            with self.dictionary.pins:
                found = answer(
                    prepared,
                    self.dataset(),
                    self.dictionary,
                    deadline=deadline or Deadline(timeout_seconds),
                    services=self.services,
                    windows=window_contents(prepared, self.engine.streams, self.stored) if prepared.windows else None,
                )
                if not isinstance(found, BooleanAnswer):
                    self.engine.forgetting.keep(found)
                return found
        except UnsupportedError as error:
            raise UnsupportedError(error.message, file=file) from None

    def bindings(self, answer: Answer | Report) -> Iterator[dict[str, Term]]:
        """Solutions as dictionaries of terms; unbound variables are left out.

        A report of CONSTRUCT has a dictionary for each triple: subject, predicate, object.
        """
        if not isinstance(answer, Solutions | Report):
            raise InputError("only the answer to SELECT has bindings")
        shown = answer.shown if isinstance(answer, Report) else answer
        for row in shown.rows:
            terms = self.dictionary.decode_many(row)
            yield {name: term for name, term in zip(shown.variables, terms, strict=True) if term is not None}

    def _failed(self, query: str, reason: str) -> None:
        if self._durable is not None:
            self._durable.drop_failed_query(query)
        failure = QueryFailure(query, reason)
        self.failures.append(failure)
        if self._on_failure is not None:
            report_failure(self._on_failure, failure)

    def ndjson(self, report: Report) -> bytes:
        """A report as one line of JSON."""
        return report_json(report, self.dictionary)

    def arrow(self, answer: Answer | Report) -> pa.RecordBatch:
        """An answer or a report as Arrow: a column a variable, each a struct of type, value, datatype and language."""
        return record_batch(answer, self.dictionary)
