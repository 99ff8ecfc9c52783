"""Which queries share a plan.

The first query of a shape has a plan of its own, in which constants are constants. From the second on, a plan with
parameters serves all that are registered before the next element comes: who is registered later sees other elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from freshet.native.plan import Plan
from freshet.native.s2r.content import WindowContent
from freshet.native.shared_query import SharedQuery
from freshet.native.sharing import Shape
from freshet.native.timing import Timing


@dataclass(frozen=True, slots=True)
class _Key:
    plan: Plan
    timing: Timing
    windows: tuple[WindowContent, ...]


class SharedPlans:
    """The plans that queries share, and who shares them."""

    def __init__(self) -> None:
        self._seen: dict[_Key, SharedQuery | None] = {}
        self._of: dict[str, SharedQuery] = {}

    def find(self, shape: Shape, timing: Timing, windows: tuple[WindowContent, ...]) -> tuple[SharedQuery | None, bool]:
        """The queries with the same shape, and whether there was one before; from now on there is."""
        key = _Key(shape.plan, timing, windows)
        known = key in self._seen
        return self._seen.setdefault(key, None), known

    def share(self, shape: Shape, timing: Timing, windows: tuple[WindowContent, ...], shared: SharedQuery) -> None:
        self._seen[_Key(shape.plan, timing, windows)] = shared

    def enter(self, name: str, shared: SharedQuery) -> None:
        self._of[name] = shared

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
        return len(shared) == 0

    def members(self, clock_name: str) -> list[str]:
        """The queries that a clock knows under a name."""
        return [name for name, shared in self._of.items() if shared.name == clock_name] or [clock_name]

    def forget_unused(self, used: set[WindowContent]) -> None:
        """Forget shapes over windows that no query reads any more."""
        self._seen = {key: shared for key, shared in self._seen.items() if used.issuperset(key.windows)}
