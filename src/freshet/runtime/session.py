"""The Python API: the native engine with its dictionary and graph, and nothing to start."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.algebra.nodes import Query
from freshet.algebra.parameters import bind_parameters, check_parameters
from freshet.algebra.rewrite.rules import rewrite
from freshet.algebra.updates import Update
from freshet.algebra.user_functions import bind_functions, bind_functions_of_update
from freshet.federation.client import ServiceClient
from freshet.federation.evaluation import Constraints
from freshet.federation.settings import ServiceSettings
from freshet.native.memory.term_collector import TermCollector
from freshet.native.streams.element_log import MOST_ELEMENTS, Origin
from freshet.oneshot.answer import answer
from freshet.oneshot.update import changes_of
from freshet.rdf.batch import Layout, elements_of
from freshet.rdf.deadline import Deadline, QueryLimits, QueryStoppedError, current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.reading import Document, Quads, read_documents, read_rdf
from freshet.rdf.terms import Iri, Term, term_key
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.results.answers import AnswerBatch, hand_over
from freshet.results.arrow import record_batch
from freshet.results.live_change import LiveChange
from freshet.results.report import Answer, BooleanAnswer, Report, Solutions
from freshet.results.write import batch_json, report_json
from freshet.runtime.checkpoint import EVERY_SECONDS, Checkpoint
from freshet.runtime.compile_ahead import compile_beside
from freshet.runtime.definitions import QueryDefinition
from freshet.runtime.durable_records import DurableRegistration, Position, StreamOptions, declare_stream, load_quads
from freshet.runtime.origins import PUSHED, Shifts, TextOrigin, line_shifts
from freshet.runtime.push_keys import PushKeys
from freshet.runtime.pushed_terms import KnownTerms
from freshet.runtime.pushing import Pushed, Pushing
from freshet.runtime.query_failure import OnFailure, QueryFailure, report_failure
from freshet.runtime.registered_query import RegisteredQuery
from freshet.runtime.session_checks import (
    AbsorbOption,
    check_callbacks,
    check_function,
    check_live,
    check_options,
    check_registration,
    check_whole_number,
    check_why_elements,
    check_window_bytes,
    checked_copy,
    parse_absorb,
    parse_history,
    parse_idle,
    parse_time,
    seconds,
    with_dataset,
)
from freshet.runtime.updating import UpdateCounts, documents_of, replaced
from freshet.runtime.wall_clock import SystemClock, WallClock
from freshet.runtime.window_contents import window_contents
from freshet.store.changes import StoreChanges
from freshet.store.dataset import DatasetSnapshot, StoredDataset
from freshet.store.graph_directory import GraphDirectory
from freshet.store.stream_windows import DEFAULT_BUDGET_BYTES
from freshet.syntax.parser import parse_query, parse_update
from freshet.syntax.templates import parse_like_before

if TYPE_CHECKING:
    from freshet.federation.local_views import LocalViews
    from freshet.federation.view_entries import ViewEntry
    from freshet.native.engine import Engine
    from freshet.native.measuring import Measurements
    from freshet.native.plan.plan import Plan
    from freshet.native.streams.stream import StreamState
    from freshet.runtime.durable_session import DurableSession
    from freshet.runtime.explaining import Explanation
    from freshet.runtime.idle_streams import IdleStreams
    from freshet.runtime.report_log import ReportLog

_NO_FILE = "pushed data"


class Session:
    """Continuous and one-shot SPARQL in this process, with no JVM.

    A session holds a stored graph, streams and registered queries. Stored data come from `load`, elements of streams
    from `push`. A registered query reports whenever one of its windows closes; `query` answers once. Calls may come
    from several threads.

    Use it as a context manager, or call `close`, where it has a checkpoint or asks remote endpoints.

    Attributes:
        failures: The queries that failed and were removed, with the reason of each (`QueryFailure`).
        is_restored: Whether the session continues what its checkpoint folder had.

    Example:
        >>> import freshet
        >>> session = freshet.Session()
        >>> session.stream("http://example.org/s")
        >>> query = session.register('''
        ...     REGISTER RSTREAM <hot> AS SELECT ?room (MAX(?t) AS ?max)
        ...     FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT10S STEP PT10S]
        ...     WHERE { WINDOW <w> { ?room <http://example.org/temperature> ?t } } GROUP BY ?room''')
        >>> session.push("http://example.org/s",
        ...     '1000\\t<http://example.org/a> <http://example.org/temperature> "21" .')
        >>> session.finish()
        >>> for report in query.take():
        ...     print(report.time_ms, report.to_arrow().to_pydict())
        10000 {'room': ['http://example.org/a'], 'max': ['21']}
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
        why_elements: int = MOST_ELEMENTS,
        clock: WallClock | None = None,
        functions: Mapping[str, Callable[..., pa.Array]] | None = None,
        history: str | int | timedelta = 0,
    ) -> None:
        """Start an empty session, or continue the one in a checkpoint folder.

        Args:
            on_failure: Called with each query that fails, and its reason. An exception that it raises becomes a
                warning.
            services: The hosts that SERVICE may ask, such as `example.org` or `localhost:3030`, or all settings of
                SERVICE. No host may be asked unless it is named (docs/explanation/federation.md).
            checkpoint: A folder in which the session survives its process (docs/explanation/recovery.md). The session
                continues with what the folder has. Every call that changes the session is on the disk when it returns.
                The folder of a stopped pipeline can be asked: its stored data, its queries, and one-shot queries over
                their windows. Nothing in it can be changed.
            checkpoint_seconds: The time between checkpoints, which are made in the background.
            sync: Whether to wait until the disk has written. If not, a loss of power can lose the last calls.
            stored: Stored data to use in place of empty ones.
            window_bytes: The memory that windows of registered queries may hold in all (docs/reference/windows.md).
                Half of the machine's memory if not given.
            why_elements: How many of the newest elements of each stream are kept for `RegisteredQuery.why`. With 0 none
                are, and no answer can be explained.
            clock: The clock for streams that are `idle`, where it is not the system's: a `ManualClock` in tests.
            functions: Functions that queries may call, by their IRIs, as `function` takes them. Those that queries of a
                checkpoint call are given here.
            history: How far back in event time `query` can ask for the stored data `at` a time, also where something
                was deleted or loaded since: a duration (`"1h"`), or milliseconds. It is kept in memory.

        Raises:
            InputError: A setting is wrong, or both `checkpoint` and `stored` are given.
            CheckpointError: The folder cannot be read or written, or another process uses it.

        Example:
            >>> import tempfile
            >>> import freshet
            >>> folder = tempfile.mkdtemp()
            >>> with freshet.Session(checkpoint=folder) as session:
            ...     session.stream("http://example.org/s")
            ...     session.push("http://example.org/s", "5\\t<http://example.org/a> <http://example.org/p> _:b .")
            >>> with freshet.Session(checkpoint=folder) as session:
            ...     session.positions()["http://example.org/s"].elements
            1
        """
        if isinstance(services, str):
            services = (services,)
        if checkpoint is not None and stored is not None:
            raise InputError("a session with a checkpoint has stored data of its own: give 'checkpoint' or 'stored'")
        settings = services if isinstance(services, ServiceSettings) else ServiceSettings(tuple(services))
        self.services = ServiceClient(settings)
        self.dictionary = Dictionary()
        self.failures: list[QueryFailure] = []
        self.functions: dict[str, Callable[..., pa.Array]] = {}
        self._on_failure = on_failure
        self._registered: dict[str, RegisteredQuery] = {}
        self._definitions: dict[str, QueryDefinition] = {}
        self._keys = PushKeys()
        self._terms = KnownTerms(self.dictionary)
        self.report_log: ReportLog | None = None
        self._folder = None if checkpoint is None else Path(checkpoint)
        self._blank_scopes: dict[str, str] = {}
        self._durable: DurableSession | None = None
        every = seconds(checkpoint_seconds, "the time between checkpoints")
        kept = None if checkpoint is None else Checkpoint(Path(checkpoint), every_seconds=every, sync=sync)
        self.stored = stored or (StoredDataset() if kept is None else kept.dataset)
        self.stored.history.keep_ms = parse_history(history)
        self._window_bytes = check_window_bytes(window_bytes)
        self._why_elements = check_why_elements(why_elements)
        for iri, given in (functions or {}).items():
            self.function(iri, given)
        self._collector = TermCollector(self.dictionary)
        self._engine: Engine | None = None
        self._making_engine = threading.RLock()
        self._clock = clock or SystemClock()
        self._idle: IdleStreams | None = None
        compile_beside("session")
        self.is_restored = False
        if kept is not None:
            self.journal_to(kept).restore()
            self.is_restored = not kept.was_new
            for problem in kept.problems:
                warnings.warn(problem, stacklevel=2)
            self.watch_streams()

    def watch_streams(self) -> None:
        """See that streams go on when they are silent, those that were taken up again: for pipelines."""
        for state in self.streams():
            self._watch(state.iri)

    def journal_to(self, kept: Checkpoint) -> DurableSession:
        """Have the session outlive its process, once what the folder has is taken up: for pipelines.

        Args:
            kept: The folder. The session was made with its `dataset` as the stored data.

        Returns:
            What takes it up.
        """
        from freshet.runtime.durable_session import DurableSession

        self._durable = DurableSession(self.engine, self.dictionary, kept, self._open, self._failed)
        return self._durable

    @property
    def engine(self) -> Engine:
        """The engine of continuous queries. It is made for the first stream or query: one-shot queries need none."""
        return self._engine or self._make_engine()

    def _make_engine(self) -> Engine:
        from freshet.native.engine import Engine

        with self._making_engine:
            if self._engine is None:
                engine = Engine(
                    self.dictionary,
                    self.stored,
                    self._failed,
                    self._views,
                    self._window_bytes,
                    self._collector,
                    self._why_elements,
                )
                engine.functions = self.functions
                engine.services = self.services
                engine.service_threads.most_behind = self.services.settings.most_behind
                self._engine = engine
            return self._engine

    @cached_property
    def _views(self) -> LocalViews:
        from freshet.federation.local_views import LocalViews

        return LocalViews(self.services, self.dictionary)

    def function(self, iri: str, function: Callable[..., pa.Array]) -> None:
        """Let queries call a function by an IRI, one-shot and continuous ones that come after it.

        Args:
            iri: The name of the function in queries: `<http://example.org/f>(?x, ?y)`.
            function: Called with an Arrow array for each argument, a row for each solution, with the types that
                `to_arrow` has; unbound is null. It gives back as many rows, as an Arrow array or what `pyarrow.array`
                takes, or a `pyarrow.Scalar` for all rows. They become terms by their type: booleans, integers, floats
                (xsd:double), decimals, strings, dates, timestamps (xsd:dateTime), or structs of type, value, datatype
                and language as `Session.arrow` has them. Null is an error, as in SPARQL. A query fails if the function
                raises, or gives back what is no term. The same arguments must always give the same result: continuous
                queries compute it when a solution comes.

        Raises:
            InputError: It is no absolute IRI, the IRI is taken or in a namespace whose functions are built in, or it
                cannot be called.

        Example:
            >>> import freshet
            >>> import pyarrow.compute as pc
            >>> session = freshet.Session()
            >>> session.function("http://example.org/fahrenheit", lambda celsius: pc.add(pc.multiply(celsius, 1.8), 32))
            >>> answer = session.query("SELECT (<http://example.org/fahrenheit>(?c) AS ?f) { VALUES ?c { 0 100 } }")
            >>> answer.to_arrow().to_pydict()
            {'f': [32.0, 212.0]}
        """
        check_function(iri, function)
        if iri in self.functions:
            raise InputError(f"there is a function <{iri}> already")
        self.functions[iri] = function

    def load(self, *paths: str | Path, graph: str | None = None) -> int:
        """Add RDF files and graph directories to the stored data.

        Args:
            *paths: Files in Turtle, N-Triples, N-Quads, TriG, RDF/XML and other formats, known by their names, and
                folders that `freshet load` has made.
            graph: The named graph for what the files have in their default graph. Named graphs of TriG and N-Quads are
                kept.

        Returns:
            The number of statements read.

        Raises:
            InputError: A file does not exist or is not what its name says. The message has the line.

        Example:
            >>> import pathlib, tempfile
            >>> import freshet
            >>> file = pathlib.Path(tempfile.mkdtemp(), "house.ttl")
            >>> _ = file.write_text("@prefix : <http://example.org/> . :kitchen :floor 1 . :study :floor 2 .")
            >>> freshet.Session().load(file)
            2
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
                quads = self._read(path, home)
                if self._durable is None:
                    self._load(quads, home)
                else:
                    self._durable.load(quads, graph)
                count += len(quads.graphs)
        return count

    def load_documents(
        self,
        documents: Iterable[Document],
        *,
        graph: str | None = None,
        base: str | None = None,
        replace: bool = False,
        may_delete: bool = True,
        deadline: Deadline | None = None,
    ) -> int:
        """Add documents to one stored graph, all of them or none.

        Args:
            documents: Texts in Turtle, N-Triples, RDF/XML or JSON-LD.
            graph: The named graph, which is there from then on, if only empty; the default graph if not given.
            base: What relative IRIs are resolved against.
            replace: Whether what the graph has is replaced.
            may_delete: Whether `replace` may delete triples. If not, a graph that has any is an error.
            deadline: When reading the documents has to stop. What has been read is added without a limit.

        Returns:
            The number of statements read.

        Raises:
            InputError: A document cannot be read, or names graphs. The message has line and column.
            QueryStoppedError: Reading took longer than the deadline allows. Nothing is changed.
            ReplaceRefusedError: The graph has triples, and `may_delete` is false. Nothing is changed.

        Example:
            >>> import freshet
            >>> from freshet.rdf.reading import Document
            >>> session = freshet.Session()
            >>> turtle = b"@prefix ex: <http://example.org/> . ex:hall ex:floor 1 . ex:attic ex:floor 2 ."
            >>> session.load_documents([Document(turtle, "ttl", "rooms.ttl")], graph="http://example.org/rooms")
            2
        """
        with self.dictionary.pins:
            home = DEFAULT_GRAPH if graph is None else self.dictionary.encode(Iri(graph))
            with (deadline or current()).running():
                quads = read_documents(documents, self.dictionary, base)
            quads = quads._replace(graphs=np.full(len(quads.graphs), home))
            if replace:
                self._update(lambda graphs: replaced(graphs, home, quads, may_delete))
            elif self._durable is None:
                self._load(quads, home)
            else:
                self._durable.load(quads, graph)
        return len(quads.graphs)

    def _read(self, path: str | Path, home: int) -> Quads:
        quads = read_rdf(path, self.dictionary)
        return quads._replace(graphs=np.where(quads.graphs == DEFAULT_GRAPH, home, quads.graphs))

    def _load(self, quads: Quads, home: int) -> None:
        with self._making_engine:
            if self._engine is None:
                load_quads(None, self.stored, quads, home)
                return
        load_quads(self._engine, self.stored, quads, home)

    def _open(self, path: str, graph: str | None) -> int:
        """Add a graph directory, which stays where it is, or a file that is read again at every start."""
        from freshet.runtime.open_graph import open_graph

        home = DEFAULT_GRAPH if graph is None else self.dictionary.encode(Iri(graph))
        if not Path(path).is_dir():
            quads = self._read(path, home)
            self._load(quads, home)
            return len(quads.graphs)
        return open_graph(GraphDirectory(path), self.dictionary, self.stored, self.engine, home)

    def dataset(self) -> DatasetSnapshot:
        """The stored data as they are now, absorbed elements included. Later changes do not show in it.

        Returns:
            A snapshot of the graphs, as columns of term ids.
        """
        return self.stored.snapshot()

    def _dataset_at(self, at: int | str | datetime, query: Query) -> DatasetSnapshot:
        time_ms = parse_time(at)
        if query.windows:
            message = "a query of the past cannot have windows of streams: a window can say itself how far back it is"
            raise UnsupportedError(message)
        return self.stored.snapshot_at(time_ms)

    def local_views(self) -> list[ViewEntry]:
        """What is held of remote data for queries with SERVICE.

        Returns:
            An entry for each combination of joining values, with the number of its solutions, when it was fetched, and
            its best-before time.
        """
        with self.dictionary.pins:
            return self._views.entries()

    def sizes(self) -> dict[str, int]:
        """The memory in use, in bytes.

        Returns:
            Bytes by name: the sections of the stored data (docs/explanation/store.md), `dictionary` and `windows`.

        Example:
            >>> import freshet
            >>> sorted(set(freshet.Session().sizes()) & {"dictionary", "windows"})
            ['dictionary', 'windows']
        """
        stored = self.stored.nbytes()._asdict()
        windows = 0 if self._engine is None else self._engine.window_bytes()
        return {**stored, "dictionary": self.dictionary.nbytes, "windows": windows}

    def stream(
        self,
        iri: str,
        *,
        lateness_ms: int = 0,
        absorb: AbsorbOption = False,
        held: bool = False,
        keep_ms: int = 0,
        keep_bytes: int = DEFAULT_BUDGET_BYTES,
        idle: str | int | timedelta | None = None,
        retracts: bool = False,
        graphs: bool = False,
    ) -> None:
        """Declare a stream. Queries can read it from then on.

        Args:
            iri: The name that queries and `push` use.
            lateness_ms: How far behind the newest element an element may come. Later events are dropped and counted.
            absorb: What enters the stored graph: nothing (False, "none"), everything (True, "all"), or the triples of
                these predicates. With "latest", or `{"latest": predicates}`, each value takes the place of the others
                of its subject and predicate, once all streams that queries read together have come to its time. With
                `{"keep": "7d"}` triples go again when they are older, and have not come again; `"latest"` or
                `"predicates"` may be beside it, with a list of predicates or True.
            held: Whether only `advance` moves the watermark. If not, elements move it too.
            keep_ms: For how long elements are kept, so that one-shot queries can ask for windows of them, and
                continuous queries can begin in the past.
            keep_bytes: The memory that kept elements may take, if they are not absorbed.
            idle: After how long a silence the stream goes on with the wall clock, so that its last window closes and
                it does not hold back others: a duration (`"5s"`), or milliseconds. Elements that come after that may be
                late. Reports then come from a thread of the session. Never, if not given.
            retracts: Whether elements can delete: a triple that is deleted is in no window from that time on, until it
                comes again, nor in the stored graph, where the stream is absorbed
                (docs/explanation/time-and-windows.md).
            graphs: Whether elements keep the graph that N-Quads, TriG and JSON-LD say they are in, so that `GRAPH` in a
                window can ask for it. Not for a stream that `retracts`.

        Raises:
            InputError: A setting is wrong, or the stream has been declared before.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s", lateness_ms=2000, absorb="all")
            >>> session.push("http://example.org/s", "5\\t<http://example.org/a> <http://example.org/p> _:b .")
            >>> bool(session.query("ASK { <http://example.org/a> ?p ?o }"))
            True
        """
        kept_bytes = keep_bytes if keep_ms else 0
        absorbed = parse_absorb(absorb)
        options = check_options(
            StreamOptions(
                iri,
                lateness_ms,
                absorbed.predicates,
                held,
                keep_ms,
                kept_bytes,
                parse_idle(idle),
                latest=absorbed.latest,
                retracts=bool(retracts),
                absorb_ms=absorbed.keep_ms,
                graphs=bool(graphs),
            )
        )
        with self.dictionary.pins:
            if self._durable is None:
                declare_stream(self.engine, options)
            else:
                self._durable.declare(options)
        self._watch(iri)

    def _watch(self, stream: str) -> None:
        """See that a stream goes on when it is silent, if it is to."""
        if self.engine.streams[stream].idle_ms:
            if self._idle is None:
                from freshet.runtime.idle_streams import IdleStreams

                changing = self.engine.loading if self._durable is None else self._durable.changing
                self._idle = IdleStreams(self.engine, self._clock, self._advance, changing)
            self._idle.add(stream)

    def register(
        self,
        text: str,
        *,
        name: str | None = None,
        rename: bool = False,
        on_report: Callable[[Report], None] | None = None,
        on_batch: Callable[[AnswerBatch], None] | None = None,
        file: str | None = None,
        dialect: str | None = None,
        report: str | Collection[str] = (),
        every_ms: int | None = None,
        limit_seconds: float | None = None,
        limit_bytes: int | None = None,
        accuracy: float | None = None,
        latency_ms: float | None = None,
        bindings: Mapping[str, Term] | None = None,
        measure: bool = False,
        since: int | str | datetime | None = None,
    ) -> RegisteredQuery:
        """Keep a continuous query answered from now on, or from a time in the past on.

        The query is evaluated whenever one of its windows moves, or at multiples of `every_ms`. A query that fails is
        removed and added to `failures`; the others continue. So is one whose callback raises.

        A query without a window is a live query (docs/reference/queries.md): an RSTREAM report with its whole
        answer comes at once, also where that is empty. After each change of the stored data a DSTREAM report has the
        solutions that are removed and an ISTREAM report those that are added. The time of a report is the latest event
        time that was absorbed by then. A checkpoint does not keep live queries.

        The streams that it reads must be declared. A CONSTRUCT is itself a stream, by the name of the query: its
        triples, at the times of its reports. A query that others read cannot be unregistered before them.

        A query with SERVICE keeps local views of the remote data, and refreshes those entries that matter most
        (docs/explanation/federation.md). Its reports come from a thread of its own.

        Args:
            text: The query, in RSP-QL, C-SPARQL or CQELS-QL, or a query without a window.
            name: Its name, if the text has none (REGISTER).
            rename: Whether it has the given name also where the text has another.
            on_report: Called with each report. Without a callback reports wait in the RegisteredQuery that is returned.
                The callback may register and unregister queries, this one too.
            on_batch: Called, in place of `on_report`, with all reports that become due together, in columns.
            file: The file of the text, for error messages.
            dialect: `rspql`, `csparql` or `cqels`. Recognised if not given.
            report: Conditions for an evaluation to count: `change` (an element arrived or expired), `non-empty` (a
                window holds something), `close` (always, the default).
            every_ms: The period of evaluation in milliseconds, as COMPUTED EVERY of C-SPARQL.
            limit_seconds: The longest time that one step may take. A query that takes longer is stopped and removed.
            limit_bytes: The most that the intermediate results of one step may take. A query that takes more is
                stopped and removed. Queries that share a plan, which have the same limits, take their steps together.
            accuracy: The share of an answer that is to be right, where the query has SERVICE.
            latency_ms: How long an evaluation may take, where the query has SERVICE.
            bindings: Values for variables of the query, by their names without the question mark. Only solutions with
                these values are reported. Queries of one text with different values share a plan.
            measure: Whether to count what each operator does, for `RegisteredQuery.explain`. A query that is measured
                shares no plan.
            since: A time of the past, in milliseconds or as a date: the query sees the elements from then on, as far as
                its streams keep them (`keep_ms`). What it would have reported until now is reported before this
                returns, and everything after that as it comes (docs/how-to/begin-in-the-past.md).

        Returns:
            The query, from which reports are taken.

        Raises:
            QuerySyntaxError: The text is not a query. The message has line and column.
            UnsupportedError: The query has something that continuous queries do not support.
            InputError: The query reads a stream that is not declared, its name is taken, or an option is wrong; or it
                has REGISTER and no window.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> query = session.register('''
            ...     REGISTER ISTREAM <seen> AS SELECT ?s
            ...     FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
            ...     WHERE { WINDOW <w> { ?s ?p ?o } }''')
            >>> query.name, query.variables
            ('seen', ('s',))
        """
        check_callbacks(on_report, on_batch)
        query = parse_query(text, file=file, dialect=dialect)
        chosen = (name if bindings or rename else None) or query.name or name or f"query{len(self.engine.names) + 1}"
        constraints = Constraints(
            query.accuracy if accuracy is None else accuracy,
            query.latency_ms if latency_ms is None else latency_ms,
        )
        if self._durable is not None and query.name is None and name is None:
            chosen = self._durable.restored_name(text) or chosen
        conditions = (report,) if isinstance(report, str) else tuple(report)
        accuracy, latency_ms = constraints.accuracy, constraints.latency_ms
        bound = tuple((name, term_key(term)) for name, term in (bindings or {}).items())
        check_parameters(query, tuple(bindings or ()))
        query = bind_parameters(query, bindings or {})
        asked = DurableRegistration(
            chosen,
            text,
            file,
            dialect,
            conditions,
            every_ms,
            limit_seconds,
            0,
            accuracy,
            latency_ms,
            bound,
            measure,
            limit_bytes,
            None if since is None else parse_time(since),
        )
        asked = check_registration(asked)
        if not query.windows:
            check_live(query, asked)
            return self._register_live(asked, query, on_report, on_batch)
        log = self.report_log
        if log is None or on_report is not None or on_batch is not None or chosen in self.engine.names:
            return self._register(asked, query, on_report, on_batch or (log.add if log and not on_report else None))
        log.begin(chosen)  # first: it may report at once
        try:
            return self._register(asked, query, None, log.add)
        except BaseException:
            log.end(chosen, "it was refused")
            raise

    def _register_live(
        self,
        asked: DurableRegistration,
        query: Query,
        on_report: Callable[[Report], None] | None,
        on_batch: Callable[[AnswerBatch], None] | None,
    ) -> RegisteredQuery:
        """A query without a window: its changes as reports."""
        waiting: deque[AnswerBatch] = deque()
        take = on_batch or waiting.append

        def on_change(change: LiveChange) -> None:
            for batch in change.batches(asked.name):
                if on_report is None:
                    take(batch)
                else:
                    hand_over(batch, on_report, lambda: asked.name in self.engine.live)

        measured = _measurements(asked)
        with (asked.limits or QueryLimits()).deadline(1).running():
            plan = self._follow(asked.name, query, on_change, asked.limits, measured, asked.file)
        self._registered[asked.name] = RegisteredQuery(
            asked.name,
            plan.variables,
            waiting,
            columns=plan.graph_columns,
            text=asked.text,
            parsed=query,
            plan=plan,
            measured=measured,
        )
        return self._registered[asked.name]

    def follow(
        self,
        text: str,
        on_change: Callable[[LiveChange], None],
        *,
        name: str,
        default_graphs: Collection[str] = (),
        named_graphs: Collection[str] = (),
        deadline: Deadline | None = None,
        limit_seconds: float | None = None,
        limit_bytes: int | None = None,
    ) -> None:
        """Follow the answer of a query without a window, as `register`, with both parts of a change at once.

        The first call has the whole answer; it comes before this returns. Each later one has what a change of the
        stored data adds and removes. `unregister` ends it.

        Args:
            text: The query, a SELECT.
            on_change: Called with each change, in the thread that changes the stored data. One that raises is not
                called again.
            name: A name that no other query has.
            default_graphs: The stored graphs that the default graph is the merge of, as in `prepare`.
            named_graphs: The named graphs, likewise.
            deadline: A deadline of the first answer.
            limit_seconds: The longest time that a step after it may take. A query that takes longer is stopped and
                removed.
            limit_bytes: The most that the intermediate results of such a step may take.

        Raises:
            QuerySyntaxError: The text is not a query. The message has line and column.
            UnsupportedError: The query is no SELECT, or has something that live queries do not support.
            QueryStoppedError: The deadline has passed, or was cancelled.
            InputError: The query has a window, or its name is taken.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s", absorb=True)
            >>> session.follow("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", name="count",
            ...     on_change=lambda change: print(len(change.removed), "out,", len(change.added), "in"))
            0 out, 1 in
            >>> session.push("http://example.org/s", "5\\t<http://example.org/a> <http://example.org/p> _:b .")
            1 out, 1 in
        """
        with (deadline or Deadline()).running():
            query = with_dataset(parse_query(text), default_graphs, named_graphs)
            if query.windows:
                raise InputError("the query has a window: it is registered as a continuous query, not followed")
            self._follow(name, query, on_change, QueryLimits(limit_seconds, limit_bytes))

    def _follow(
        self,
        name: str,
        query: Query,
        on_change: Callable[[LiveChange], None],
        limits: QueryLimits | None,
        measured: Measurements | None = None,
        file: str | None = None,
    ) -> Plan:
        held = nullcontext if self._durable is None else self._durable.changing
        return self.engine.register_live(
            name, query, on_change, file=file, limits=limits, measurements=measured, held=held
        )

    def _register(
        self,
        asked: DurableRegistration,
        query: Query,
        on_report: Callable[[Report], None] | None,
        on_batch: Callable[[AnswerBatch], None] | None,
    ) -> RegisteredQuery:
        if self._durable is not None:
            return self._durable.register(asked, on_report, on_batch)
        chosen, measured = asked.name, _measurements(asked)
        waiting: deque[AnswerBatch] = deque()
        one_at_a_time = self.engine.one_at_a_time
        on_answers = waiting.append if on_batch is None else one_at_a_time(on_batch)
        plan = self.engine.register(
            chosen,
            query,
            None if on_report is None else one_at_a_time(on_report),
            on_answers=on_answers if on_report is None else None,
            file=asked.file,
            report=asked.report,
            every_ms=asked.every_ms,
            limits=asked.limits,
            measurements=measured,
            constraints=Constraints(asked.accuracy, asked.latency_ms),
            since_ms=asked.since_ms,
        )
        self._registered[chosen] = RegisteredQuery(
            chosen,
            plan.variables,
            waiting,
            columns=plan.graph_columns,
            text=asked.text,
            parsed=query,
            plan=plan,
            measured=measured,
            answered_by=(self.engine, self.stored),
        )
        query_answered = self._registered[chosen]
        if asked.since_ms is not None:
            self.engine.catch_up(chosen)
        return query_answered

    def registered(
        self,
        name: str,
        *,
        on_report: Callable[[Report], None] | None = None,
        on_batch: Callable[[AnswerBatch], None] | None = None,
    ) -> RegisteredQuery:
        """A query that is registered, also one from before a restart.

        Args:
            name: Its name.
            on_report: Called with the reports that wait and with each later one. Only in a session with a checkpoint.
            on_batch: Called, in place of `on_report`, with the same in columns.

        Returns:
            The query, from which reports are taken.

        Raises:
            InputError: No query has this name, or a callback is given where there is no checkpoint.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> query = session.register('''
            ...     SELECT ?s FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
            ...     WHERE { WINDOW <w> { ?s ?p ?o } }''', name="all")
            >>> session.registered("all") is query
            True
        """
        check_callbacks(on_report, on_batch)
        if self._durable is not None and name not in self.engine.live:
            return self._durable.registered(name, on_report, on_batch)
        if on_report is not None or on_batch is not None:
            raise InputError("a callback is given when a query is registered; later only where there is a checkpoint")
        if name not in self.engine.names or name not in self._registered:
            raise InputError(f"there is no query named {name}")
        return self._registered[name]

    def define(
        self, name: str, text: str, parameters: Collection[str], *, dialect: str | None = None
    ) -> QueryDefinition:
        """Define a continuous query with parameters. Nothing is answered until it is registered with values (`bind`).

        Args:
            name: Its name.
            text: The query, in RSP-QL, C-SPARQL or CQELS-QL.
            parameters: The names of variables of the query, without the question mark.
            dialect: `rspql`, `csparql` or `cqels`. Recognised if not given.

        Returns:
            The definition.

        Raises:
            QuerySyntaxError: The text is not a query. The message has line and column.
            InputError: The name is taken, a parameter is not a variable of the pattern, or the query cannot be
                registered.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> defined = session.define("posts", '''
            ...     SELECT ?post FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
            ...     WHERE { WINDOW <w> { ?user <http://example.org/posts> ?post } }''', ["user"])
            >>> query = session.bind("posts", {"user": freshet.Iri("http://example.org/ann")})
            >>> for user in ("ann", "bob"):
            ...     session.push("http://example.org/s",
            ...         f"<http://example.org/{user}> <http://example.org/posts> '{user} was here' .", time_ms=10)
            >>> session.finish()
            >>> [row["post"].lexical for report in query for row in report.bindings()]
            ['ann was here']
        """
        definition = QueryDefinition(name, text, tuple(parameters), dialect)
        if name in self.definitions or name in self.engine.names:
            raise InputError(f"a query named {name} is registered already")
        query = parse_query(text, dialect=dialect)
        check_parameters(query, definition.parameters)
        trial = f"{name}?"
        self.engine.register(trial, query, lambda report: None)  # what cannot be registered is refused now
        self.engine.unregister(trial)
        if self._durable is None:
            self.definitions[name] = definition
        else:
            self._durable.define(definition)
        return definition

    @property
    def definitions(self) -> dict[str, QueryDefinition]:
        """The queries with parameters, by name."""
        return self._definitions if self._durable is None else self._durable.definitions

    def undefine(self, name: str) -> None:
        """Remove a query with parameters, and all that are registered with values.

        Args:
            name: Its name.

        Raises:
            InputError: No query with parameters has this name.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> defined = session.define("posts", '''
            ...     SELECT ?post FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
            ...     WHERE { WINDOW <w> { ?user <http://example.org/posts> ?post } }''', ["user"])
            >>> session.undefine("posts")
            >>> list(session.definitions)
            []
        """
        definition = self._definition(name)
        for query in self.queries():
            if definition.is_bound(query.name):
                self.unregister(query.name)
        if self._durable is None:
            del self.definitions[name]
        else:
            self._durable.undefine(name)

    def bind(
        self,
        name: str,
        bindings: Mapping[str, Term],
        *,
        limit_seconds: float | None = None,
        limit_bytes: int | None = None,
    ) -> RegisteredQuery:
        """Register a query with values for its parameters, or find the one that is registered with them.

        All that are registered so, with the same limits, share one plan.

        Args:
            name: The name of the definition.
            bindings: The values, by the names of the parameters.
            limit_seconds: The longest time that one step may take, as of `register`.
            limit_bytes: The most that the intermediate results of one step may take.

        Returns:
            The query.

        Raises:
            InputError: No query with parameters has this name, or they are other parameters.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> defined = session.define("posts", '''
            ...     SELECT ?post FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
            ...     WHERE { WINDOW <w> { ?user <http://example.org/posts> ?post } }''', ["user"])
            >>> ann = session.bind("posts", {"user": freshet.Iri("http://example.org/ann")})
            >>> session.bind("posts", {"user": freshet.Iri("http://example.org/ann")}) is ann
            True
        """
        definition = self._definition(name)
        bound = definition.bound_name(bindings)
        if bound in self.engine.names:
            return self.registered(bound)
        return self.register(
            definition.text,
            name=bound,
            dialect=definition.dialect,
            bindings=bindings,
            limit_seconds=limit_seconds,
            limit_bytes=limit_bytes,
        )

    def _definition(self, name: str) -> QueryDefinition:
        if name not in self.definitions:
            raise InputError(f"there is no query with parameters named {name}")
        return self.definitions[name]

    def keep_reports(self, most_bytes: int | None = None, *, folder: Path | None = None) -> ReportLog:
        """Keep the newest reports of all queries, with ids, so that several can take them and go on after a break.

        From now on reports go to the log where no callback is given, and do not wait to be taken. With a checkpoint the
        log is in its folder, and goes on after a restart.

        Args:
            most_bytes: What the reports may take, as JSON. 64 MB if not given.
            folder: The folder of the log, where it is not in that of the session's checkpoint: for pipelines.

        Returns:
            The log.
        """
        from freshet.runtime.report_log import MOST_BYTES, ReportLog

        is_run = folder is not None or self._folder is None
        folder = folder or (None if self._folder is None else self._folder / "reports")
        log = self.report_log = ReportLog(folder, most_bytes=most_bytes or MOST_BYTES)
        if log.problem:
            warnings.warn(log.problem, stacklevel=2)
        names = {query.name for query in self.queries()}
        if self._durable is not None:
            self._durable.keep_reports(log)
        if self._durable is None or not is_run:
            log.go_on(names)
        else:
            log.go_on(names | self._durable.added_names())  # which are taken up when the pipeline starts
        if self._durable is not None and not is_run:
            for name in names:
                self._durable.registered(name, None, log.add)
        return log

    def streams(self) -> list[StreamState]:
        """All declared streams, in the order in which they were declared.

        Returns:
            The streams, each with its watermark, and how many elements came and were late.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s", lateness_ms=500)
            >>> session.push("http://example.org/s", "<http://example.org/a> <http://example.org/n> 1 .", time_ms=2_000)
            >>> [(state.iri, state.watermark_ms) for state in session.streams()]
            [('http://example.org/s', 1500)]
        """
        return [] if self._engine is None else list(self._engine.streams.values())

    def queries(self) -> list[RegisteredQuery]:
        """All registered queries, in the order in which they were registered.

        Returns:
            The queries, each with its name, text and variables.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> query = session.register('''
            ...     SELECT ?s FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
            ...     WHERE { WINDOW <w> { ?s ?p ?o } }''', name="all")
            >>> [(query.name, query.variables) for query in session.queries()]
            [('all', ('s',))]
        """
        found = [] if self._durable is None else self._durable.queries()
        names = [] if self._engine is None else self._engine.names
        return found + [self._registered[name] for name in names if name in self._registered]

    def unregister(self, name: str) -> None:
        """Remove a query, and the state that only it needs.

        Args:
            name: Its name.

        Raises:
            InputError: No query has this name.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> query = session.register('''
            ...     SELECT ?s FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
            ...     WHERE { WINDOW <w> { ?s ?p ?o } }''', name="all")
            >>> session.unregister("all")
            >>> session.queries()
            []
        """
        if self._durable is not None and name not in self.engine.live:
            self._durable.unregister(name)
        else:
            self.engine.unregister(name)
            self._registered.pop(name, None)
        if self.report_log is not None:
            self.report_log.end(name, "it was removed")

    def push(
        self,
        stream: str,
        elements: Pushed,
        *,
        time_ms: int | None = None,
        time_predicate: str | None = None,
        format: str | None = None,
        file: str = _NO_FILE,
        retract: bool = False,
    ) -> None:
        """Push elements of a stream, in the order in which they came.

        Where a query with SERVICE is too many elements behind, this waits for it (`most_behind` of the settings); not
        in a callback that gets a report. What such a callback pushes is taken in after the current push.

        Args:
            stream: The stream's IRI. It must be declared. A stream of a query's answers takes no pushes.
            elements: Timed N-Triples as text (`milliseconds TAB triple`, one on each line); one tuple `(time_ms,
                subject, predicate, object)` of terms, or several; or an Arrow table or batch with the columns time
                (int64), subject, predicate and object (strings of N-Triples terms, or int64 ids). RDF text without
                times needs `time_ms` or `time_predicate`.
            time_ms: The event time of all triples of a text without times, in milliseconds.
            time_predicate: The predicate that has the times of a text, as `push_text` describes it.
            format: The format of a text without times, as `push_text` describes it.
            file: The name of the data in error messages, and in the records of `RegisteredQuery.why`.
            retract: Whether all of these elements delete their triples, where the stream `retracts`. In timed N-Triples
                and RDF Patch single statements can do so.

        Raises:
            InputError: The stream is not known, or the elements cannot be read. Nothing is pushed then.
            BudgetError: Windows have no room for the elements (`window_bytes`). Nothing is pushed then; push them again
                when windows have moved on.
            BufferFullError: There is no room for elements that are kept (`keep_bytes`).

        Example:
            >>> import freshet
            >>> from freshet import Iri, Literal
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s", absorb=True)
            >>> a, p = Iri("http://example.org/a"), Iri("http://example.org/p")
            >>> session.push("http://example.org/s", (10, a, p, Literal("x")))
            >>> session.push("http://example.org/s", "<http://example.org/b> <http://example.org/p> 'y' .", time_ms=20)
            >>> session.query("SELECT ?o { ?s ?p ?o } ORDER BY ?o").to_arrow().to_pydict()
            {'o': ['x', 'y']}
        """
        if type(elements) is tuple and time_ms is None and format is None and not retract:  # one by one: costs count
            pinned = self.dictionary.pinned
            pin = pinned.add()
            try:
                single = self._terms.element(elements)
                if single is not None:
                    self._push(stream, single, None)
                    return
            finally:
                pinned.remove(pin)
        with self.dictionary.pins:  # nothing holds the elements' terms until the engine has them
            if not isinstance(elements, Elements) or time_ms is not None:
                origin = PUSHED
                pushing = self.pushing(stream, file)
                read, graphs = pushing.elements(elements, time_ms, format, time_predicate)
                if retract:
                    read = pushing.deleted(read)
                if isinstance(elements, str | bytes) and time_predicate is None:
                    text = elements.encode() if isinstance(elements, str) else elements
                    origin = _text_origin(file, line_shifts(text, len(read.times)))
                self._push(stream, read, None, origin, graphs)
            else:
                copied = checked_copy(elements, self.dictionary)  # the engine keeps what it is given
                self._push(stream, self.pushing(stream, file).deleted(copied) if retract else copied, None)

    def pushing(self, stream: str, file: str) -> Pushing:
        """What reads data of a stream: for `push`, and for recordings.

        Args:
            stream: The IRI of the stream.
            file: What errors name as the place of the data.

        Returns:
            It, with the options of the stream.
        """
        scope = self.blank_scope(stream)  # which says whether there is such a stream
        state = self.engine.streams[stream]
        return Pushing(self.dictionary, scope, file, state.retracts, state.graphs)

    def push_text(
        self,
        stream: str,
        text: str | bytes,
        *,
        format: str | None = None,
        time_ms: int | None = None,
        time_predicate: str | None = None,
        key: str | None = None,
        file: str = _NO_FILE,
        posted: bool = False,
        deadline: Deadline | None = None,
    ) -> int:
        """Push a document, at one time, or at the times that it says; once, where it has a key.

        A client that does not know whether its push arrived sends it again with the same key, and it counts once. The
        newest keys are kept, also in the checkpoint.

        Args:
            stream: The stream's IRI.
            text: Timed N-Triples; or RDF, with `time_ms` or `time_predicate`.
            format: `nt`, `nq`, `ttl`, `trig`, `jsonld`, `jsonld-lines` (a document a line), `n3` (read as Turtle),
                `rdfxml` or `patch` (RDF Patch). N-Triples, N-Quads or Turtle if not given. The first four, and `n3`,
                may be logs of RDF messages.
            time_ms: The event time of all triples, in milliseconds.
            time_predicate: The predicate whose objects are the times of messages, as dates or milliseconds. Where a
                message has one time only, it is that of all its triples; or else each graph or subject has its own.
            key: The key, chosen by the client.
            file: The name of the data in error messages, and in the records of `RegisteredQuery.why`.
            posted: Whether `RegisteredQuery.why` is to name the records `post:`, those of a request.
            deadline: When reading the text has to stop. What has been read is pushed without a limit.

        Returns:
            How many elements were pushed: 0 where it was pushed before.

        Raises:
            InputError: As `push`, and where the key was used for something else.
            QueryStoppedError: Reading the text took longer than the deadline allows; nothing is pushed.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> triple = "5\\t<http://example.org/a> <http://example.org/p> _:b ."
            >>> [session.push_text("http://example.org/s", triple, key="k1") for _ in range(2)]
            [1, 0]
        """
        body = text.encode() if isinstance(text, str) else text
        with self.dictionary.pins:  # nothing holds the elements' terms until the engine has them
            pushing = self.pushing(stream, file)
            with (deadline or current()).running():
                elements, graphs = pushing.elements(body, time_ms, format, time_predicate)
            shifts = None if time_predicate else line_shifts(body, len(elements.times))
            origin = TextOrigin("post", key, shifts) if posted else _text_origin(file, shifts, key)
            if key is None:
                is_new = self._push(stream, elements, None, origin, graphs)
            else:
                digest = blake2b(b"%b %b" % (stream.encode(), body), digest_size=16).hexdigest()
                is_new = self._push(stream, elements, (key, digest), origin, graphs)
        return len(elements.times) if is_new else 0

    def push_tables(
        self, stream: str, tables: Sequence[tuple[pa.Table, Layout]], *, key: tuple[str, str] | None = None
    ) -> int:
        """Push what a mapping has made of records, all at once; once, where it has a key with a digest of its content.

        Args:
            stream: The stream's IRI.
            tables: Tables with a row a record, each with its layout (`freshet.rdf.batch`).
            key: The key that the client has chosen, and a digest of what was sent with it.

        Returns:
            How many elements were pushed: 0 where they were pushed before.

        Raises:
            InputError: The stream is not known, or the key was used for something else.
        """
        from freshet.native.streams.stream import merge_in_order

        with self.dictionary.pins:  # nothing holds the elements' terms until the engine has them
            parts = [elements_of(table, layout, self.dictionary) for table, layout in tables]
            # Records make their triples one kind after the other, so the order means nothing: time decides.
            elements = merge_in_order([part for part in parts if len(part.times)] or parts[:1])
            is_new = self._push(stream, elements, key, TextOrigin("post", key[0] if key else None, None))
        return len(elements.times) if is_new else 0

    def push_recorded(
        self, stream: str, elements: Elements, origin: Origin | None, graphs: NDArray[np.int64] | None = None
    ) -> None:
        """Push elements of a recording, which nothing else holds.

        Args:
            stream: The stream's IRI.
            elements: Their times and the ids of their terms, as columns.
            origin: Names their records for `why`.
            graphs: The ids of the graphs that they are in, where the stream keeps them.
        """
        with self.dictionary.pins:
            self.engine.push(stream, elements, origin=origin, graphs=graphs)
        self.engine.collect_terms()
        self.engine.service_threads.hold_back()

    def _push(
        self,
        stream: str,
        elements: Elements,
        key: tuple[str, str] | None,
        origin: TextOrigin = PUSHED,
        graphs: NDArray[np.int64] | None = None,
    ) -> bool:
        """Push elements that have been checked, and are pinned; says whether they were not there under their key."""
        is_new, engine = True, self._engine or self._make_engine()
        if self._idle is not None:
            self._idle.hear(stream)
        if self._durable is not None:
            is_new = self._durable.push(stream, elements, key, origin, graphs)
        elif key is None:
            engine.push(stream, elements, origin=None if origin is PUSHED or origin.is_plain else origin, graphs=graphs)
        else:
            with engine.loading():  # one that is sent again meanwhile waits
                is_new = not self._keys.is_known(*key)
                if is_new:
                    engine.push(stream, elements, origin=origin, graphs=graphs)
                    self._keys.add(*key)
        engine.collect_terms()
        engine.service_threads.hold_back()
        return is_new

    @property
    def folder(self) -> Path | None:
        """The checkpoint's folder, where there is one."""
        return self._folder

    @property
    def has_engine(self) -> bool:
        """Whether a stream or a query has been declared: one-shot queries need no engine."""
        return self._engine is not None

    @property
    def trouble(self) -> str:
        """Why checkpoints or reports cannot be written, or nothing."""
        troubles = [] if self._durable is None else [self._durable.trouble]
        troubles += [] if self.report_log is None else [self.report_log.trouble]
        return next(filter(None, troubles), "")

    def positions(self) -> dict[str, Position]:
        """How much of each stream the checkpoint has, so that a source knows from where to send again.

        Returns:
            The number of batches (pushes) and elements by the streams' IRIs.

        Raises:
            InputError: The session has no checkpoint.

        Example:
            >>> import tempfile
            >>> import freshet
            >>> with freshet.Session(checkpoint=tempfile.mkdtemp()) as session:
            ...     session.stream("http://example.org/s")
            ...     session.push("http://example.org/s", "<http://example.org/a> <http://example.org/n> 1 .", time_ms=5)
            ...     position = session.positions()["http://example.org/s"]
            ...     print(position.batches, position.elements)
            1 1
        """
        if self._durable is None:
            raise InputError("positions are kept where the session has a checkpoint")
        return self._durable.positions()

    def checkpoint(self) -> bool:
        """Make a checkpoint now, in addition to those made in the background.

        Returns:
            Whether there was anything new to write. False without a checkpoint folder.

        Example:
            >>> import freshet
            >>> freshet.Session().checkpoint()
            False
        """
        return self._durable is not None and self._durable.make_checkpoint()

    def close(self) -> None:
        """End the session, the threads of queries with SERVICE, and the use of the checkpoint folder.

        Reports that were taken count as received.
        """
        if self._idle is not None:
            self._idle.close()
        if self._engine is not None:
            self._engine.close()
        self.services.close()
        if self._durable is not None:
            self._durable.close()
        if self.report_log is not None:
            self.report_log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def blank_scope(self, stream: str) -> str:
        """What stands before the labels of a stream's blank nodes, so that streams do not share them.

        Args:
            stream: The stream's IRI.

        Returns:
            The prefix of the labels.

        Raises:
            InputError: The stream is not known.
        """
        scope = self._blank_scopes.get(stream)
        if scope is None:
            self.engine.check_stream(stream)
            scope = self._blank_scopes[stream] = f"s{list(self.engine.streams).index(stream)}"
        return scope

    def advance(self, stream: str, watermark_ms: int) -> None:
        """Move the watermark of a stream: all of its elements before a time have arrived.

        Windows that close at or before that time are reported, once all streams of the query have got so far.

        Args:
            stream: The stream's IRI.
            watermark_ms: The time in milliseconds.

        Raises:
            InputError: The stream is not known, or the time is out of range.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> query = session.register('''
            ...     REGISTER RSTREAM <q> AS SELECT ?s
            ...     FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
            ...     WHERE { WINDOW <w> { ?s ?p ?o } }''')
            >>> session.push("http://example.org/s", "100\\t<http://example.org/a> <http://example.org/p> _:b .")
            >>> len(query.take())
            0
            >>> session.advance("http://example.org/s", 1000)
            >>> [report.time_ms for report in query.take()]
            [1000]
        """
        watermark_ms = check_whole_number(watermark_ms, "a watermark in milliseconds")
        if self._idle is not None:
            self._idle.hear(stream)
        self._advance(stream, watermark_ms)

    def _advance(self, stream: str, watermark_ms: int) -> None:
        if self._durable is None:
            self.engine.advance(stream, watermark_ms)
        else:
            self._durable.advance(stream, watermark_ms)

    def finish(self) -> None:
        """End all streams: every window that has content closes, and queries with SERVICE report what is left.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> query = session.register('''
            ...     SELECT ?n FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
            ...     WHERE { WINDOW <w> { ?s <http://example.org/n> ?n } }''')
            >>> session.push("http://example.org/s", "<http://example.org/a> <http://example.org/n> 1 .", time_ms=100)
            >>> len(query.take())
            0
            >>> session.finish()
            >>> [report.time_ms for report in query.take()]
            [1000]
        """
        if self._durable is None:
            self.engine.finish()
        else:
            self._durable.finish()

    def drain(self) -> None:
        """Wait until queries with SERVICE, which have threads of their own, have taken in everything that was pushed.

        Other queries report before `push` returns.
        """
        self.engine.drain()

    def prepare(
        self,
        text: str,
        *,
        file: str | None = None,
        dialect: str | None = None,
        default_graphs: Collection[str] = (),
        named_graphs: Collection[str] = (),
    ) -> Query:
        """Parse and rewrite a one-shot query, to be answered any number of times.

        Args:
            text: The query.
            file: The file of the text, for error messages.
            dialect: `sparql`, `rspql`, `csparql` or `cqels`. Recognised if not given.
            default_graphs: The stored graphs that the default graph is the merge of, in place of those of FROM.
            named_graphs: The named graphs, in place of those of FROM NAMED. If either is given, it is both that count.

        Returns:
            The query, which `query` takes in place of text.

        Raises:
            QuerySyntaxError: The text is not a query. The message has line and column.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> query = session.prepare("ASK { ?room <http://example.org/floor> 1 }")
            >>> bool(session.query(query))
            False
            >>> session.update("INSERT DATA { <http://example.org/hall> <http://example.org/floor> 1 }").inserted
            1
            >>> bool(session.query(query))
            True
        """
        query = with_dataset(parse_like_before(text, file=file, dialect=dialect), default_graphs, named_graphs)
        return rewrite(bind_functions(query, self.functions))

    def query(
        self,
        query: str | Query,
        *,
        file: str | None = None,
        dialect: str | None = None,
        timeout_seconds: float | None = None,
        memory_bytes: int | None = None,
        deadline: Deadline | None = None,
        at: int | str | datetime | None = None,
    ) -> Answer:
        """Answer a query once, over the stored data as they are now, or as they were at a time.

        Windows of streams that are kept (`keep_ms`) have the content with which they closed last before the time that
        all streams of the query have reached. Windows and stored data are those of one moment.

        Args:
            query: The text, or what `prepare` gave.
            file: The file of the text, for error messages.
            dialect: `sparql`, `rspql`, `csparql` or `cqels`. Recognised if not given.
            timeout_seconds: The longest time that the query may take, from its text to its answer.
            memory_bytes: The most that the query's intermediate results and its answer may take at a time.
            deadline: A deadline that another thread can cancel, in place of `timeout_seconds` and `memory_bytes`.
            at: A time of the past, in milliseconds or as a date: the stored data are as they were after all that was
                absorbed before it, as far back as `history` says (docs/how-to/update-a-graph.md).

        Returns:
            Solutions for SELECT, a BooleanAnswer for ASK, a GraphAnswer for CONSTRUCT and DESCRIBE.

        Raises:
            QuerySyntaxError: The text is not a query. The message has line and column.
            UnsupportedError: The query has something that is not supported.
            QueryStoppedError: The time is over, there is no more memory, or the deadline was cancelled.
            ServiceError: An endpoint gave no answer, and the SERVICE is not SILENT.

        Example:
            >>> import freshet
            >>> answer = freshet.Session().query("SELECT (1 + 2 AS ?sum) {}")
            >>> answer.to_arrow().to_pydict()
            {'sum': [3]}
        """
        if not isinstance(query, str | Query):
            raise InputError(f"a query is a text, or what prepare gave, not {type(query).__name__}")
        try:
            with (deadline or Deadline(timeout_seconds, memory_bytes)).running(), self.dictionary.pins:
                prepared = self.prepare(query, file=file, dialect=dialect) if isinstance(query, str) else query
                snapshot = self.dataset() if at is None else self._dataset_at(at, prepared)
                found = answer(
                    prepared,
                    snapshot,
                    self.dictionary,
                    services=self.services,
                    windows=window_contents(prepared, self.engine.streams, snapshot) if prepared.windows else None,
                )
                if not isinstance(found, BooleanAnswer):
                    collector = self._collector if self._engine is None else self._engine.collector
                    collector.keep(found)
                return found
        except MemoryError:  # also Arrow's
            raise QueryStoppedError("the query needs more memory than there is") from None
        except UnsupportedError as error:
            raise error if error.file or not file else UnsupportedError(error.message, file=file) from None

    def update(
        self,
        update: str | Update,
        *,
        file: str | None = None,
        timeout_seconds: float | None = None,
        memory_bytes: int | None = None,
        deadline: Deadline | None = None,
        files: bool = True,
    ) -> UpdateCounts:
        """Change the stored graphs by SPARQL Update: all operations of the request, or none.

        Readers see the graphs before the request or after it. Patterns see what the operations before have done. A
        blank node in what is inserted is a new one for each solution.

        Args:
            update: The text, or what `prepare_update` gave.
            file: The file of the text, for error messages.
            timeout_seconds: The longest time that the request may take before anything is changed.
            memory_bytes: The most that intermediate results may take at a time.
            deadline: A deadline that another thread can cancel, in place of `timeout_seconds` and `memory_bytes`.
            files: Whether LOAD may read `file:` IRIs. Documents of the web are loaded from hosts that `services` names.

        Returns:
            How many triples were inserted that were not there, and how many were deleted that were.

        Raises:
            QuerySyntaxError: The text is not an update. The message has line and column.
            InputError: An operation cannot be done, such as CREATE of a graph that exists, without SILENT.
            QueryStoppedError: The time is over, there is no more memory, or the deadline was cancelled.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.update("INSERT DATA { <http://e/a> <http://e/p> 1, 2 }")
            UpdateCounts(inserted=2, deleted=0)
            >>> session.update("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER (?o > 1) }")
            UpdateCounts(inserted=0, deleted=1)
        """
        if not isinstance(update, str | Update):
            raise InputError(f"an update is a text, or what prepare_update gave, not {type(update).__name__}")
        try:
            with (deadline or Deadline(timeout_seconds, memory_bytes)).running(), self.dictionary.pins:
                asked = self.prepare_update(update, file=file) if isinstance(update, str) else update
                read_document = documents_of(asked, self.dictionary, self.services, files=files)

                def changes(graphs: DatasetSnapshot) -> StoreChanges:
                    return changes_of(asked, graphs, self.dictionary, self.services, read_document)

                return UpdateCounts(*self._update(changes))
        except MemoryError:  # also Arrow's
            raise QueryStoppedError("the update needs more memory than there is") from None
        except InputError as error:
            error.file = error.file or file
            raise

    def prepare_update(self, text: str, *, file: str | None = None, base: str | None = None) -> Update:
        """Parse an update, to be done any number of times.

        Args:
            text: The update.
            file: The file of the text, for error messages.
            base: What relative IRIs are resolved against, where the text has no BASE.

        Returns:
            The update, which `update` takes in place of text.

        Raises:
            QuerySyntaxError: The text is not an update. The message has line and column.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> update = session.prepare_update("INSERT DATA { <http://example.org/a> <http://example.org/p> 1 }")
            >>> session.update(update).inserted, session.update(update).inserted
            (1, 0)
        """
        return bind_functions_of_update(parse_update(text, file=file, base=base), self.functions)

    def _update(self, changes: Callable[[DatasetSnapshot], StoreChanges]) -> tuple[int, int]:
        """Make the changes that the graphs as they are now ask for; nothing else changes them meanwhile."""
        if self._durable is not None:
            return self._durable.update(changes)
        with self._making_engine:
            if self._engine is None:
                with self.stored.changing:
                    return self.stored.apply(changes(self.stored.named()))
        with self._engine.loading(), self.stored.changing:
            return self._engine.update(changes(self.stored.named()))

    def explain(
        self, text: str, *, file: str | None = None, dialect: str | None = None, live: bool = False
    ) -> Explanation:
        """Explain how a query is understood, and by which operators it is answered. Nothing is run.

        Args:
            text: The query, one-shot or continuous.
            file: The file of the text, for error messages.
            dialect: `sparql`, `rspql`, `csparql` or `cqels`. Recognised if not given.
            live: Whether to show how a query without a window is kept answered as a live query, in place of the plan
                after rewriting.

        Returns:
            The explanation. `print` shows it as a tree, and so does a notebook; `json()` gives the same as objects.

        Raises:
            QuerySyntaxError: The text is not a query. The message has line and column.

        Example:
            >>> import freshet
            >>> print(freshet.Session().explain("SELECT ?s { ?s ?p 1 FILTER (true) }"))
            SELECT query
            plan
              Project ?s
              Filter true
              BGP ?s ?p 1
            plan after rewriting
              Project ?s
              BGP ?s ?p 1
        """
        from freshet.runtime.explaining import explain

        return explain(text, file=file, dialect=dialect, optimized=None, live=live)

    def bindings(self, answer: Answer | Report) -> Iterator[dict[str, Term]]:
        """The solutions of an answer as dictionaries of terms, as `answer.bindings()` gives them.

        Args:
            answer: The answer to a SELECT query, or a report. A report of CONSTRUCT has a dictionary for each triple:
                subject, predicate, object.

        Yields:
            The terms of a solution by the names of its variables. Unbound variables are left out.

        Raises:
            InputError: The answer is that of ASK, CONSTRUCT or DESCRIBE.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> answer = session.query("SELECT ?x { BIND ('one' AS ?x) }")
            >>> [row["x"].lexical for row in session.bindings(answer)]
            ['one']
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
        if self.report_log is not None:
            self.report_log.end(query, f"it failed: {reason}")
        failure = QueryFailure(query, reason)
        self.failures.append(failure)
        if self._on_failure is not None:
            report_failure(self._on_failure, failure)

    def ndjson(self, report: Report | AnswerBatch) -> bytes:
        """A report as one line of JSON, as `freshet replay --format ndjson` writes it.

        Args:
            report: The report, or a batch of reports.

        Returns:
            The line with its newline, or all lines of a batch.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> session.stream("http://example.org/s")
            >>> query = session.register('''
            ...     SELECT ?s FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
            ...     WHERE { WINDOW <w> { ?s ?p ?o } }''', name="all")
            >>> session.push("http://example.org/s", "<http://example.org/a> <http://example.org/n> 1 .", time_ms=100)
            >>> session.finish()
            >>> print(session.ndjson(query.take()[0]).decode().strip())
            {"query":"all","time":1000,"stream":"rstream","bindings":[{"s":{"type":"uri","value":"http://example.org/a"}}]}
        """
        return batch_json(report) if isinstance(report, AnswerBatch) else report_json(report, self.dictionary)

    def arrow(self, answer: Answer | Report) -> pa.RecordBatch:
        """An answer or a report as Arrow, with the terms as they are. `answer.to_arrow()` gives typed values.

        Args:
            answer: The answer or report.

        Returns:
            A column for each variable. Each term is a struct of type, value, datatype and language.

        Example:
            >>> import freshet
            >>> session = freshet.Session()
            >>> batch = session.arrow(session.query("SELECT ?x { BIND ('one' AS ?x) }"))
            >>> term = batch.column("x")[0].as_py()
            >>> term["type"], term["value"]
            ('literal', 'one')
        """
        return record_batch(answer, self.dictionary)


def _text_origin(file: str, shifts: Shifts | None, key: str | None = None) -> TextOrigin:
    """Where the elements of a pushed text come from: its file, where it has a name."""
    return TextOrigin("push", key, shifts) if file == _NO_FILE else TextOrigin("file", file, shifts)


def _measurements(asked: DurableRegistration) -> Measurements | None:
    from freshet.native.measuring import Measurements

    return Measurements() if asked.measured else None
