"""The second step of a bulk load: each term once, in the order of ids, as a table and as parts of the dictionary.

Terms come from many tasks, so that one may come many times, and two may come with one id: where their keys have the
same hash. Such terms are found here, as equal ids stand side by side; nothing is made of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import SparkSession

from freshet.kernels.dictionary import LENGTH_BYTES
from freshet.kernels.graph_files import wanted_ids, write_records
from freshet.rdf.arrow import key_ranges, numbers, read_only
from freshet.rdf.triples import Ids

_SCHEMA = "part INT, terms BIGINT, heap_bytes BIGINT, id BIGINT, key STRING"
_ARROW = pa.schema(
    [
        pa.field("part", pa.int32()),
        pa.field("terms", pa.int64()),
        pa.field("heap_bytes", pa.int64()),
        pa.field("id", pa.int64()),
        pa.field("key", pa.string()),
    ]
)
TABLE = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("key", pa.string(), nullable=False)])

Batches = Iterator[pa.RecordBatch]


class TermPart(NamedTuple):
    """A part of the terms: how many, and the bytes of their records."""

    number: int
    terms: int
    heap_bytes: int


class SortedTerms(NamedTuple):
    """The parts that were written, and the terms (id, key) that have an id which is not theirs alone."""

    parts: list[TermPart]
    clashes: list[tuple[int, str]]


def heap_part(folder: Path, part: int) -> Path:
    return folder / f"heap-{part:05}"


def id_part(folder: Path, part: int) -> Path:
    return folder / f"ids-{part:05}"


def record_part(folder: Path, part: int) -> Path:
    return folder / f"records-{part:05}"


def sort_terms(
    spark: SparkSession, sources: Sequence[Path], table: Path, folder: Path, partitions: int, hash_bits: int
) -> SortedTerms:
    """Sort the terms in Parquet files; write Parquet segments to `table`, parts of the dictionary to `folder`."""
    table.mkdir(parents=True, exist_ok=True)
    terms = spark.read.schema("id BIGINT, key STRING").parquet(*map(str, sources))
    spread = terms.repartition(partitions, "id").sortWithinPartitions("id", "key")
    rows = spread.mapInArrow(_writer(str(table), str(folder), hash_bits), _SCHEMA).collect()
    parts = [TermPart(row.part, row.terms, row.heap_bytes) for row in rows if row.id is None]
    return SortedTerms(sorted(parts), [(row.id, row.key) for row in rows if row.id is not None])


def warm() -> None:
    """Have the kernels compiled that tasks call."""
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array(["<urn:a>"])], names=["id", "key"])
    with (
        tempfile.TemporaryDirectory(prefix="freshet-load-") as folder,
        _PartWriter(Path(folder), Path(folder), 0, 63) as out,
    ):
        list(out.add(batch))


def _writer(table: str, folder: str, hash_bits: int) -> Callable[[Batches], Batches]:
    def write(batches: Batches) -> Batches:
        part = _partition()
        with _PartWriter(Path(table), Path(folder), part, hash_bits) as out:
            for batch in batches:
                yield from out.add(batch)
        yield _rows([part], [out.terms], [out.heap_bytes], [None], [None])

    return write


def _partition() -> int:
    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def _rows(*columns: Sequence[int | str | None]) -> pa.RecordBatch:
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


class _PartWriter:
    """Writes a part of the terms: they come sorted, with repeats."""

    def __init__(self, table: Path, folder: Path, part: int, hash_bits: int) -> None:
        self.terms = self.heap_bytes = 0
        self._part = part
        self._mask = np.int64((1 << hash_bits) - 1)
        self._last: pa.RecordBatch | None = None
        self._table = pq.ParquetWriter(table / f"{part:05}.parquet", TABLE, compression="zstd", use_dictionary=False)
        paths = (heap_part(folder, part), id_part(folder, part), record_part(folder, part))
        self._files: list[BinaryIO] = [path.open("wb") for path in paths]

    def __enter__(self) -> _PartWriter:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self._table, *self._files):
            file.close()

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Write the terms of a batch; gives those whose ids are not theirs alone."""
        if not batch.num_rows:
            return
        new, clashes = self._new(batch)
        self._last = batch.slice(batch.num_rows - 1)
        if clashes.num_rows:
            count = clashes.num_rows
            nothing = [None] * count
            yield _rows([self._part] * count, nothing, nothing, *(column.to_pylist() for column in clashes.columns))
        if new.num_rows:
            self._write(new)

    def _new(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The terms that were not there before, and those that clash: an id is another's, or not the one asked for."""
        last = batch.slice(0, 0) if self._last is None else self._last
        both = pa.Table.from_batches([last, batch]).combine_chunks()
        ids, keys = both.column("id").to_numpy(), both.column("key").chunk(0)
        same_id = np.zeros(ids.size, np.bool_)
        same_id[1:] = ids[1:] == ids[:-1]
        same_key = np.zeros(ids.size, np.bool_)
        same_key[1:] = pc.equal(keys.slice(1), keys.slice(0, len(keys) - 1)).to_numpy(zero_copy_only=False)
        shared = same_id & ~same_key
        clash = shared.copy()
        clash[:-1] |= shared[1:]
        clash |= ids != self._wanted(keys)
        fresh = ~(same_id & same_key)
        fresh[: last.num_rows] = False
        clash[: last.num_rows] &= shared[last.num_rows : last.num_rows + 1]  # told before, unless the next has its id
        return batch.filter(pa.array(fresh[last.num_rows :])), _chosen(both, clash)

    def _wanted(self, keys: pa.Array) -> Ids:
        data, starts, ends = key_ranges(keys)
        wanted = np.empty(starts.size, np.int64)
        wanted_ids(read_only(data), starts, ends, self._mask, wanted)
        return wanted

    def _write(self, terms: pa.RecordBatch) -> None:
        self._table.write_batch(terms.cast(TABLE))
        data, starts, ends = key_ranges(terms.column("key"))
        heap = np.empty(int((ends - starts).sum()) + LENGTH_BYTES * starts.size, np.uint8)
        records = np.empty(starts.size, np.int64)
        write_records(read_only(data), starts, ends, heap, records)
        records += self.heap_bytes
        for file, column in zip(self._files, (heap, terms.column("id").to_numpy(), records), strict=True):
            file.write(np.ascontiguousarray(column).data.cast("B"))
        self.terms += starts.size
        self.heap_bytes += heap.size


def _chosen(table: pa.Table, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.RecordBatch:
    batches = table.filter(pa.array(mask)).combine_chunks().to_batches()
    return (
        batches[0]
        if batches
        else pa.RecordBatch.from_arrays(
            [numbers(np.empty(0, np.int64)), pa.array([], pa.string())], names=["id", "key"]
        )
    )
