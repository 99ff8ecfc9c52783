"""The third step of a bulk load: tasks sort the triples, a range each, and write them in order, each once.

A range goes from one row to another in the order of graph, predicate, key and second place, so that the parts which
tasks write only have to be put one after another. Ranges are cut where a sample of the rows says, so that none is much
larger than the others; a triple that came twice is in one range.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from freshet.rdf.arrow import numbers
from freshet.rdf.triples import Ids
from freshet.spark.bulk_blocks import SplitBlock, StagedBlock, read_range, split_block, splitters
from freshet.store.graph_layout import ORDERS, Groups, groups_of
from freshet.store.sorting import sort_columns

_NAMES = ("graph", "subject", "predicate", "object")
TABLE = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in _NAMES])


class OrderRange(NamedTuple):
    """A range that has been written: how many rows each group has in it."""

    graphs: Ids
    predicates: Ids
    counts: Ids


class _Range(NamedTuple):
    """What a task sorts: of each block, a number of rows from a row on."""

    order: str
    number: int
    blocks: list[tuple[str, int, int]]


def key_file(folder: Path, order: str, number: int) -> Path:
    return folder / f"{order}-keys-{number:05}"


def second_file(folder: Path, order: str, number: int) -> Path:
    return folder / f"{order}-seconds-{number:05}"


def split(spark: SparkSession, blocks: Sequence[StagedBlock], folder: Path, ranges: int) -> list[SplitBlock]:
    """Cut all blocks into ranges."""
    nothing = np.empty((4, 0), np.int64)
    sample = np.concatenate([nothing, *(block.sample for block in blocks)], axis=1)
    by_order = {order: splitters(sample, order, ranges) for order in ORDERS}
    place, names = str(folder), [block.name for block in blocks]

    def task(name: str) -> SplitBlock:
        return split_block(Path(place), name, by_order)

    return spark.sparkContext.parallelize(names, max(1, len(names))).map(task).collect() if names else []


def sort_orders(
    spark: SparkSession, blocks: Sequence[SplitBlock], folder: Path, table: Path, ranges: int
) -> dict[str, Groups]:
    """Sort all ranges of both orders; write their parts to `folder`, and Parquet segments to `table`. Gives groups."""
    table.mkdir(parents=True, exist_ok=True)
    work = [_Range(order, number, _slices(blocks, order, number)) for order in ORDERS for number in range(ranges)]
    place, segments = str(folder), str(table)

    def task(one: _Range) -> OrderRange:
        return _sort_range(one, Path(place), Path(segments))

    found = spark.sparkContext.parallelize(work, len(work)).map(task).collect()
    return {
        order: groups_of(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        for order, parts in zip(ORDERS, (found[:ranges], found[ranges:]), strict=True)
    }


def warm(block: SplitBlock, folder: Path) -> None:
    """Have the kernels compiled that tasks call."""
    for order in ORDERS:
        _sort_range(_Range(order, 0, _slices([block], order, 0)), folder, folder)


def _slices(blocks: Sequence[SplitBlock], order: str, number: int) -> list[tuple[str, int, int]]:
    counted = ((block.name, block.counts[order]) for block in blocks)
    return [(name, int(counts[:number].sum()), int(counts[number])) for name, counts in counted if counts[number]]


def _sort_range(one: _Range, folder: Path, table: Path) -> OrderRange:
    graphs, predicates, keys, seconds = read_range(folder, one.order, one.blocks)
    groups, bounds, keys, seconds = sort_columns(keys, _group_numbers(graphs, predicates), seconds)
    graphs, predicates = _pairs(graphs, predicates, groups)
    keys.tofile(key_file(folder, one.order, one.number))
    seconds.tofile(second_file(folder, one.order, one.number))
    counts = np.diff(bounds)
    if one.order == ORDERS[0]:
        columns = (np.repeat(graphs, counts), keys, np.repeat(predicates, counts), seconds)
        segment = pa.table([numbers(column) for column in columns], schema=TABLE)
        dictionaries = ["graph", "predicate"]
        pq.write_table(segment, table / f"{one.number:05}.parquet", compression="zstd", use_dictionary=dictionaries)
    return OrderRange(graphs, predicates, counts)


def _group_numbers(graphs: Ids, predicates: Ids) -> Ids:
    """A number for each row that says its graph and predicate, and sorts as they do."""
    if _is_one(graphs):
        return predicates
    different = _different(predicates)
    ranks = np.searchsorted(_different(graphs), graphs)
    return ranks * different.size + np.searchsorted(different, predicates) + 1


def _pairs(graphs: Ids, predicates: Ids, groups: Ids) -> tuple[Ids, Ids]:
    """The graphs and predicates of group numbers."""
    if _is_one(graphs):
        return np.repeat(graphs[:1], groups.size), groups
    different = _different(predicates)
    return _different(graphs)[(groups - 1) // different.size], different[(groups - 1) % different.size]


def _is_one(column: Ids) -> bool:
    return not column.size or bool((column == column[0]).all())


def _different(column: Ids) -> Ids:
    ordered = np.sort(column)
    different: Ids = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return different
