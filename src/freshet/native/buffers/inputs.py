"""What a join takes: rows under numbers that live for a time, with indexes on their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from freshet.native.buffers.one_way_index import Ids, Rows
from freshet.native.buffers.record import Record
from freshet.native.buffers.ring_index import Lives


class Index(Protocol):
    """The rows that have a key."""

    @property
    def record(self) -> Record: ...
    def probe(self, keys: Ids, moments: Ids, ties: int, lives: Lives) -> tuple[Ids, Rows]: ...
    def rows_per_key(self) -> float: ...
    def counts(self, keys: Ids) -> Ids: ...
    @property
    def is_skewed(self) -> bool: ...


class Buffer(Protocol):
    """Leaf buffers and row buffers. `fresh` and `dead` give the rows whose lives began and ended in a batch, in order.

    `values` is an array, but that of a stored leaf, which can be asked only for `values[rows, column]`.
    """

    @property
    def record(self) -> Record: ...
    @property
    def values(self) -> Any: ...
    @property
    def died(self) -> Any: ...  # where rows can go
    @property
    def live(self) -> int: ...
    @property
    def row_capacity(self) -> int: ...
    def fresh(self, number: int) -> Rows: ...
    def dead(self, number: int) -> Rows: ...
    def births(self, rows: Rows) -> Ids: ...
    def deaths(self, rows: Rows) -> Ids: ...
    def lives(self, number: int) -> Lives: ...
    def old_rows(self, first_moment: int) -> Rows: ...
    def live_rows(self) -> Rows: ...
    def index_on(self, columns: tuple[int, ...]) -> Index: ...


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """A buffer with the variables of its columns, those that are bound in every row, and whether rows can go."""

    buffer: Buffer
    names: tuple[str, ...]
    certain: frozenset[str]
    expires: bool
