"""From a plan to what keeps it answered: a query of its own, one that others share, or one for many instants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from freshet.federation.evaluation import Constraints, Evaluation
from freshet.native.arrival_clock import ArrivalClock
from freshet.native.arrival_plan import arrival_plan
from freshet.native.arrival_query import ArrivalQuery
from freshet.native.build import Builder
from freshet.native.caching import with_caches
from freshet.native.clock import Clock
from freshet.native.continuous_query import ContinuousQuery
from freshet.native.kept_windows import WindowStore
from freshet.native.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.measuring import Measurements
from freshet.native.one_way_index import Ids
from freshet.native.operators.parameters import ParametersOp
from freshet.native.operators.service import Remote, lives_in
from freshet.native.operators.service_views import Views
from freshet.native.plan import Plan, Source, Stored
from freshet.native.reads import asks_services
from freshet.native.shared_query import SharedQuery
from freshet.native.stored import StoredBase
from freshet.native.stored_leaf import StoredLeaf
from freshet.oneshot.dataset import Dataset, GraphReader
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.triples import DEFAULT_GRAPH, Triples
from freshet.results.report import Freshness, Report


class Graphs(WindowStore, Protocol):
    """What the engine needs of the stored graphs. They are named by ids, the default graph by DEFAULT_GRAPH."""

    def elements(self, graph: int = DEFAULT_GRAPH) -> Elements: ...
    def base(self, graph: int = DEFAULT_GRAPH) -> StoredBase: ...
    def added_matching(self, triple: tuple[int, int, int], graph: int = DEFAULT_GRAPH) -> Elements: ...
    def load(self, subjects: Ids, predicates: Ids, objects: Ids, graph: int = DEFAULT_GRAPH) -> Elements: ...
    def absorb(self, elements: Elements, stream: str = "") -> None: ...
    def reader(self, triples: Triples) -> GraphReader: ...
    def named(self) -> Dataset: ...


class Hosting:
    """Makes queries. What fails as a whole, and what fails for one that shares a plan, is told to others."""

    def __init__(
        self,
        dictionary: Dictionary,
        graphs: Graphs,
        on_failure: Callable[[str, Exception], None],
        on_member_failure: Callable[[str, Exception], None],
        views: Views | None = None,
        on_silent_evaluation: Callable[[str, Freshness], None] = lambda query, told: None,
    ) -> None:
        self._views = views
        self._on_silent_evaluation = on_silent_evaluation
        self._dictionary = dictionary
        self._graphs = graphs
        self._on_failure = on_failure
        self._on_member_failure = on_member_failure

    def alone(
        self,
        name: str,
        plan: Plan,
        clock: Clock,
        on_report: Callable[[Report], None],
        measurements: Measurements | None,
        constraints: Constraints | None = None,
    ) -> ContinuousQuery:
        """A query with operators of its own."""
        leaves = _Leaves(clock, self._dictionary)
        remote = None
        if self._views is not None and asks_services(plan):
            asked = Evaluation(name, constraints or Constraints(), on_silent_evaluation=self._on_silent_evaluation)
            remote = Remote(self._views, lives_in(plan.windows), asked)
        builder = Builder(leaves, self._graphs, self._dictionary, measurements, remote=remote)
        plan = replace(plan, root=with_caches(plan.root, builder.size_of))
        root = builder.build(plan.root, frozenset(plan.variables) & plan.root.names)
        windows = [clock.window(window) for window in plan.windows]
        evaluation = None if remote is None else remote.evaluation
        return ContinuousQuery(name, plan, windows, leaves.given, root, self._dictionary, on_report, evaluation)

    def shared(self, name: str, plan: Plan, clock: Clock, constants: int, keep: Callable[[Ids], None]) -> SharedQuery:
        """Operators for all queries that differ from the plan in so many constants; `keep` gets what they report."""
        parameters = ParametersOp(constants)
        leaves = _Leaves(clock, self._dictionary)
        builder = Builder(leaves, self._graphs, self._dictionary, None, parameters)
        root = builder.build(plan.root, frozenset(plan.variables))
        windows = [clock.window(window) for window in plan.windows]
        return SharedQuery(
            name,
            plan,
            windows,
            leaves.given,
            root,
            parameters,
            clock.stored_matches,
            keep,
            self._on_member_failure,
            self._dictionary,
        )

    def arrivals(self, name: str, plan: Plan, streams: Iterable[str], *, shared: bool) -> ArrivalClock | None:
        """A clock that answers for many instants at once; None where the plan needs more than that."""
        asked = arrival_plan(plan, self._dictionary)
        if asked is None:
            return None
        query = ArrivalQuery(*asked, self._dictionary)
        query.stored(self._graphs.elements())
        return ArrivalClock(
            name,
            plan,
            streams,
            query,
            self._on_failure,
            self._on_member_failure,
            shared=shared,
            dictionary=self._dictionary,
        )


class _Leaves:
    """The leaf buffers of a clock, with a list of those that were asked for."""

    def __init__(self, clock: Clock, dictionary: Dictionary) -> None:
        self._clock = clock
        self._dictionary = dictionary
        self.given: list[LeafBuffer | StoredLeaf] = []

    def leaf(self, source: Source, pattern: LeafPattern) -> LeafBuffer:
        if isinstance(source, Stored):
            leaf = self._clock.stored_leaf(pattern, self._graph(source))
        else:
            leaf = self._clock.window(source).leaf(pattern)
        self.given.append(leaf)
        return leaf

    def probed(self, source: Source, pattern: LeafPattern) -> LeafBuffer | StoredLeaf:
        if isinstance(source, Stored):
            leaf = self._clock.large_leaf(pattern, self._graph(source))
            if leaf is not None:
                self.given.append(leaf)
                return leaf
        return self.leaf(source, pattern)

    def _graph(self, source: Stored) -> int:
        return DEFAULT_GRAPH if source.graph is None else self._dictionary.encode(source.graph)
