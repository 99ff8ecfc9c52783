"""What a join takes: rows under numbers that come and go, with indexes on their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from freshet.native.one_way_index import Ids, Rows
from freshet.native.ring_index import Pairs

Moved = tuple[Rows, Rows]  # the rows that came and those that went

NOTHING_MOVED: Moved = (np.empty(0, np.int32), np.empty(0, np.int32))


class Index(Protocol):
    """The rows that have a key."""

    def probe(self, keys: Ids, born: Ids, before: int) -> tuple[Ids, Rows]: ...
    def pairs(self, rows: Rows, values: Any, columns: Ids, born: Ids, before: int, place: int) -> Pairs: ...
    def rows_per_key(self) -> float: ...


class Buffer(Protocol):
    """Leaf buffers and row buffers. `fresh` and `dead` give the rows that came and went since a step, `moved` both.

    `values` is an array, but that of a stored leaf, which can be asked only for `values[rows, column]`.
    """

    @property
    def values(self) -> Any: ...
    @property
    def born(self) -> Ids: ...
    @property
    def live(self) -> int: ...
    @property
    def row_capacity(self) -> int: ...
    def fresh(self, since: int) -> Rows: ...
    def dead(self, since: int) -> Rows: ...
    def moved(self, since: int) -> Moved: ...
    def live_rows(self) -> Rows: ...
    def index_on(self, columns: tuple[int, ...]) -> Index: ...


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """A buffer with the variables of its columns, those that are bound in every row, and whether rows can go."""

    buffer: Buffer
    names: tuple[str, ...]
    certain: frozenset[str]
    expires: bool
