"""Union: the rows of all.

Δ(R ∪ S) = ΔR ∪ ΔS
"""

from __future__ import annotations

from collections.abc import Sequence

from freshet.native.change import Change, Operator
from freshet.oneshot.table import Table, stack_tables


class UnionOp:
    """The rows of several children."""

    def __init__(self, children: Sequence[Operator]) -> None:
        self._children = children
        self._found: list[Change] = []  # so far; the dictionary may be swept while a child waits for remote data

    def changes(self, number: int) -> Change:
        self._found = []
        for child in self._children:
            self._found.append(child.changes(number))
        changes, self._found = self._found, []
        return Change(stack_tables([each.came for each in changes]), stack_tables([each.went for each in changes]))

    def rows(self) -> Table:
        return stack_tables([child.rows() for child in self._children])
