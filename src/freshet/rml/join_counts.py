"""What a join of live streams has counted, so that one that finds nothing can say why."""

from __future__ import annotations

from operator import add
from typing import NamedTuple


class JoinCounts(NamedTuple):
    """Records of both sides that came with a key, and the pairs that they made; records that could not be read, or had
    no key; those that met nothing (more) as they came too late, or were given up because too many waited; and how many
    wait now."""

    children: int = 0
    parents: int = 0
    pairs: int = 0
    unread: int = 0
    keyless: int = 0
    late: int = 0
    given_up: int = 0
    waiting: int = 0

    def then(self, more: JoinCounts) -> JoinCounts:
        """These counts and those of what came after."""
        return JoinCounts(*map(add, self, more))._replace(waiting=more.waiting)

    @property
    def gone(self) -> int:
        """How many records can meet nothing any more."""
        return self.children + self.parents + self.unread + self.keyless - self.waiting
