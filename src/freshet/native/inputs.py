"""What a join takes: rows under numbers that come and go, with indexes on their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from freshet.native.one_way_index import Ids, Rows
from freshet.native.ring_index import RingIndex


class Buffer(Protocol):
    """Leaf buffers and row buffers. `fresh` and `dead` give the rows that came and went since a step."""

    @property
    def values(self) -> Ids: ...
    @property
    def born(self) -> Ids: ...
    @property
    def live(self) -> int: ...
    @property
    def row_capacity(self) -> int: ...
    def fresh(self, since: int) -> Rows: ...
    def dead(self, since: int) -> Rows: ...
    def live_rows(self) -> Rows: ...
    def index_on(self, columns: tuple[int, ...]) -> RingIndex: ...


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """A buffer with the variables of its columns, those that are bound in every row, and whether rows can go."""

    buffer: Buffer
    names: tuple[str, ...]
    certain: frozenset[str]
    expires: bool
