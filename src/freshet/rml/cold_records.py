"""Records of a lossless window that have waited longer than their key's subwindow: kept, but out of the way.

They stay in the tables of what waits with their keys and times, by which pairs are found, but all else of them is in
blocks, which are written once, compressed, and read only where a pair needs them. What a micro-batch reads and writes
is so what a dynamic window would hold, and not all that could still meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

BLOCK, ROW = "block", "row"
HOT = -1

Ids = NDArray[np.int64]


class ColdStore(Protocol):
    """Where the blocks of a bucket are."""

    def get(self, side: int, block: int) -> pa.Table: ...

    def put(self, side: int, block: int, records: pa.Table) -> None: ...

    def remove(self, side: int, block: int) -> None: ...


class Staying(NamedTuple):
    """The rows of a table that wait on, and which of them are to be cold."""

    rows: Ids
    cold: NDArray[np.bool_]


def _numbers(table: pa.Table, name: str) -> Ids:
    return np.ascontiguousarray(table.column(name).to_numpy())


def blocks_of(table: pa.Table) -> Ids:
    """The block of each record; HOT for those that are whole."""
    return _numbers(table, BLOCK)


def cold_count(table: pa.Table) -> int:
    return int((blocks_of(table) != HOT).sum()) if BLOCK in table.column_names else 0


def whole_records(table: pa.Table, rows: Ids, side: int, store: ColdStore) -> pa.Table:
    """Rows of a table, with everything they have, from wherever it is."""
    blocks, places = blocks_of(table)[rows], _numbers(table, ROW)[rows]
    needed, which = np.unique(blocks, return_inverse=True)
    parts = [store.get(side, block) for block in needed.tolist() if block != HOT]
    own = table.drop_columns([BLOCK, ROW])
    starts = len(own) + np.cumsum([0, *(len(part) for part in parts)])
    first_cold = int(len(needed) > 0 and needed[0] == HOT)
    begins = starts[np.maximum(which - first_cold, 0)] if len(rows) else rows
    return pa.concat_tables([own, *parts]).take(pa.array(np.where(blocks == HOT, rows, begins + places)))


def cool_records(table: pa.Table, staying: Staying, side: int, store: ColdStore, carried: Sequence[str]) -> pa.Table:
    """The rows that stay. Of those newly cold, the carried columns go to a new block; blocks without references are
    removed."""
    blocks = blocks_of(table)
    before = np.unique(blocks[blocks != HOT])
    already = blocks[staying.rows] != HOT
    cooling = staying.rows[staying.cold & ~already]
    kept_cold = staying.rows[already]
    hot = table.take(pa.array(staying.rows[~staying.cold & ~already]))
    number = int(before.max()) + 1 if len(before) else 0
    if len(cooling):
        store.put(side, number, table.take(pa.array(cooling)).drop_columns([BLOCK, ROW]))
    for gone in np.setdiff1d(before, blocks[kept_cold]).tolist():
        store.remove(side, gone)
    cold = table.take(pa.array(np.concatenate((kept_cold, cooling))))
    cold = _replace_column(cold, BLOCK, np.concatenate((blocks[kept_cold], np.full(len(cooling), number))))
    cold = _replace_column(cold, ROW, np.concatenate((_numbers(table, ROW)[kept_cold], np.arange(len(cooling)))))
    for name in carried:
        at = cold.column_names.index(name)
        cold = cold.set_column(at, cold.schema.field(at), pa.nulls(len(cold), cold.schema.field(at).type))
    return pa.concat_tables([hot, cold])


def _replace_column(table: pa.Table, name: str, values: Ids) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values.astype(np.int64)))
