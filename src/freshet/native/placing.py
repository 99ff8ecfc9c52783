"""Which clock a query gets: that of a plan it shares, that of its streams, or one with a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from freshet.federation.evaluation import Constraints
from freshet.native.connections import AnyClock, Connections
from freshet.native.forgetting import Forgetting
from freshet.native.hosting import Graphs, Hosting
from freshet.native.lane import Lane
from freshet.native.lanes import Lanes
from freshet.native.measuring import Measurements
from freshet.native.plan import Plan
from freshet.native.query_group import QueryGroup
from freshet.native.reads import asks_services
from freshet.native.shared_plans import Group, ShapeKey, Shared, SharedPlans
from freshet.native.sharing import Shape, shape_of
from freshet.native.timing import Timing
from freshet.results.answers import AnswerBatch


@dataclass(frozen=True, slots=True)
class Registration:
    """A query as it is registered."""

    name: str
    plan: Plan
    timing: Timing
    on_answers: Callable[[AnswerBatch], None]
    limit_seconds: float | None = None
    measurements: Measurements | None = None
    constraints: Constraints | None = None


class Keeper(Protocol):
    """Whoever keeps the terms of reports, and forgets others."""

    @property
    def forgetting(self) -> Forgetting: ...
    def forget(self) -> None: ...


class Placing:
    """Places queries. `clocks` are those there are; `on_failure` hears what fails, by the name a clock has for it."""

    def __init__(
        self,
        connections: Connections,
        graphs: Graphs,
        hosting: Hosting,
        lanes: Lanes,
        clocks: Iterable[AnyClock],
        keeper: Keeper,
        on_failure: Callable[[str, Exception], None],
    ) -> None:
        self._connections = connections
        self._graphs = graphs
        self._hosting = hosting
        self._lanes = lanes
        self._clocks = clocks
        self._keeper = keeper
        self._on_failure = on_failure
        self.plans = SharedPlans()
        self._groups = 0

    def placed(self, asked: Registration) -> tuple[AnyClock, Plan]:
        """The clock that a query is in from now on, and the plan that it has there."""
        if asks_services(asked.plan):
            return self._with_thread(asked)
        shape = None if asked.measurements is not None or asked.limit_seconds is not None else shape_of(asked.plan)
        if shape is not None:
            key = ShapeKey(shape.plan, asked.timing, self._connections.elements_of(asked.timing))
            self.plans.forget_before(key)
            group = self.plans.group(key)
            if group is not None:
                return self._shared(asked, shape, group), asked.plan
        return self._alone(asked)

    def _alone(self, asked: Registration) -> tuple[AnyClock, Plan]:
        """A query with a plan of its own."""
        name, timing, on_answers = asked.name, asked.timing, self._keeping(asked.on_answers)
        clock = self._clock(timing)
        try:
            with clock.registering(timing):
                query = self._hosting.alone(name, asked.plan, clock, timing, on_answers, asked.measurements)
                clock.add(name, query, timing, asked.limit_seconds)
        except BaseException:
            clock.free()  # others may have it, and keep what is theirs
            raise
        return clock, query.plan

    def _with_thread(self, asked: Registration) -> tuple[AnyClock, Plan]:
        """A query with remote data, which has a clock and a thread of its own."""
        name, timing = asked.name, asked.timing

        def failed(known_as: str, error: Exception) -> None:
            with self._lanes.telling():
                is_wanted = not lane.is_closed  # else it was unregistered, and another may have its name by now
                lane.close()
                if is_wanted:
                    self._on_failure(known_as, error)

        clock = QueryGroup(self._connections.streams_of(timing), self._graphs, failed, one_by_one=True)
        lane = Lane(clock, self._connections.dictionary, self._keeper.forget, lambda error: failed(name, error))
        deliver = self._lanes.told(name, lane, self._keeping(asked.on_answers))
        with clock.registering(timing):
            query = self._hosting.alone(name, asked.plan, clock, timing, deliver, asked.measurements, asked.constraints)
            if query.evaluation is not None:
                query.evaluation.released_at, query.evaluation.resting = lane.released_at, lane.resting
            clock.add(name, query, timing, asked.limit_seconds)
        self._lanes.add(name, lane)
        return lane, query.plan

    def _shared(self, asked: Registration, shape: Shape, group: Group) -> AnyClock:
        """A query that shares a plan."""
        shared = group.shared
        if shared is None:
            shared, clock = self._new_group(shape, group.key.timing)
        else:
            clock = self.plans.clock(shared)
        constants = [self._connections.dictionary.encode(term) for term in shape.constants]
        shared.add(asked.name, constants, asked.on_answers)  # what is reported to all is kept in one
        self.plans.enter(asked.name, group, shared, clock)
        return clock

    def _new_group(self, shape: Shape, timing: Timing) -> tuple[Shared, AnyClock]:
        """A plan with parameters, for all queries of a shape."""
        self._groups += 1
        group = f"shared plan {self._groups}"
        clock = self._clock(timing)
        with clock.registering(timing):
            shared = self._hosting.shared(
                group,
                shape.plan,
                clock,
                timing,
                len(shape.constants),
                lambda rows: self._keeper.forgetting.keep_rows(rows),
            )
            clock.add(group, shared, timing)
        return shared, clock

    def _clock(self, timing: Timing) -> QueryGroup:
        """The clock of the streams that a query waits for: those it reads, also by way of the stored graph."""
        streams = self._connections.streams_of(timing)
        for clock in self._clocks:
            if isinstance(clock, QueryGroup) and clock.streams == streams:
                return clock
        return QueryGroup(streams, self._graphs, self._on_failure)

    def _keeping(self, on_answers: Callable[[AnswerBatch], None]) -> Callable[[AnswerBatch], None]:
        """Reports keep their terms as long as somebody has them."""
        keep = self._keeper.forgetting.keep_batch

        def deliver(batch: AnswerBatch) -> None:
            keep(batch)
            on_answers(batch)

        return deliver
