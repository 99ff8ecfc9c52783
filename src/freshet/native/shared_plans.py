"""Which queries share a plan.

The first query of a shape has a plan of its own, in which constants are constants. From the second on, a plan with
parameters serves all that are registered before the next element comes: who is registered later sees other elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from freshet.native.connections import AnyClock
from freshet.native.plan import Plan
from freshet.native.timing import Timing
from freshet.results.report import Report


class Shared(Protocol):
    """Queries that share a plan. Clocks know them under one name."""

    name: str

    def __len__(self) -> int: ...
    def add(self, name: str, constants: list[int], on_report: Callable[[Report], None]) -> None: ...
    def remove(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ShapeKey:
    """Queries with equal keys may share: the same plan and timing, and no element between their registrations."""

    plan: Plan
    timing: Timing
    elements: tuple[int, ...]  # how many have come in each of the streams


class SharedPlans:
    """The plans that queries share, and who shares them."""

    def __init__(self) -> None:
        self._known: dict[ShapeKey, Shared | None] = {}
        self._of: dict[str, Shared] = {}
        self._clocks: dict[str, AnyClock] = {}  # by the names of the plans

    def is_known(self, key: ShapeKey) -> bool:
        """Whether there was a query with this key before; from now on there is."""
        known = key in self._known
        self._known.setdefault(key, None)
        return known

    def shared(self, key: ShapeKey) -> Shared | None:
        return self._known[key]

    def clock(self, shared: Shared) -> AnyClock:
        """The clock that a shared plan is in."""
        return self._clocks[shared.name]

    def enter(self, name: str, key: ShapeKey, shared: Shared, clock: AnyClock) -> None:
        """A query shares a plan from now on."""
        self._known[key] = shared
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
        self._known = {key: other for key, other in self._known.items() if other is not shared}
        del self._clocks[shared.name]
        return True

    def members(self, clock_name: str) -> list[str]:
        """The queries that a clock knows under a name."""
        return [name for name, shared in self._of.items() if shared.name == clock_name] or [clock_name]

    def forget_before(self, key: ShapeKey) -> None:
        """Forget what queries had in common that were registered before the last elements came."""
        self._known = {
            other: shared
            for other, shared in self._known.items()
            if other.timing != key.timing or other.elements == key.elements
        }
