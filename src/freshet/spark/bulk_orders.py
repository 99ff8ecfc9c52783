"""The third step of a bulk load: Spark sorts the triples, and tasks write them in sorted order, each once.

Spark cuts the sorted rows into ranges, one a partition; a task gets the rows of a range in order and writes the columns
of an order as parts that only have to be put one after another, and where it is asked to, a Parquet segment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import SparkSession

from freshet.rdf.arrow import numbers
from freshet.rdf.triples import Ids
from freshet.store.graph_layout import ORDERS, Groups, groups_of

_NAMES = ("graph", "subject", "predicate", "object")
_TRIPLES = ", ".join(f"{name} BIGINT" for name in _NAMES)
TABLE = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in _NAMES])
_SCHEMA = "part INT, graph BIGINT, predicate BIGINT, rows BIGINT"
_BY_PREDICATE = ("graph", "predicate")

Batches = Iterator[pa.RecordBatch]


def key_part(folder: Path, order: str, part: int) -> Path:
    return folder / f"{order}-keys-{part:05}"


def second_part(folder: Path, order: str, part: int) -> Path:
    return folder / f"{order}-seconds-{part:05}"


def sort_order(
    spark: SparkSession, sources: Sequence[Path], order: str, folder: Path, partitions: int, table: Path | None = None
) -> Groups:
    """Sort the triples in Parquet files, repeats left out; write the parts of an order to `folder`, and where a `table`
    is given, Parquet segments to it. Gives the groups."""
    if table is not None:
        table.mkdir(parents=True, exist_ok=True)
    second = ORDERS[1 - ORDERS.index(order)]
    places = (*_BY_PREDICATE, order, second)
    triples = spark.read.schema(_TRIPLES).parquet(*map(str, sources)).select(*places)
    spread = triples.repartitionByRange(partitions, *places).sortWithinPartitions(*places)
    writer = _writer(order, second, str(folder), None if table is None else str(table))
    rows = spread.mapInArrow(writer, _SCHEMA).toArrow().sort_by("part")  # a stable sort: groups stay in their order
    return groups_of(*(rows.column(name).to_numpy() for name in ("graph", "predicate", "rows")))


def _writer(order: str, second: str, folder: str, table: str | None) -> Callable[[Batches], Batches]:
    def write(batches: Batches) -> Batches:
        context = TaskContext.get()
        assert context is not None
        part = context.partitionId()
        with _PartWriter(order, second, Path(folder), table, part) as out:
            for batch in batches:
                out.add(batch)
        yield out.groups()

    return write


class _PartWriter:
    """Writes a range of sorted triples, each once."""

    def __init__(self, order: str, second: str, folder: Path, table: str | None, part: int) -> None:
        self._names = (*_BY_PREDICATE, order, second)
        self._part = part
        self._last: list[int] | None = None
        self._counts: list[tuple[Ids, Ids, Ids]] = []
        paths = (key_part(folder, order, part), second_part(folder, order, part))
        self._files: list[BinaryIO] = [path.open("wb") for path in paths]
        self._table = None
        if table is not None:
            path = Path(table) / f"{part:05}.parquet"
            self._table = pq.ParquetWriter(path, TABLE, compression="zstd", use_dictionary=list(_BY_PREDICATE))

    def __enter__(self) -> _PartWriter:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (*self._files, *([] if self._table is None else [self._table])):
            file.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Write the rows that are not the same as the one before."""
        if not batch.num_rows:
            return
        columns = [batch.column(name).to_numpy() for name in self._names]
        fresh = np.zeros(batch.num_rows, np.bool_)
        for place, column in enumerate(columns):
            fresh[1:] |= column[1:] != column[:-1]
            fresh[0] |= self._last is None or int(column[0]) != self._last[place]
        self._last = [int(column[-1]) for column in columns]
        if not fresh.all():
            columns = [column[fresh] for column in columns]
        if columns[0].size:
            self._write(columns)

    def _write(self, columns: list[Ids]) -> None:
        graphs, predicates, *rest = columns
        for file, column in zip(self._files, rest, strict=True):
            file.write(np.ascontiguousarray(column).data.cast("B"))
        changes = np.ones(graphs.size, np.bool_)
        changes[1:] = (graphs[1:] != graphs[:-1]) | (predicates[1:] != predicates[:-1])
        starts = np.flatnonzero(changes)
        self._counts.append((graphs[starts], predicates[starts], np.diff(starts, append=graphs.size)))
        if self._table is not None:
            named = dict(zip(self._names, columns, strict=True))
            self._table.write_table(pa.table([numbers(named[name]) for name in _NAMES], schema=TABLE))

    def groups(self) -> pa.RecordBatch:
        """How many rows of each group there were, in order; a group may come in several pieces."""
        nothing = np.empty(0, np.int64)
        columns = [np.concatenate([nothing, *column]) for column in zip(*self._counts, strict=True)] or [nothing] * 3
        parts = np.full(columns[0].size, self._part, np.int32)
        return pa.RecordBatch.from_arrays(
            [numbers(parts), *map(numbers, columns)], names=["part", "graph", "predicate", "rows"]
        )
