"""The live queries of an engine: who follows which, and which of them a change of the stored graphs concerns."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field

import numpy as np

from freshet.native.buffers.one_way_index import Ids
from freshet.native.failures import warn_gone
from freshet.native.memory.term_collector import TermCollector
from freshet.native.plan.plan import Plan
from freshet.native.plan.plan_reads import stored_predicates
from freshet.native.queries.live_query import LiveQuery, Rows
from freshet.rdf.deadline import QueryLimits
from freshet.rdf.dictionary import Dictionary
from freshet.results.live_change import LiveChange

OnChange = Callable[[LiveChange], None]

NO_LIMITS = QueryLimits()


@dataclass(slots=True, eq=False)
class FollowedQuery:
    """A live query and those who follow it, by their names: all who asked for an equal plan."""

    query: LiveQuery
    limits: QueryLimits
    predicates: frozenset[int] | None  # of the default graph that it reads; None for any, or another graph
    takers: dict[str, OnChange] = field(default_factory=dict)
    shared_as: tuple[Plan, QueryLimits] | None = None

    def can_change(self, predicates: Set[int] | None) -> bool:
        """Whether triples with these predicates in the default graph can matter to it; None: any, in any graph."""
        return predicates is None or self.predicates is None or not self.predicates.isdisjoint(predicates)


class LiveQueries:
    """Live queries, which change with each snapshot. Who calls holds the engine's lock, but for `first_answer`."""

    def __init__(
        self, dictionary: Dictionary, collector: TermCollector, on_failure: Callable[[list[str], Exception], None]
    ) -> None:
        self._dictionary = dictionary
        self._collector = collector
        self._on_failure = on_failure
        self._followed: dict[str, FollowedQuery] = {}
        self._shared: dict[tuple[Plan, QueryLimits], FollowedQuery] = {}
        self.time_ms = 0  # the latest event time that has been absorbed

    def __contains__(self, name: str) -> bool:
        return name in self._followed

    def __len__(self) -> int:
        return len(self._followed)

    @property
    def names(self) -> list[str]:
        return list(self._followed)

    def plans(self) -> int:
        """How many live queries are kept answered, those that are shared once."""
        return len({id(each) for each in self._followed.values()})

    def first_answer(self, query: LiveQuery) -> LiveChange:
        """The whole answer of a query that is not followed yet. Nobody has to wait for it."""
        return self._change(query, query.step(), is_answer=True)

    def add(
        self, name: str, query: LiveQuery, limits: QueryLimits, answer: LiveChange, on_change: OnChange, *, shares: bool
    ) -> None:
        """Report the first answer of a query, and from now on every change."""
        with limits.deadline(1).running():
            since = query.step()  # what came while the first answer was made
        key = (query.plan, limits) if shares else None
        followed = None if key is None else self._shared.get(key)
        if followed is None:
            followed = FollowedQuery(query, limits, self._predicates(query.plan), shared_as=key)
            if key is not None:
                self._shared[key] = followed
        followed.takers[name] = on_change
        self._followed[name] = followed
        try:
            on_change(answer)
            if not since.is_empty and name in self._followed:
                on_change(self._change(query, since))
        except BaseException:
            if name in self._followed:
                self.remove(name)
            raise

    def remove(self, name: str) -> None:
        """One follower less; what nobody follows is forgotten."""
        followed = self._followed.pop(name)
        del followed.takers[name]
        if not followed.takers and followed.shared_as is not None:
            del self._shared[followed.shared_as]

    def follow(self, absorbed: Ids | None = None) -> None:
        """The stored graphs have changed, by triples with these predicates in the default graph (None: by any)."""
        if not self._followed:
            return
        predicates = None if absorbed is None else set(np.unique(absorbed).tolist())
        plans = {id(each): each for each in self._followed.values()}.values()
        stepped = [(each, self._step(each)) for each in plans if each.can_change(predicates)]
        found = [(each, change) for each, change in stepped if change is not None]
        for followed, change in found:  # whoever gets a change may add and remove queries
            for name, on_change in list(followed.takers.items()):
                self._give(followed, name, on_change, change)

    def _step(self, followed: FollowedQuery) -> LiveChange | None:
        try:
            with followed.limits.deadline(1).running():
                rows = followed.query.step()
            return None if rows.is_empty else self._change(followed.query, rows)
        except Exception as error:  # whatever goes wrong in one query must not stop the others
            names = list(followed.takers)
            for name in names:
                self.remove(name)
            self._on_failure(names, error)
            return None

    def _give(self, followed: FollowedQuery, name: str, on_change: OnChange, change: LiveChange) -> None:
        if followed.takers.get(name) is not on_change:
            return
        try:
            on_change(change)
        except BrokenPipeError:  # nobody reads anything any more
            raise
        except Exception as error:  # whoever takes one query's changes must not stop the others
            if name in self._followed:
                self.remove(name)
                self._on_failure([name], error)
            else:
                warn_gone(name, error)

    def _change(self, query: LiveQuery, rows: Rows, *, is_answer: bool = False) -> LiveChange:
        for each in rows:
            if len(each):
                self._collector.keep_rows(each)
        return LiveChange(query.snapshot, self.time_ms, is_answer, query.plan.variables, *rows, self._dictionary)

    def _predicates(self, plan: Plan) -> frozenset[int] | None:
        found = stored_predicates(plan)
        return None if found is None else frozenset(map(self._dictionary.encode, found))
