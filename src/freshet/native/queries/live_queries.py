"""The live queries of an engine: who follows which, and which of them a change of the stored graphs concerns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set

import numpy as np

from freshet.native.buffers.one_way_index import Ids
from freshet.native.failures import warn_gone
from freshet.native.memory.term_collector import TermCollector
from freshet.native.operators.parameters import ParametersOp
from freshet.native.plan.plan import Plan
from freshet.native.plan.plan_reads import stored_predicates
from freshet.native.plan.sharing import PlanShape, shape_of
from freshet.native.queries.live_query import LiveQuery, Rows
from freshet.native.queries.query_factory import QueryFactory
from freshet.rdf.deadline import QueryLimits
from freshet.rdf.dictionary import Dictionary
from freshet.results.live_change import LiveChange

OnChange = Callable[[LiveChange], None]

NO_LIMITS = QueryLimits()

_QUICK_SECONDS = 0.1  # one whose first answer takes longer has a plan of its own, so that no other waits for it


_Key = tuple[Plan, QueryLimits]


class FollowedQuery:
    """A live query and those who follow it, by their names: all who asked for an equal plan."""

    def __init__(self, query: LiveQuery, limits: QueryLimits, predicates: frozenset[int] | None) -> None:
        """`predicates` are those of the default graph that it reads; None for any."""
        self.query = query
        self.limits = limits
        self.takers: dict[str, OnChange] = {}
        self.known_as: list[tuple[dict[_Key, FollowedQuery], _Key]] = []  # where others find it
        self._predicates = predicates

    def can_change(self, predicates: Set[int] | None) -> bool:
        """Whether triples with these predicates in the default graph can matter to it; None: any, in any graph."""
        return predicates is None or self._predicates is None or not self._predicates.isdisjoint(predicates)

    def step(self) -> Rows:
        """Go on to the newest snapshot."""
        with self.limits.deadline(1).running():
            return self.query.step()

    def remove(self, name: str) -> None:
        del self.takers[name]

    def shares_of(self, rows: Rows) -> Iterator[tuple[list[str], Rows]]:
        """Of what a step gives, what belongs to whom."""
        yield list(self.takers), rows


class ParametrizedQuery(FollowedQuery):
    """A live query with parameters for all that differ only in constants: what it gives is dealt out by their numbers.

    Each follower has its first answer from a plan of its own, so what comes for its number at first is known to it.
    """

    def __init__(
        self, query: LiveQuery, limits: QueryLimits, predicates: frozenset[int] | None, parameters: ParametersOp
    ) -> None:
        super().__init__(query, limits, predicates)
        self._parameters = parameters
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def enter(self, name: str, constants: list[int]) -> Rows:
        """Add a query, which is not given its answer so far; gives what changes for the others."""
        number = self._parameters.next_number()
        self._parameters.add(number, constants)
        with self.limits.deadline(1).running():
            rows = self.query.step(asked=True)
        self._numbers[name], self._names[number] = number, name
        return Rows(*(each[each[:, -1] != number] for each in rows))

    def remove(self, name: str) -> None:
        super().remove(name)
        number = self._numbers.pop(name)
        del self._names[number]
        self._parameters.remove(number)

    def shares_of(self, rows: Rows) -> Iterator[tuple[list[str], Rows]]:
        added, removed = _by_number(rows.added), _by_number(rows.removed)
        nothing = rows.added[:0, :-1]
        for number in dict.fromkeys([*added, *removed]):
            if number in self._names:  # else it has gone, and its rows with it
                yield [self._names[number]], Rows(added.get(number, nothing), removed.get(number, nothing))


def _by_number(rows: Ids) -> dict[int, Ids]:
    """Rows by the number in their last column, which they lose."""
    if not len(rows):
        return {}
    rows = rows[np.argsort(rows[:, -1], kind="stable")]
    numbers = rows[:, -1]
    starts = [0, *(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist()]
    ends = [*starts[1:], len(rows)]
    return {numbers.item(start): rows[start:end, :-1] for start, end in zip(starts, ends, strict=True)}


class LiveQueries:
    """Live queries, which change with each snapshot. Who calls holds the engine's lock, but for `first_answer`."""

    def __init__(
        self,
        dictionary: Dictionary,
        collector: TermCollector,
        factory: QueryFactory,
        on_failure: Callable[[list[str], Exception], None],
    ) -> None:
        self._dictionary = dictionary
        self._collector = collector
        self._factory = factory
        self._on_failure = on_failure
        self._followed: dict[str, FollowedQuery] = {}
        self._plans: dict[FollowedQuery, None] = {}
        self._shared: dict[_Key, FollowedQuery] = {}
        # By the plan without constants: the first query of that shape, and from the second on the one that all share.
        self._shapes: dict[_Key, FollowedQuery] = {}
        self.time_ms = 0  # the latest event time that has been absorbed

    def __contains__(self, name: str) -> bool:
        return name in self._followed

    def __len__(self) -> int:
        return len(self._followed)

    @property
    def names(self) -> list[str]:
        return list(self._followed)

    @property
    def plans(self) -> int:
        """How many plans are kept answered: queries that share one count once."""
        return len(self._plans)

    def first_answer(self, query: LiveQuery) -> LiveChange:
        """The whole answer of a query that is not followed yet. No other query waits for it."""
        return self._change(query, query.begin(), is_answer=True)

    def add(
        self, name: str, query: LiveQuery, limits: QueryLimits, answer: LiveChange, on_change: OnChange, *, shares: bool
    ) -> None:
        """Report the first answer of a query, and from now on every change."""
        with limits.deadline(1).running():
            since = query.step()  # what came while the first answer was made
        followed = self._place(name, query, limits) if shares else self._alone(query, limits)
        self._plans[followed] = None
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
        """One follower less; what has no follower is forgotten."""
        followed = self._followed.pop(name)
        followed.remove(name)
        if not followed.takers:
            self._forget(followed)

    def follow(self, absorbed: Ids | None = None) -> None:
        """The stored graphs have changed, by triples with these predicates in the default graph (None: by any)."""
        if not self._followed:
            return
        predicates = None if absorbed is None else set(np.unique(absorbed).tolist())
        stepped = [(each, self._step(each)) for each in list(self._plans) if each.can_change(predicates)]
        for followed, rows in stepped:  # a callback may add and remove queries
            if rows is not None and not rows.is_empty:
                self._report(followed, rows)

    def _place(self, name: str, query: LiveQuery, limits: QueryLimits) -> FollowedQuery:
        """Where a query is followed from now on: with an equal one, with those of its shape, or alone."""
        key = query.plan, limits
        if key in self._shared:
            return self._shared[key]
        shape = shape_of(query.plan) if query.first_seconds <= _QUICK_SECONDS else None
        if shape is not None and not shape.constants:
            shape = None  # only equal queries have it, which have been looked for
        if shape is not None and (shape.plan, limits) in self._shapes:
            return self._with_shape(name, shape, limits) or self._alone(query, limits)
        followed = self._alone(query, limits)
        self._make_known(followed, self._shared, key)
        if shape is not None:
            self._make_known(followed, self._shapes, (shape.plan, limits))
        return followed

    def _alone(self, query: LiveQuery, limits: QueryLimits) -> FollowedQuery:
        return FollowedQuery(query, limits, self._predicates(query.plan))

    def _with_shape(self, name: str, shape: PlanShape, limits: QueryLimits) -> FollowedQuery | None:
        """The plan of all queries of a shape, or None where it fails."""
        key = shape.plan, limits
        followed = self._shapes[key]
        if not isinstance(followed, ParametrizedQuery):
            parameters = ParametersOp(len(shape.constants))
            query = self._factory.live_query(shape.plan, parameters=parameters)
            followed = ParametrizedQuery(query, limits, self._predicates(shape.plan), parameters)
            self._make_known(followed, self._shapes, key)
        try:
            rows = followed.enter(name, [self._dictionary.encode(term) for term in shape.constants])
        except Exception as error:
            self._drop(followed, error)
            return None
        if not rows.is_empty:
            self._report(followed, rows)
        return followed

    def _make_known(self, followed: FollowedQuery, known: dict[_Key, FollowedQuery], key: _Key) -> None:
        known[key] = followed
        followed.known_as.append((known, key))

    def _forget(self, followed: FollowedQuery) -> None:
        self._plans.pop(followed, None)
        for known, key in followed.known_as:
            if known.get(key) is followed:
                del known[key]

    def _step(self, followed: FollowedQuery) -> Rows | None:
        try:
            return followed.step()
        except Exception as error:  # an error in one query must not stop the others
            self._drop(followed, error)
            return None

    def _drop(self, followed: FollowedQuery, error: Exception) -> None:
        """A query has failed in the middle of a step, and goes with all who follow it."""
        names = list(followed.takers)
        for name in names:
            self.remove(name)
        self._forget(followed)
        self._on_failure(names, error)

    def _report(self, followed: FollowedQuery, rows: Rows) -> None:
        for names, share in followed.shares_of(rows):
            change = self._change(followed.query, share)
            for name in names:
                on_change = followed.takers.get(name)
                if on_change is not None:
                    self._give(name, on_change, change)

    def _give(self, name: str, on_change: OnChange, change: LiveChange) -> None:
        try:
            on_change(change)
        except BrokenPipeError:  # the reader has gone
            raise
        except Exception as error:  # a failing callback of one query must not stop the others
            if name in self._followed:
                self.remove(name)
                self._on_failure([name], error)
            else:
                warn_gone(name, error)

    def _change(self, query: LiveQuery, rows: Rows, *, is_answer: bool = False) -> LiveChange:
        for each in rows:
            if len(each):
                self._collector.keep_rows(each)
        variables = query.plan.variables[: rows.added.shape[1]]  # without the number of a query that shares a plan
        form = query.plan.live_form
        return LiveChange(query.snapshot, self.time_ms, is_answer, variables, *rows, self._dictionary, form)

    def _predicates(self, plan: Plan) -> frozenset[int] | None:
        found = stored_predicates(plan)
        return None if found is None else frozenset(map(self._dictionary.encode, found))
