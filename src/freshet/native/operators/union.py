"""Union: the rows of all.

Δ(R ∪ S) = ΔR ∪ ΔS
"""

from __future__ import annotations

from collections.abc import Sequence

from freshet.native.change import Change, MomentBatch, Operator, merge_changes


class UnionOp:
    """The rows of several children."""

    def __init__(self, children: Sequence[Operator]) -> None:
        self._children = children
        self._found: list[Change] = []  # so far; the dictionary may be swept while a child waits for remote data

    def changes(self, batch: MomentBatch) -> Change:
        self._found = []
        for child in self._children:
            self._found.append(child.changes(batch))
        changes, self._found = self._found, []
        return merge_changes(changes)
