"""Which group a query gets: that of a plan it shares, that of its streams, or one with a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from freshet.federation.evaluation import Constraints
from freshet.native.measuring import Measurements
from freshet.native.memory.term_collector import TermCollector
from freshet.native.plan.plan import Plan
from freshet.native.plan.plan_reads import asks_services
from freshet.native.plan.sharing import PlanShape, can_begin_later, shape_of
from freshet.native.queries.live_query import HeldSnapshot
from freshet.native.queries.query_factory import EngineStore, QueryFactory
from freshet.native.queries.shared_plans import PlanSharers, ShapeKey, Shared, SharedPlans
from freshet.native.query_group import QueryGroup
from freshet.native.r2s.grounded import is_grounded
from freshet.native.service.service_thread import ServiceQueryThread
from freshet.native.service.service_threads import ServiceQueryThreads
from freshet.native.streams.stream_router import AnyGroup, StreamRouter
from freshet.native.timing import Timing, depends_on_all
from freshet.rdf.deadline import QueryLimits
from freshet.results.answers import AnswerBatch


@dataclass(frozen=True, slots=True)
class QueryRegistration:
    """A query as it is registered."""

    name: str
    plan: Plan
    timing: Timing
    on_answers: Callable[[AnswerBatch], None]
    limits: QueryLimits | None = None
    measurements: Measurements | None = None
    constraints: Constraints | None = None


class Keeper(Protocol):
    """What keeps the terms of reports, and drops others."""

    @property
    def collector(self) -> TermCollector: ...
    def collect_terms(self) -> None: ...


class Placement:
    """Places queries. `groups` are those there are; `on_failure` hears what fails, by the name a group has for it."""

    def __init__(
        self,
        router: StreamRouter,
        graphs: EngineStore,
        factory: QueryFactory,
        service_threads: ServiceQueryThreads,
        groups: Iterable[AnyGroup],
        keeper: Keeper,
        on_failure: Callable[[str, Exception], None],
    ) -> None:
        self._router = router
        self._graphs = graphs
        self._factory = factory
        self._service_threads = service_threads
        self._groups = groups
        self._keeper = keeper
        self._on_failure = on_failure
        self.plans = SharedPlans()
        self.behind: set[AnyGroup] = set()  # groups of queries that begin in the past, and have not caught up
        self._shared_plans = 0

    def place(self, asked: QueryRegistration, *, apart: bool = False) -> tuple[AnyGroup, Plan]:
        """The group that a query is in from now on, and the plan that it has there; with `apart` no other is in it."""
        if apart:
            return self._with_own_plan(asked, self._new_group(asked.timing))
        if asks_services(asked.plan):
            return self._with_thread(asked)
        shape = None if asked.measurements is not None else shape_of(asked.plan)
        if shape is not None:
            key = self._key(shape, asked.timing, asked.limits)
            self.plans.forget_before(key)
            sharers = self.plans.sharers(asked.name, key)
            if sharers is not None:
                return self._with_shared_plan(asked, shape, sharers), asked.plan
        return self._with_own_plan(asked)

    def _key(self, shape: PlanShape, timing: Timing, limits: QueryLimits | None) -> ShapeKey:
        """What queries have in common that share a plan."""
        group = self._group(timing)
        in_step = not any(map(depends_on_all, timing.windows))  # else who comes later has other windows
        at_any_time = timing.is_plain and in_step and can_begin_later(shape.plan.root) and is_grounded(shape.plan.root)
        elements = None if at_any_time and group.can_share(timing) else self._router.elements_of(timing)
        return ShapeKey(shape.plan, timing, frozenset(group.streams), elements, limits)

    def _with_own_plan(self, asked: QueryRegistration, own_group: QueryGroup | None = None) -> tuple[AnyGroup, Plan]:
        """A query with a plan of its own."""
        name, timing, on_answers = asked.name, asked.timing, self._with_kept_terms(asked.on_answers)
        group = own_group or self._group(timing)
        try:
            with group.registering(timing):
                query = self._factory.own_query(name, asked.plan, group, timing, on_answers, asked.measurements)
                group.add(name, query, timing, asked.limits)
        except BaseException:
            group.free()  # others may have it, and keep what is theirs
            raise
        return group, query.plan

    def _with_thread(self, asked: QueryRegistration) -> tuple[AnyGroup, Plan]:
        """A query with remote data, which has a group and a thread of its own."""
        name, timing = asked.name, asked.timing

        def failed(known_as: str, error: Exception) -> None:
            with self._service_threads.reporting():
                is_wanted = not thread.is_closed  # else it was unregistered, and another may have its name by now
                thread.close()
                if is_wanted:
                    self._on_failure(known_as, error)

        held = HeldSnapshot(self._graphs)  # the graphs change while a batch is evaluated
        group = QueryGroup(self._router.streams_of(timing), held, failed, one_by_one=True)
        group.on_begin = held.go_on
        thread = ServiceQueryThread(
            group, self._router.dictionary, self._keeper.collect_terms, lambda error: failed(name, error)
        )
        deliver = self._service_threads.reporter(name, thread, self._with_kept_terms(asked.on_answers))
        with group.registering(timing):
            query = self._factory.own_query(
                name, asked.plan, group, timing, deliver, asked.measurements, asked.constraints
            )
            if query.evaluation is not None:
                query.evaluation.released_at, query.evaluation.resting = thread.released_at, thread.resting
            group.add(name, query, timing, asked.limits)
        self._service_threads.add(name, thread)
        return thread, query.plan

    def _with_shared_plan(self, asked: QueryRegistration, shape: PlanShape, sharers: PlanSharers) -> AnyGroup:
        """A query that shares a plan."""
        shared = sharers.shared
        if shared is None:
            shared, group = self._new_shared_plan(shape, sharers.key)
        else:
            group = self.plans.group(shared)
        constants = [self._router.dictionary.encode(term) for term in shape.constants]
        shared.add(asked.name, constants, asked.on_answers)  # what is reported to all is kept in one
        assert isinstance(group, QueryGroup), "queries with threads share no plan"
        group.wake(shared.name)
        self.plans.enter(asked.name, sharers, shared, group)
        return group

    def _new_shared_plan(self, shape: PlanShape, key: ShapeKey) -> tuple[Shared, AnyGroup]:
        """A plan with parameters, for all queries of a shape."""
        self._shared_plans += 1
        timing = key.timing
        name = f"shared plan {self._shared_plans}"
        group = self._group(timing)
        with group.registering(timing):
            shared = self._factory.shared_query(
                name,
                shape.plan,
                group,
                timing,
                len(shape.constants),
                lambda rows: self._keeper.collector.keep_rows(rows),
                at_any_time=key.elements is None,
            )
            group.add(name, shared, timing, key.limits)
        return shared, group

    def _group(self, timing: Timing) -> QueryGroup:
        """The group of the streams that a query waits for: those it reads, also by way of the stored graph."""
        streams = self._router.streams_of(timing)
        for group in self._groups:
            if isinstance(group, QueryGroup) and group.streams == streams and group not in self.behind:
                return group
        return self._new_group(timing)

    def _new_group(self, timing: Timing) -> QueryGroup:
        return QueryGroup(self._router.streams_of(timing), self._graphs, self._on_failure)

    def _with_kept_terms(self, on_answers: Callable[[AnswerBatch], None]) -> Callable[[AnswerBatch], None]:
        """Reports keep their terms as long as they are in use."""
        keep = self._keeper.collector.keep_batch

        def deliver(batch: AnswerBatch) -> None:
            keep(batch)
            on_answers(batch)

        return deliver
