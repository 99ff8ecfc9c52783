"""From a plan to what keeps it answered: a query of its own, or one that others share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from freshet.algebra.windows import WindowOperator
from freshet.federation.evaluation import Constraints, Evaluation
from freshet.native.buffers.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.buffers.leaf_view import LeafView
from freshet.native.buffers.one_way_index import Ids
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.change import Operator
from freshet.native.measuring import Measurements
from freshet.native.operators.draw import DrawOp
from freshet.native.operators.parameters import ParametersOp
from freshet.native.operators.service import Remote, extent_of
from freshet.native.operators.service_views import ViewSource
from freshet.native.operators.stored_copy import StoredCopy
from freshet.native.plan.build import Builder
from freshet.native.plan.caching import with_caches
from freshet.native.plan.plan import Plan, Source, Stored
from freshet.native.plan.plan_reads import asks_services
from freshet.native.queries.continuous_query import ContinuousQuery
from freshet.native.queries.live_query import HeldSnapshot, LiveQuery, SnapshotStore, StoredLeaves
from freshet.native.queries.rebuild import Rebuild
from freshet.native.queries.shared_query import SharedQuery
from freshet.native.query_group import QueryGroup
from freshet.native.r2s.columns import answer_columns
from freshet.native.r2s.exact import Exactness, exactness, top_join
from freshet.native.s2r.adaptive_window import AdaptiveWindowContent
from freshet.native.streams.kept_windows import WindowStore
from freshet.native.timing import Timing
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.results.answers import AnswerBatch
from freshet.results.report import Freshness
from freshet.store.changes import StoreChanges
from freshet.store.dataset import DatasetSnapshot
from freshet.store.history import History
from freshet.store.timed_change import TimedChange


class EngineStore(WindowStore, SnapshotStore, Protocol):
    """What the engine needs of the stored graphs. They are named by ids, the default graph by DEFAULT_GRAPH."""

    def load(self, subjects: Ids, predicates: Ids, objects: Ids, graph: int = DEFAULT_GRAPH) -> Elements: ...
    def apply(self, changes: StoreChanges) -> tuple[int, int]: ...
    def absorb(self, elements: Elements, stream: str = "") -> None: ...

    history: History[DatasetSnapshot]

    @property
    def entry(self) -> int: ...
    @property
    def keeps_history(self) -> bool: ...
    def change(self, change: TimedChange, entry: int = -1) -> None: ...
    def compact_if_due(self, settled_ms: Callable[[], int]) -> None: ...
    def compact(self, settled_ms: int) -> int: ...


class QueryFactory:
    """Makes queries. Callbacks get what fails as a whole, and what fails for one that shares a plan."""

    def __init__(
        self,
        dictionary: Dictionary,
        graphs: EngineStore,
        on_failure: Callable[[str, Exception], None],
        on_member_failure: Callable[[str, Exception], None],
        views: ViewSource | None = None,
        on_silent_evaluation: Callable[[str, Freshness], None] = lambda query, freshness: None,
    ) -> None:
        self._views = views
        self._on_silent_evaluation = on_silent_evaluation
        self._dictionary = dictionary
        self._graphs = graphs
        self._on_failure = on_failure
        self._on_member_failure = on_member_failure

    def own_query(
        self,
        name: str,
        plan: Plan,
        group: QueryGroup,
        timing: Timing,
        on_answers: Callable[[AnswerBatch], None],
        measurements: Measurements | None,
        constraints: Constraints | None = None,
    ) -> ContinuousQuery:
        """A query with operators of its own."""
        leaves = _Leaves(group, self._dictionary)
        remote = None
        if self._views is not None and asks_services(plan):
            asked = Evaluation(name, constraints or Constraints(), on_silent_evaluation=self._on_silent_evaluation)
            remote = Remote(self._views, extent_of(plan.windows), asked)
        builder = Builder(leaves, self._graphs, self._dictionary, measurements, remote=remote)
        if measurements is not None:
            contents = (group.window(window) for window in timing.windows)
            measurements.adaptive = [each for each in contents if isinstance(each, AdaptiveWindowContent)]
        exact = exactness(plan, timing)
        plan = replace(plan, root=with_caches(plan.root, builder.size_of))
        builder = replace(builder, endless=top_join(plan) if exact is Exactness.ALWAYS else None)
        # Measured queries have every operator, so that the explanation has a figure for each.
        node, columns = answer_columns(plan) if measurements is None else (plan.root, plan.variables)
        wanted = frozenset(columns) & node.names
        root = builder.build(node, wanted)
        evaluation = None if remote is None else remote.evaluation
        return ContinuousQuery(
            name,
            plan,
            leaves.requested,
            root,
            self._dictionary,
            on_answers,
            evaluation,
            columns=columns,
            exact=exact,
            is_measured=measurements is not None,
            rebuild=Rebuild(builder, leaves, node, wanted),
        )

    def live_query(
        self, plan: Plan, measurements: Measurements | None = None, parameters: ParametersOp | None = None
    ) -> LiveQuery:
        """A query without a window, which follows the stored graphs; or all that differ only in `parameters`."""
        held = HeldSnapshot(self._graphs)
        drawn: dict[int, DrawOp] = {}

        def build(leaves: StoredLeaves) -> Operator:
            if parameters is not None:
                parameters.restart()
            builder = Builder(leaves, leaves.held, self._dictionary, measurements, parameters, drawn=drawn)
            return builder.build(plan.root, frozenset(plan.variables) & plan.root.names)

        return LiveQuery(plan, held, self._dictionary, build)

    def shared_query(
        self,
        name: str,
        plan: Plan,
        group: QueryGroup,
        timing: Timing,
        constants: int,
        keep: Callable[[Ids], None],
        *,
        at_any_time: bool,
    ) -> SharedQuery:
        """Operators for all queries that differ from the plan in some constants; `keep` gets what they report.

        They are registered before the next element comes, or `at_any_time`.
        """
        windows = plan.windows if at_any_time else ()
        parameters = ParametersOp(constants, len(windows))
        leaves = (_SharedLeaves if windows else _Leaves)(group, self._dictionary)
        exact = exactness(plan, timing)
        endless = top_join(plan) if exact is Exactness.ALWAYS else None
        builder = Builder(leaves, self._graphs, self._dictionary, None, parameters, endless=endless, windows=windows)
        node, columns = answer_columns(plan)
        wanted = frozenset(columns) & node.names
        root = builder.build(node, wanted)
        return SharedQuery(
            name,
            plan,
            [group.window(window) for window in windows],
            leaves.requested,
            root,
            parameters,
            keep,
            self._on_member_failure,
            self._dictionary,
            columns=columns,
            exact=exact,
            rebuild=Rebuild(builder, leaves, node, wanted),
        )


class _Leaves:
    """The leaf buffers of a group as a query sees them, with a list of those that were asked for."""

    def __init__(self, group: QueryGroup, dictionary: Dictionary) -> None:
        self._group = group
        self._dictionary = dictionary
        self.requested: list[LeafBuffer | StoredLeaf] = []
        self._in_windows: dict[tuple[WindowOperator, LeafPattern], LeafBuffer | LeafView] = {}

    def leaf(self, source: Source, pattern: LeafPattern) -> LeafBuffer | LeafView | StoredLeaf:
        leaf: LeafBuffer | LeafView | StoredLeaf
        if isinstance(source, Stored):
            graph = DEFAULT_GRAPH if source.graph is None else self._dictionary.encode(source.graph)
            leaf = self._group.stored_leaf(pattern, graph)
        else:
            key = source, pattern
            if key not in self._in_windows:
                self._in_windows[key] = self._in_window(source, pattern)
            leaf = self._in_windows[key]
        self.requested.append(leaf.leaf if isinstance(leaf, LeafView) else leaf)
        return leaf

    def copy_of(self, leaf: StoredLeaf) -> StoredCopy | None:
        return self._group.copy_of(leaf)

    def _in_window(self, window: WindowOperator, pattern: LeafPattern) -> LeafBuffer | LeafView:
        return self._group.leaf(window, pattern)


class _SharedLeaves(_Leaves):
    """The leaf buffers of a group as they are, since each of the queries that share them sees something else."""

    def _in_window(self, window: WindowOperator, pattern: LeafPattern) -> LeafBuffer:
        return self._group.window(window).leaf(pattern)
