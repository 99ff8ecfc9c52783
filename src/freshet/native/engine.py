"""The native engine: streams in, reports out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import NamedTuple, ParamSpec

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.nodes import Query
from freshet.algebra.user_functions import UserFunctions, bind_functions
from freshet.algebra.windows import AllWindow, EventTimeWindow
from freshet.federation.client import ServiceClient
from freshet.federation.evaluation import Constraints
from freshet.native.buffers.one_way_index import Ids
from freshet.native.engine_lock import EngineLock
from freshet.native.failures import reason_of, warn_failed
from freshet.native.measuring import Measurements
from freshet.native.memory.term_collector import TermCollector
from freshet.native.memory.window_budget import WindowBudget, WindowRoom
from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME, close_at
from freshet.native.operators.service_views import ViewSource
from freshet.native.plan.expand import expand_windows
from freshet.native.plan.lower import lower, lower_live
from freshet.native.plan.plan import Plan
from freshet.native.plan.plan_reads import (
    asks_services,
    predicates_of,
    reads_stored,
)
from freshet.native.queries.catch_up import catch_up
from freshet.native.queries.live_queries import NO_LIMITS, LiveQueries, OnChange
from freshet.native.queries.placement import Placement, QueryRegistration
from freshet.native.queries.query_factory import EngineStore, QueryFactory
from freshet.native.query_group import QueryGroup
from freshet.native.reentrant_call_queue import ReentrantCallQueue
from freshet.native.service.service_thread import ServiceQueryThread
from freshet.native.service.service_threads import ServiceQueryThreads
from freshet.native.streams.constructed_stream import ConstructedStream
from freshet.native.streams.element_log import ElementLog, HeldElements, Origin
from freshet.native.streams.graph_changes import GraphChanges
from freshet.native.streams.kept_windows import KeptWindows
from freshet.native.streams.stream import StreamState, as_contiguous
from freshet.native.streams.stream_router import AnyGroup, StreamRouter
from freshet.native.timing import Counted, Timing, timing_of
from freshet.rdf.deadline import QueryLimits
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError, InputError, UnsupportedError
from freshet.rdf.terms import Iri
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.results.answers import AnswerBatch, ReportCallback
from freshet.results.report import Freshness, Report
from freshet.store.changes import StoreChanges
from freshet.store.pending_changes import PendingChanges

P = ParamSpec("P")


class AskedQuery(NamedTuple):
    """A query as it was registered: how many streams there were then, and after which elements it begins, and from
    which time on."""

    query: Query
    streams: int
    begin: int
    since_ms: int = BEFORE_ALL_TIME


class HeldForQuery(NamedTuple):
    """What is still there of the elements that a query has read.

    The query has its windows on streams with names. `sources` are by the names that `source_of` gives, `absorbed` the
    streams that leave triples in the stored graph, `bases` those that others are derived from; `constructed` are the
    names of those that are answers of queries.
    """

    query: Query
    timing: Timing
    sources: dict[str, HeldElements]
    absorbed: dict[str, HeldElements]
    bases: dict[str, HeldElements]
    constructed: frozenset[str]
    most: int  # elements of a stream that are kept


class Engine:
    """Registered queries over streams and the stored graphs. Calls may come from several threads.

    Pushes into streams that no query reads together run beside each other, everything else alone (`EngineLock`).

    A query that fails is removed, and `on_failure` gets its name and the reason; the others go on. A callback may
    register and unregister queries; what it pushes comes after what is being pushed.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        graphs: EngineStore,
        on_failure: Callable[[str, str], None] | None = None,
        views: ViewSource | None = None,
        window_bytes: int | None = None,
        collector: TermCollector | None = None,
        why_elements: int = 0,
    ) -> None:
        self.dictionary = dictionary
        self.functions: UserFunctions = {}  # that queries may call, by their IRIs
        self.services: ServiceClient | None = None  # that are asked again for explanations
        self.log = ElementLog(why_elements)
        self._router = StreamRouter(dictionary, self.log)
        self._changes = GraphChanges(self._router, graphs)
        graphs.history.now_ms = self._router.furthest_ms
        self._router.on_ended = lambda: self._change_graph(ended=True)
        self.streams = self._router.streams
        self._graphs = graphs
        self._report_failure = on_failure or warn_failed
        self._queries: dict[str, AnyGroup] = {}
        self._takers: dict[str, Callable[[AnswerBatch], None]] = {}
        self._timings: dict[str, Timing] = {}
        self._asked: dict[str, AskedQuery] = {}
        self._members: Counter[AnyGroup] = Counter()  # how many queries each group has
        self.on_silent_evaluation: Callable[[str, Freshness], None] | None = (
            None  # evaluations with SERVICE that report nothing
        )
        self._factory = QueryFactory(
            dictionary, graphs, self._failed, self._member_failed, views, self._silent_evaluation
        )
        self.collector = collector or TermCollector(dictionary)
        self._kept = KeptWindows(graphs, self._router.common_watermark)
        self._counted: dict[str, Counted] = {}
        self._budget = WindowBudget(window_bytes, self._router, (graphs, dictionary))
        self._lock = EngineLock()
        self._calls = ReentrantCallQueue(self._lock)
        self.service_threads = ServiceQueryThreads(self._lock)
        self._placement = Placement(
            self._router, graphs, self._factory, self.service_threads, self._members, self, self._failed
        )
        self._plans = self._placement.plans
        self.live = LiveQueries(dictionary, self.collector, self._factory, self._live_failed)
        self._is_graph_changed = False  # by streams, so that what others leave there has to come in the order of time
        self._loads = 0  # that belong together and are not done yet
        self._is_loaded = False  # whether live queries are to look at the stored graphs after these

    def declare(self, stream: StreamState) -> None:
        """Make a stream known, with its lateness and what it leaves in the stored graph."""
        with self._lock:
            if stream.iri in self.streams:
                raise InputError(f"the stream <{stream.iri}> is declared twice")
            if stream.iri in self._router.constructed:
                raise InputError(f"the stream <{stream.iri}> has the answers of the query {stream.iri}")
            self.streams[stream.iri] = stream
            if stream.absorb is not None:
                self._check_graph_changes(stream)
            self._is_graph_changed |= stream.changes_graph
            if stream.absorb is not None:
                for name, group in self._queries.items():
                    if self._router.feeds_stored(stream, self._timings[name]):
                        group.streams.add(stream.iri)
                self._connect()

    def _check_graph_changes(self, stream: StreamState) -> None:
        """Take a stream back with which a registered query would wait for ever."""
        try:
            for query, timing in self._timings.items():
                self._router.check_graph_changes(query, timing)
        except UnsupportedError:
            del self.streams[stream.iri]
            raise

    def keep_windows(self, stream: str, keep_ms: int, budget_bytes: int) -> None:
        """Keep the last elements of a stream, so that one-shot queries can ask for them."""
        with self._lock:
            state = self._stream(stream)
            state.keep_ms = keep_ms
            self._kept.declare(state, budget_bytes)
            self.log.keep(stream, lambda: self._router.common_watermark(stream) - keep_ms, budget_bytes)
            self._connect()

    def free_windows(self) -> None:
        """Keep of each stream no more than the last elements that it has to, and say so to one-shot queries."""
        with self._lock:
            for state in self.streams.values():
                if state.keep_ms:
                    self._kept.free(state)

    @property
    def names(self) -> list[str]:
        """The names of the registered queries, live ones too."""
        return [*self._queries, *self.live.names]

    def register(
        self,
        name: str,
        query: Query,
        on_report: Callable[[Report], None] | None = None,
        *,
        on_answers: Callable[[AnswerBatch], None] | None = None,
        file: str | None = None,
        report: str | Collection[str] = (),
        every_ms: int | None = None,
        limits: QueryLimits | None = None,
        measurements: Measurements | None = None,
        constraints: Constraints | None = None,
        since_ms: int | None = None,
        is_replayed: bool = False,
    ) -> Plan:
        """Keep a continuous query answered from now on, over what comes from now on.

        Either `on_report` gets its reports, or `on_answers` gets them in batches.

        `report` names conditions for a moment to count: close, change, non-empty. `every_ms` has it computed at
        multiples of a period, as COMPUTED EVERY does. A query that takes more than `limits` over one step is removed.
        What its operators do is written to `measurements`.

        With `since_ms` it begins in the past, with the elements from a time on: `catch_up` takes it through these.
        What is not there any more is an error, unless the call is replayed.
        """
        with self._lock:
            query = bind_functions(query, self.functions)
            asked_now = AskedQuery(self._router.beginning_now(query), len(self.streams), self.log.begin())
            plan = lower(asked_now.query, streams=list(self.streams), file=file)
            if not query.windows:
                raise InputError(f"the query {name} has no window, so it is not continuous", file=file)
            if constraints is not None and constraints != Constraints() and not asks_services(plan):
                raise InputError(
                    f"the query {name} has no SERVICE, so there is no accuracy or latency to ask for", file=file
                )
            self._check_name(name)
            timing = timing_of(plan, query.period_ms if every_ms is None else every_ms, report, file)
            self._check_streams(name, plan, timing, file)
            if since_ms is not None:
                asked_now = asked_now._replace(begin=0, since_ms=since_ms)
                self._check_since(name, plan, timing, since_ms, file, is_replayed=is_replayed)
            self._router.make_derived(timing)
            timing = timing.going_on(self._counted.pop(name, ()))
            taker = on_answers or self._one_by_one(name, on_report)
            deliver = taker
            if plan.template is not None:
                deliver = self._constructing(name, taker, one_by_one=on_answers is None)
            asked = QueryRegistration(name, plan, timing, deliver, limits, measurements, constraints)
            try:
                group, plan = self._placement.place(asked, apart=since_ms is not None)
                if since_ms is not None:
                    self._placement.behind.add(group)
                self._queries[name], self._timings[name], self._asked[name] = group, timing, asked_now
                self._takers[name] = taker
                self._members[group] += 1
            except BaseException as error:
                self._router.constructed.pop(name, None)
                for each in self._groups():  # what it had asked for
                    each.free()
                self._connect()
                if isinstance(error, FreshetError):
                    error.file = error.file or file
                raise
            if self._router.reads_stored(group, timing) or self._members[group] == 1:
                self._connect()
            return plan

    def register_live(
        self,
        name: str,
        query: Query,
        on_change: OnChange,
        *,
        file: str | None = None,
        limits: QueryLimits | None = None,
        measurements: Measurements | None = None,
        held: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Plan:
        """Keep a query without a window answered: first its whole answer, then each change with the stored graphs.

        The caller does not wait for the first answer: what is stored meanwhile is reported after it. Queries with equal
        plans share one, but for those that are measured. What callers hold around pushes is `held` before the lock.
        The first answer has the current deadline, `limits` are those of the steps after it.
        """
        self._check_name(name)
        plan = lower_live(bind_functions(query, self.functions), file=file)
        limits = limits or NO_LIMITS
        on_change = self.one_at_a_time(on_change)
        with self.dictionary.pins:  # nothing holds the operators' terms until the query is followed
            live = self._factory.live_query(plan, measurements)
            answer = self.live.first_answer(live)
            with held(), self._lock:
                self._check_name(name)
                self.live.add(name, live, limits, answer, on_change, shares=measurements is None)
        return plan

    def _check_since(
        self, name: str, plan: Plan, timing: Timing, since_ms: int, file: str | None, *, is_replayed: bool
    ) -> None:
        """What a query reads that begins in the past is there from that time on."""
        if self._lock.is_pushing:
            raise InputError(f"a callback cannot register the query {name} with a beginning in the past", file=file)
        if asks_services(plan):
            raise UnsupportedError(f"the query {name} has SERVICE: it cannot begin in the past", file=file)
        for stream in timing.streams:
            if stream not in self.streams:
                what = "reads answers of another query, or times of elements"
                raise UnsupportedError(f"the query {name} {what}: it cannot begin in the past", file=file)
            if not self.streams[stream].keep_ms:
                message = f"the query {name} begins in the past, and the stream <{stream}> keeps no elements"
                raise InputError(message, file=file, hint="declare it with keep_ms")
            gone_ms = self.log.held(stream, 0).gone_ms
            if gone_ms >= since_ms and not is_replayed:
                message = f"the stream <{stream}> no longer has its elements from {since_ms} on: they are there from"
                raise InputError(f"{message} {gone_ms + 1} on", file=file)
        changed_ms = self._graphs.history.changed_ms()
        if reads_stored(plan) and changed_ms > since_ms and not is_replayed:
            message = f"the query {name} reads the stored data, which were changed, or compacted, since {since_ms}"
            raise InputError(f"{message}: it can begin from {changed_ms} on", file=file)

    def catch_up(self, name: str) -> None:
        """Take a query that begins in the past to where the others are."""
        self._calls.run(None, self._catch_up, name)

    def _catch_up(self, name: str) -> None:
        group, timing, reach_ms = self._queries[name], self._timings[name], self._router.reach_of(self._queries[name])
        assert isinstance(group, QueryGroup), "it has no thread"
        # What is still to come may be older than the time that it begins at.
        since_ms = min(self._asked[name].since_ms, reach_ms)
        self._asked[name] = asked = self._asked[name]._replace(since_ms=since_ms)
        held = {stream: self._held_from(asked, stream) for stream in timing.streams}
        catch_up(group, held, reach_ms, lambda: group in self._placement.behind)
        if group in self._placement.behind:
            self._placement.behind.discard(group)
            self._router.reads_stored(group, timing)
            self._connect()

    def _held_from(self, asked: AskedQuery, stream: str) -> HeldElements:
        """What is there of the elements that a query sees."""
        held = self.log.held(stream, asked.begin)
        return held.where(np.flatnonzero(held.times >= asked.since_ms))

    def _check_name(self, name: str) -> None:
        if name in self._queries or name in self.live:
            raise InputError(f"a query named {name} is registered already")

    def _check_streams(self, name: str, plan: Plan, timing: Timing, file: str | None) -> None:
        """The streams that a query reads are there, and its own answers are none of them, nor have another's name."""
        if plan.template is not None and name in timing.base_streams:
            raise InputError(f"the query {name} reads its own answers: the stream <{name}>", file=file)
        if plan.template is not None and name in self.streams:
            raise InputError(
                f"the answers of the query {name} are a stream of this name, and a stream <{name}> is declared already",
                file=file,
            )
        self._router.check_streams(name, timing, file)
        for source in timing.base_streams & self._router.constructed.keys():
            if isinstance(self._queries[source], ServiceQueryThread):
                raise UnsupportedError(
                    f"the query {name} reads the answers of the query {source}, which has SERVICE: not supported yet",
                    file=file,
                )

    def _constructing(
        self, name: str, on_answers: Callable[[AnswerBatch], None], *, one_by_one: bool
    ) -> Callable[[AnswerBatch], None]:
        """Reports of a CONSTRUCT are elements of a stream too.

        A callback that gets them `one_by_one` may register their first reader, which begins with the next one.
        """
        stream = self._router.constructed[name] = ConstructedStream(name)

        def deliver(batch: AnswerBatch) -> None:
            parts = [batch]
            if one_by_one and not stream.is_read:
                parts = [batch.part(at, at + 1) for at in range(len(batch))]
            for part in parts:
                stream.put(part)
                on_answers(part)

        return deliver

    def readers(self, name: str) -> list[str]:
        """The queries that read the answers of a query."""
        return [other for other, timing in self._timings.items() if name in timing.base_streams]

    def derivations(self) -> dict[str, frozenset[str]]:
        """For each query that reads the answers of others the names of these."""
        with self._lock:
            constructed = self._router.constructed.keys()
            if not constructed:  # this is asked with every mark of a checkpoint
                return {}
            found = {name: frozenset(timing.base_streams & constructed) for name, timing in self._timings.items()}
            return {name: sources for name, sources in found.items() if sources}

    def unregister(self, name: str) -> None:
        """Forget a query, and what only it needed."""
        with self._lock:
            if name in self.live:
                self.live.remove(name)
                return
            if name not in self._queries:
                raise InputError(f"there is no query named {name}")
            if name in self._router.constructed and (readers := self.readers(name)):
                raise InputError(f"the query {readers[0]} reads the answers of the query {name}: unregister it first")
            group, known_as = self._queries[name], self._plans.group_name(name)
            self._leave(name)
            if self._plans.leave(name):
                group.remove(known_as)
            self._connect()

    def check_stream(self, stream: str) -> None:
        """Raise an InputError where there is no stream of this name that elements can be pushed to."""
        self._stream(stream)

    def can_read(self, stream: str) -> bool:
        """Whether there is a stream of this name that a query can read."""
        return self._router.state_of(stream) is not None

    def check_room(self, stream: str, elements: Elements) -> None:
        """Raise the BudgetError that a push of these elements would raise; nothing is done with them."""
        with self._lock:
            self._budget.check(self._stream(stream), len(elements.times))
            self._kept.check_room(self._stream(stream), elements)

    def window_bytes(self) -> int:
        """What the windows of registered queries hold."""
        with self._lock:
            return self._budget.held_bytes()

    def window_room(self, stream: str) -> WindowRoom:
        """What windows hold, what they may hold, and what an element of a stream would take of it."""
        with self._lock:
            return self._budget.room_for(self._stream(stream).iri)

    def push(
        self,
        stream: str,
        elements: Elements,
        *,
        admitted: bool = False,
        batch: int | None = None,
        origin: Origin | None = None,
        graphs: NDArray[np.int64] | None = None,
    ) -> None:
        """Elements of a stream in the order they came; windows must have room for them where they were not admitted
        before. They are a `batch` with a number, where batches are counted, and come from `origin`; `graphs` are those
        that they are in. Their arrays are held: they must not be changed any more.
        """
        state = self.streams.get(stream) or self._stream(stream)
        if self._lock.is_pushing:  # it is done later: the caller can be given errors only now
            if not admitted:
                self._budget.check(state, len(elements.times))
            if state.keep_ms:
                with self._lock:
                    self._kept.check_room(state, elements)
            admitted = True
        self._calls.run(stream, self._push, state, elements, admitted, batch, origin, graphs)
        if not len(self.dictionary.pinned):  # else the caller, who may have one, collects them after it
            self.collect_terms()

    def _push(
        self,
        state: StreamState,
        elements: Elements,
        admitted: bool,
        batch: int | None,
        origin: Origin | None,
        graphs: NDArray[np.int64] | None,
    ) -> None:
        elements = as_contiguous(elements)
        count = len(elements.times)
        if count > self._budget.room and not admitted:
            self._budget.check(state, count)
        if state.retracts:
            state.note_deletions(elements)
        if self.dictionary.is_sweeping:
            self.dictionary.note(elements.subjects, np.abs(elements.predicates), elements.objects)
            if graphs is not None:
                self.dictionary.note(graphs)
        elements = self._kept.accept(state, elements) if state.keep_ms else state.accept(elements)
        rows = None
        if len(elements.times) not in (count, 0) and state.on_time is not None:
            rows = np.flatnonzero(state.on_time)
            graphs = None if graphs is None else graphs[rows]
        self.log.add(state.iri, elements, batch, origin, rows)
        absorbed = None if state.absorb is None else self._absorb(state, elements)
        self._budget.take(count)
        self._router.push(state, elements, graphs)
        self._advance(state)
        if absorbed is not None:
            self.live.follow(absorbed.predicates)
        if state.absorb is not None:
            self._graphs.compact_if_due(self._router.least_watermark)

    def compact_stored(self) -> int:
        """Make what was absorbed before all watermarks part of the stored graph's base at once; gives how many rows."""
        with self._lock:
            return self._graphs.compact(self._router.least_watermark())

    def note_gone(self, stream: str, until_ms: int) -> None:
        """Elements of a stream up to a time came before a restart and do not come again, nor what was made of them."""
        with self._lock:
            for name in (stream, *self._router.derived, *self._router.constructed):
                self.log.note_gone(name, until_ms)

    def held_for(self, name: str) -> HeldForQuery:
        """What is still there of the elements that a query has read, by its streams, and of those that were absorbed.

        Raises:
            InputError: There is no query of this name.
        """
        with self._lock:
            if name not in self._asked:
                raise InputError(f"there is no query named {name}")
            asked, timing = self._asked[name], self._timings[name]
            sources = {source: self._held_from(asked, source) for source in timing.streams}
            absorbed = {iri: self.log.held(iri, 0) for iri, state in self.streams.items() if state.absorb is not None}
            constructed = frozenset(timing.base_streams & self._router.constructed.keys())
            return HeldForQuery(
                expand_windows(asked.query, list(self.streams)[: asked.streams]),
                timing,
                sources,
                absorbed,
                {base: self.log.held(base, 0) for base in timing.base_streams - sources.keys()},
                constructed,
                self.log.most,
            )

    def collect_terms(self) -> None:
        """Drop terms that nothing holds any more, if it is time to."""
        if self.collector.is_due():
            with self._lock:
                if self._lock.is_occupied:  # a report is being taken, and others of the same moment are nowhere yet
                    return
                if not self.collector.is_due():  # another thread has just done it
                    return
                derived = (self._router.derived, self._router.constructed, self.log)
                held = (self.streams, self._graphs, self._changes, self._groups(), derived, self._plans, self.live)
                with ExitStack() as paused:
                    if all(paused.enter_context(thread.pause()) for thread in self.service_threads.all()):
                        self.collector.sweep(*held)

    def advance(self, stream: str, watermark_ms: int) -> None:
        """Say that everything before a time has come."""
        self._calls.run(stream, self._advance_to, self._stream(stream), watermark_ms)

    def partner_watermark(self, stream: str) -> int:
        """How far the furthest of the streams has come that queries wait for together with a stream."""
        with self._lock:
            return self._router.partner_watermark(stream)

    def common_watermark(self, stream: str) -> int:
        """How far a stream has come, and all others that queries wait for together with it."""
        with self._lock:
            return self._router.common_watermark(stream)

    def finish(self) -> None:
        """Say that all streams have ended: every window that has content closes."""
        self.end()
        self.drain()

    def end(self) -> None:
        """The same, without waiting for queries that have threads of their own."""
        self._calls.run(None, self._router.end)

    def drain(self, most: int = 0) -> None:
        """Wait until the queries that have threads of their own have at most `most` elements left to take in."""
        self.service_threads.drain(most)

    def close(self) -> None:
        """End the threads of queries that have one."""
        self.service_threads.close()

    def passed(self) -> dict[str, int]:
        """For each query the last moment up to which everything has been reported."""
        with self._lock:
            return {name: close_at(group.passed_ms) for name, group in self._queries.items()}

    def moment(self, name: str) -> int:
        """The moment at which a query is, or was last, reported."""
        return self._queries[name].moment

    def needed_from(self) -> int:
        """The earliest time an element may have that matters to what is yet to be reported."""
        with self._lock:
            needed = (group.needed_from(self._plans.group_name(name)) for name, group in self._queries.items())
            return min(self._changes.first_ms, *needed, AFTER_ALL_TIME)

    def pending_changes(self) -> PendingChanges:
        """What streams are still to change in the stored graph."""
        with self._lock:
            return self._changes.pending

    def restore_changes(self, pending: PendingChanges) -> None:
        """Let streams change what they were to change before a restart."""
        with self._lock:
            self._changes.restore(pending)

    def needed_by(self, names: Iterable[str]) -> dict[str, int]:
        """The same for each of some queries, in the times of the streams that it reads."""
        with self._lock:
            known_as = self._plans.group_name
            return {name: self._queries[name].needed_from(known_as(name)) for name in names if name in self._queries}

    def counted(self) -> dict[str, Counted]:
        """How far the windows of each query had counted where `needed_from` begins, if that makes a difference."""
        with self._lock:
            known = {name: (group, self._plans.group_name(name)) for name, group in self._queries.items()}
            found = {name: group.counted(known_as) for name, (group, known_as) in known.items()}
        return {name: counted for name, counted in found.items() if counted}

    def go_on_counting(self, counted: Mapping[str, Counted]) -> None:
        """Have queries that are registered from now on count elements from where those of their names were."""
        with self._lock:
            self._counted = dict(counted)

    def keeps_everything(self, name: str) -> bool:
        """Whether a query needs all elements that have come since it was registered."""
        with self._lock:
            query = self._queries[name].query(self._plans.group_name(name))
            return any(isinstance(window, AllWindow | EventTimeWindow) for window in query.plan.windows)

    def one_at_a_time(self, callback: Callable[P, None]) -> Callable[P, None]:
        """A callback that gets reports of queries over independent streams, never of two at a time."""
        return self._lock.one_at_a_time(callback)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Held around loads that belong together, before anything of the stored graphs: as a push takes both."""
        with self._lock:
            self._loads += 1
            try:
                yield
            finally:
                self._loads -= 1
                if self._is_loaded and not self._loads:
                    self._is_loaded = False
                    self._calls.run(None, self.live.follow)

    def load(self, subjects: Ids, predicates: Ids, objects: Ids, graph: int = DEFAULT_GRAPH) -> None:
        """Add triples to a stored graph."""
        with self.loading():
            self._is_loaded = True
            self.dictionary.note(subjects, predicates, objects)
            self._graphs.load(subjects, predicates, objects, graph)
            for group in self._groups():
                group.note_stored()

    def forget_past(self) -> None:
        """The stored graphs are from a checkpoint: what they were before it is not known."""
        self._graphs.history.begin_at(self._router.furthest_ms())

    def update(self, changes: StoreChanges) -> tuple[int, int]:
        """Change stored graphs, all at once; gives how many triples came that were not there, and how many went."""
        with self.loading():
            self._is_loaded = True
            self.dictionary.note(*changes.inserted, np.fromiter(changes.exists, np.int64))
            counts = self._graphs.apply(changes)
            for group in self._groups():
                group.note_stored()
            return counts

    def wanted_predicates(self, stream: str) -> frozenset[str] | None:
        """The predicates of a stream that some query asks for; None where every element counts."""
        with self._lock:
            if self._stream(stream).absorb is not None:
                return None
            wanted: set[str] = set()
            for name, group in {self._plans.group_name(name): group for name, group in self._queries.items()}.items():
                query = group.query(name)
                if Iri(stream) not in {window.stream for window in query.plan.windows}:
                    continue
                found = None if group.counts_every_element(name) else predicates_of(query.plan, stream)
                if found is None:
                    return None
                wanted |= found
            return frozenset(wanted)

    def _one_by_one(self, name: str, on_report: Callable[[Report], None] | None) -> ReportCallback:
        """What takes batches, and hands their reports over as long as the query is there."""
        assert on_report is not None, "there is a callback for reports"

        return ReportCallback(on_report, lambda taker: self._takers.get(name) is taker)

    def _stream(self, iri: str) -> StreamState:
        if iri in self._router.constructed:
            raise InputError(f"the stream <{iri}> has the answers of the query {iri}: nothing else can enter it")
        if iri not in self.streams:
            raise InputError(f"there is no stream <{iri}>")
        return self.streams[iri]

    def _groups(self) -> list[AnyGroup]:
        return list(self._members)

    def _leave(self, name: str) -> None:
        group = self._queries.pop(name)
        del self._takers[name], self._timings[name], self._asked[name]
        self._router.constructed.pop(name, None)
        self.service_threads.leave(name)
        self._members[group] -= 1
        if not self._members[group]:
            del self._members[group]
            self._placement.behind.discard(group)

    def _failed(self, known_as: str, error: Exception) -> None:
        """What a group knows under a name has failed, and is gone."""
        with self._lock:
            names = self._plans.members(known_as)
            reading = self._remove_readers(names)
            for name in names:  # all, before any failure is reported: its callback may register and unregister
                self._leave(name)
                self._plans.leave(name)
            self._connect()
            for name in names:
                self._report_failure(name, reason_of(error))
            for name, source in reading:
                self._report_failure(name, f"it reads the answers of the query {source}, which failed")

    def _remove_readers(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """Remove the queries that read the answers of others which have failed; gives each with what it read."""
        removed = []
        for source in names:
            if source in self._router.constructed:
                for name in self.readers(source):
                    if name in self._queries:
                        removed += self._remove_readers([name])
                        self.unregister(name)
                        removed.append((name, source))
        return removed

    def _member_failed(self, name: str, error: Exception) -> None:
        """One of those that share a plan has failed; the others go on."""
        with self._lock:
            self.unregister(name)
            self._report_failure(name, reason_of(error))

    def _live_failed(self, names: list[str], error: Exception) -> None:
        with self._lock:
            for name in names:
                self._report_failure(name, reason_of(error))

    def _silent_evaluation(self, name: str, freshness: Freshness) -> None:
        if self.on_silent_evaluation is not None:
            self.on_silent_evaluation(name, freshness)

    def _absorb(self, state: StreamState, elements: Elements) -> Elements | None:
        """Let what a stream leaves behind enter the stored graph; gives that, if it is anything."""
        absorbed = state.absorbed(elements)
        if absorbed is None or not len(absorbed.times):
            return None
        if state.changes_graph or (self._is_graph_changed and not state.keep_ms):
            self._changes.add(state.iri, absorbed)
            return None
        self._graphs.absorb(absorbed, state.iri)
        self.live.time_ms = max(self.live.time_ms, int(absorbed.times.max()))
        for group in self._groups():
            group.note_stored()
        return absorbed

    def _advance_to(self, state: StreamState, watermark_ms: int) -> None:
        state.watermark_ms = max(state.watermark_ms, watermark_ms)
        self._advance(state)

    def _advance(self, state: StreamState) -> None:
        if state.keep_ms:
            self._kept.advance(state)
        self._router.advance(state.iri)
        self._change_graph()

    def _change_graph(self, *, ended: bool = False) -> None:
        """Let what waited change the stored graph, as far as streams have come."""
        entered = self._changes.go_on(ended=ended)
        if entered:
            self.live.time_ms = max(self.live.time_ms, *(int(each.times[-1]) for each in entered))
            self.live.follow(np.abs(np.concatenate([each.predicates for each in entered])))

    def _connect(self) -> None:
        self._router.connect([group for group in self._groups() if group not in self._placement.behind])
        if self._router.constructed:
            self._router.connect_constructed(self._queries)
        self._lock.connected = self._router.connected()
        self._budget.queries_changed()
