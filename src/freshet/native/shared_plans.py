"""Which queries share a plan.

The first query of a shape has a plan of its own, in which constants are constants. From the second on, a plan with
parameters serves all that are registered before the next element comes: who is registered later sees other elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from freshet.native.connections import AnyClock
from freshet.native.plan import Plan
from freshet.native.timing import Timing
from freshet.results.answers import AnswerBatch


class Shared(Protocol):
    """Queries that share a plan. Clocks know them under one name."""

    name: str

    def __len__(self) -> int: ...
    def add(self, name: str, constants: list[int], on_answers: Callable[[AnswerBatch], None]) -> None: ...
    def remove(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ShapeKey:
    """Queries with equal keys may share: the same plan and timing, and no element between their registrations."""

    plan: Plan
    timing: Timing
    elements: tuple[int, ...]  # how many have come in each of the streams
    _hash: int = field(init=False, repr=False, compare=False)  # a plan is hashed node by node, and keys several times

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.plan, self.timing, self.elements)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(slots=True, eq=False)
class Group:
    """The queries with one key, and what they share, once they are two."""

    key: ShapeKey
    shared: Shared | None = None


class SharedPlans:
    """The plans that queries share, and who shares them."""

    def __init__(self) -> None:
        self._groups: dict[ShapeKey, Group] = {}
        self._of: dict[str, Shared] = {}
        self._clocks: dict[str, AnyClock] = {}  # by the names of the plans

    def group(self, key: ShapeKey) -> Group | None:
        """Those with a key, where there was such a query before; from now on there is."""
        group = self._groups.get(key)
        if group is None:
            self._groups[key] = Group(key)
        return group

    def clock(self, shared: Shared) -> AnyClock:
        """The clock that a shared plan is in."""
        return self._clocks[shared.name]

    def enter(self, name: str, group: Group, shared: Shared, clock: AnyClock) -> None:
        """A query shares a plan from now on."""
        group.shared = shared
        self._of[name] = shared
        self._clocks[shared.name] = clock

    def clock_name(self, name: str) -> str:
        """The name by which a clock knows a query, or those that it shares a plan with."""
        shared = self._of.get(name)
        return name if shared is None else shared.name

    def leave(self, name: str) -> bool:
        """A query goes; whether the clock is to forget what it knows under its clock name."""
        shared = self._of.pop(name, None)
        if shared is None:
            return True
        shared.remove(name)
        if len(shared):
            return False
        self._groups = {key: group for key, group in self._groups.items() if group.shared is not shared}
        del self._clocks[shared.name]
        return True

    def members(self, clock_name: str) -> list[str]:
        """The queries that a clock knows under a name."""
        return [name for name, shared in self._of.items() if shared.name == clock_name] or [clock_name]

    def forget_before(self, key: ShapeKey) -> None:
        """Forget what queries had in common that were registered before the last elements came."""
        self._groups = {
            other: group
            for other, group in self._groups.items()
            if other.timing != key.timing or other.elements == key.elements
        }
