"""Which queries share a plan.

The first query of a shape has a plan of its own, in which constants are constants. From the second on, a plan with
parameters serves all, whenever they are registered, where it is known for each of them which rows it sees; else those
that are registered before the next element comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from freshet.native.plan.plan import Plan
from freshet.native.streams.stream_router import AnyGroup
from freshet.native.timing import Timing
from freshet.rdf.deadline import QueryLimits
from freshet.results.answers import AnswerBatch


class Shared(Protocol):
    """Queries that share a plan. Groups know them under one name."""

    name: str

    def __len__(self) -> int: ...
    def add(self, name: str, constants: list[int], on_answers: Callable[[AnswerBatch], None]) -> None: ...
    def remove(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ShapeKey:
    """Queries with equal keys may share: the same plan and timing, streams to wait for, and, where that matters, no
    element between their registrations.
    """

    plan: Plan
    timing: Timing
    streams: frozenset[str]
    elements: tuple[int, ...] | None  # how many have come in each of the streams, where that matters
    limits: QueryLimits | None = None  # of a step, which all of them take together
    _hash: int = field(init=False, repr=False, compare=False)  # a plan is hashed node by node, and keys several times

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.plan, self.timing, self.streams, self.elements, self.limits)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(slots=True, eq=False)
class PlanSharers:
    """The queries with one key, and what they share, once they are two."""

    key: ShapeKey
    shared: Shared | None = None


class SharedPlans:
    """The plans that queries share, and who shares them."""

    def __init__(self) -> None:
        self._sharers: dict[ShapeKey, PlanSharers] = {}
        self._of: dict[str, Shared] = {}
        self._first: dict[str, ShapeKey] = {}  # of the queries that have plans of their own
        self._groups: dict[str, AnyGroup] = {}  # by the names of the plans

    def sharers(self, name: str, key: ShapeKey) -> PlanSharers | None:
        """Those with a key, where there was such a query before; from now on there is, with this name."""
        sharers = self._sharers.get(key)
        if sharers is None:
            self._sharers[key] = PlanSharers(key)
            self._first[name] = key
        return sharers

    def group(self, shared: Shared) -> AnyGroup:
        """The group that a shared plan is in."""
        return self._groups[shared.name]

    def enter(self, name: str, sharers: PlanSharers, shared: Shared, group: AnyGroup) -> None:
        """A query shares a plan from now on."""
        sharers.shared = shared
        self._of[name] = shared
        self._groups[shared.name] = group

    def group_name(self, name: str) -> str:
        """The name by which a group knows a query, or those that it shares a plan with."""
        shared = self._of.get(name)
        return name if shared is None else shared.name

    def leave(self, name: str) -> bool:
        """A query goes; whether the group is to forget what it knows under its group name."""
        shared = self._of.pop(name, None)
        if shared is None:
            key = self._first.pop(name, None)
            if key in self._sharers and self._sharers[key].shared is None:
                del self._sharers[key]
            return True
        shared.remove(name)
        if len(shared):
            return False
        self._sharers = {key: sharers for key, sharers in self._sharers.items() if sharers.shared is not shared}
        del self._groups[shared.name]
        return True

    def members(self, group_name: str) -> list[str]:
        """The queries that a group knows under a name."""
        return [name for name, shared in self._of.items() if shared.name == group_name] or [group_name]

    def forget_before(self, key: ShapeKey) -> None:
        """Forget what queries had in common that were registered before the last elements came, where that matters."""
        if key.elements is None:
            return
        self._sharers = {
            other: sharers
            for other, sharers in self._sharers.items()
            if other.timing != key.timing or other.elements in (None, key.elements)
        }
