"""The Python API: the native engine with its dictionary and graph, and nothing to start."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from freshet.algebra.nodes import Query
from freshet.algebra.rewrite.rules import rewrite
from freshet.federation.client import ServiceClient
from freshet.federation.evaluation import Constraints
from freshet.federation.local_views import LocalViews
from freshet.federation.settings import ServiceSettings
from freshet.native.coordinator import Engine
from freshet.native.stream import StreamState
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
from freshet.runtime.pushing import Pushed, Pushing
from freshet.store.dataset import DatasetSnapshot, StoredDataset, rows_by_graph
from freshet.syntax.parser import parse_query


@dataclass(frozen=True, slots=True)
class RegisteredQuery:
    """A query that is kept answered. Reports wait here until they are taken, unless a callback gets them.

    `for report in registered:` takes those that wait, one after another, also those that come meanwhile.
    """

    name: str
    variables: tuple[str, ...]
    waiting: deque[Report]

    def take(self) -> list[Report]:
        """The reports since the last call, in order of time."""
        return list(self)

    def __iter__(self) -> Iterator[Report]:
        while self.waiting:
            yield self.waiting.popleft()


@dataclass(frozen=True, slots=True)
class QueryFailure:
    """A query that failed and was removed; the others went on."""

    query: str
    reason: str

    def __str__(self) -> str:
        return f"the query {self.query} failed and was removed: {self.reason}"


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
        on_failure: Callable[[QueryFailure], None] | None = None,
        services: Iterable[str] | ServiceSettings = (),
    ) -> None:
        """`services` are the hosts that SERVICE may ask (`example.org`, `localhost:3030`), none if not given."""
        if isinstance(services, str):
            services = (services,)
        settings = services if isinstance(services, ServiceSettings) else ServiceSettings(tuple(services))
        self.services = ServiceClient(settings)
        self.dictionary = Dictionary()
        self.failures: list[QueryFailure] = []
        self._on_failure = on_failure
        self.stored = StoredDataset()
        views = LocalViews(self.services, self.dictionary)
        self.engine = Engine(self.dictionary, self.stored, self._failed, views)

    def load(self, *paths: str | Path, graph: str | None = None) -> int:
        """Add RDF files to the stored data; gives the number of statements read.

        Named graphs of TriG and N-Quads are kept. Where a graph's name is given, it takes what the files have outside
        of their own named graphs.
        """
        count = 0
        with self.dictionary.pins:
            home = DEFAULT_GRAPH if graph is None else self.dictionary.encode(Iri(graph))
            for path in paths:
                quads = read_rdf(path, self.dictionary)
                graphs = np.where(quads.graphs == DEFAULT_GRAPH, home, quads.graphs)
                with self.stored.changing:  # a snapshot has all of a file or nothing
                    for name, rows in rows_by_graph(graphs, home):
                        subjects, predicates, objects = (column[rows] for column in quads[:3])
                        self.engine.load(subjects, predicates, objects, name)
                count += len(graphs)
        return count

    def dataset(self) -> DatasetSnapshot:
        """The stored data as they are now, with what streams have left in them; later changes do not show in it."""
        return self.stored.snapshot()

    def stream(
        self, iri: str, *, lateness_ms: int = 0, absorb: bool | Iterable[str] = False, held: bool = False
    ) -> None:
        """Declare a stream, how late its elements may be, and which predicates' triples it leaves in the graph.

        Where it is `held` only `advance` moves its watermark.
        """
        with self.dictionary.pins:
            if absorb is True or absorb is False:
                kept = frozenset[int]() if absorb else None
            else:
                kept = frozenset(self.dictionary.encode(Iri(predicate)) for predicate in absorb) or None
            self.engine.declare(StreamState(iri, lateness_ms, kept, held=held))

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
        one step, is removed and added to `failures`.

        A query with SERVICE keeps local views of the remote data, and refreshes what matters most so that an evaluation
        takes no longer than `latency_ms`; where an `accuracy` is given, no more than that needs. Its reports come from
        a thread of its own, and say how fresh they are.
        """
        query = parse_query(text, file=file, dialect=dialect)
        chosen = query.name or name or f"query{len(self.engine.names) + 1}"
        waiting: deque[Report] = deque()
        plan = self.engine.register(
            chosen,
            query,
            on_report or waiting.append,
            file=file,
            report=report,
            every_ms=every_ms,
            limit_seconds=limit_seconds,
            constraints=Constraints(
                query.accuracy if accuracy is None else accuracy,
                query.latency_ms if latency_ms is None else latency_ms,
            ),
        )
        return RegisteredQuery(chosen, plan.variables, waiting)

    def unregister(self, name: str) -> None:
        """Forget a query, and what only it needed."""
        self.engine.unregister(name)

    def push(self, stream: str, elements: Pushed, *, time_ms: int | None = None, file: str = "pushed data") -> None:
        """Give elements of a stream in the order they came.

        They may be encoded, timed N-Triples, one element or several as tuples `(time_ms, subject, predicate, object)`
        of terms, or an Arrow table or batch with the columns time (int64), subject, predicate and object (int64 ids,
        or strings of N-Triples terms). RDF text without times (N-Triples, N-Quads or Turtle) is pushed with `time_ms`.
        """
        with self.dictionary.pins:  # nothing holds the elements' terms until the engine has them
            if not isinstance(elements, Elements) or time_ms is not None:
                elements = Pushing(self.dictionary, self.blank_scope(stream), file).elements(elements, time_ms)
            self.engine.push(stream, elements)
        self.engine.forget()

    def blank_scope(self, stream: str) -> str:
        """What stands before the labels of a stream's blank nodes, so that streams do not share them."""
        if stream not in self.engine.streams:
            raise InputError(f"there is no stream <{stream}>")
        return f"s{list(self.engine.streams).index(stream)}"

    def advance(self, stream: str, watermark_ms: int) -> None:
        """Say that all of a stream's elements before a time have come."""
        self.engine.advance(stream, watermark_ms)

    def finish(self) -> None:
        """Say that all streams have ended: every window that has content closes."""
        self.engine.finish()

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

    def close(self) -> None:
        """Ask no endpoint any more, and end the threads of queries with SERVICE; nothing is waited for."""
        self.engine.close()
        self.services.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failed(self, query: str, reason: str) -> None:
        failure = QueryFailure(query, reason)
        self.failures.append(failure)
        if self._on_failure is not None:
            self._on_failure(failure)

    def ndjson(self, report: Report) -> bytes:
        """A report as one line of JSON."""
        return report_json(report, self.dictionary)

    def arrow(self, answer: Answer | Report) -> pa.RecordBatch:
        """An answer or a report as Arrow: a column a variable, each a struct of type, value, datatype and language."""
        return record_batch(answer, self.dictionary)
