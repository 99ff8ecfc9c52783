"""How much memory the stored data take, and what of it is for what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from freshet.store.graph import StoredGraph


class StoreBytes(NamedTuple):
    """Bytes of the stored data."""

    base_columns: int = 0  # sorted triples
    base_index: int = 0  # what finds them
    appended: int = 0  # triples that came later
    appended_index: int = 0
    stream_index: int = 0  # what finds the absorbed triples of a window
    slices: int = 0  # elements of streams that do not absorb them


def bytes_of(graphs: Iterable[StoredGraph], stream_index: int = 0, slices: int = 0) -> StoreBytes:
    """The sizes of some graphs, and what else there is."""
    base_columns = base_index = appended = appended_index = 0
    for graph in graphs:
        for order in graph.base.orders():
            base_columns += order.arrays.column_bytes
            base_index += order.arrays.directory_bytes
        base_columns += graph.base.column_bytes
        view = graph.appended()
        if view is not None:
            appended += view.row_bytes
            appended_index += view.index_bytes
    return StoreBytes(base_columns, base_index, appended, appended_index, stream_index, slices)
