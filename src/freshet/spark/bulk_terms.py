"""The second step of a bulk load: each term once, in the order of ids, as a table and as parts of the dictionary.

Terms come from many blocks, so that one may come many times, and two may come with one id: where their keys have the
same hash. Such terms are found here, as equal ids stand side by side; `freshet.spark.bulk_clashes` gives them others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from freshet.kernels.dictionary import LENGTH_BYTES
from freshet.kernels.graph_files import wanted_ids, write_records
from freshet.rdf.arrow import key_ranges, read_only
from freshet.rdf.triples import Ids
from freshet.spark.bulk_blocks import EMPTY_TERMS, read_terms

TABLE = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("key", pa.string(), nullable=False)])
_ID_BITS = 63


class TermRange(NamedTuple):
    """The terms of a range of ids: how many, the bytes of their records, and (id, key) of shared ids."""

    number: int
    terms: int
    heap_bytes: int
    clashes: list[tuple[int, str]]


def heap_file(folder: Path, number: int) -> Path:
    return folder / f"heap-{number:05}"


def id_file(folder: Path, number: int) -> Path:
    return folder / f"ids-{number:05}"


def record_file(folder: Path, number: int) -> Path:
    return folder / f"records-{number:05}"


def sort_terms(
    spark: SparkSession,
    blocks: Sequence[str],
    folder: Path,
    table: Path,
    bits: int,
    hash_bits: int,
    resolved: Mapping[str, int],
) -> list[TermRange]:
    """Put the terms of all blocks together, in 2 ** `bits` ranges of ids: Parquet segments to `table`, parts of the
    dictionary to `folder`. `resolved` has the ids of terms that have another than their hash."""
    table.mkdir(parents=True, exist_ok=True)
    place, segments, names, known = str(folder), str(table), list(blocks), dict(resolved)

    def task(number: int) -> TermRange:
        return write_range(number, bits, names, Path(place), Path(segments), hash_bits, known)

    return spark.sparkContext.parallelize(range(1 << bits), 1 << bits).map(task).collect()


def write_range(
    number: int, bits: int, names: Sequence[str], folder: Path, table: Path, hash_bits: int, resolved: Mapping[str, int]
) -> TermRange:
    """Write the terms whose ids begin with the bits of a number."""
    terms = _range(folder, names, number << (_ID_BITS - bits), (number + 1) << (_ID_BITS - bits))
    same_id, same_key = _same_as_before(terms)
    kept = terms.filter(pa.array(~(same_id & same_key))).combine_chunks()
    clashing, _ = _same_as_before(kept)
    clashing[:-1] |= clashing[1:]
    clashing |= kept.column("id").to_numpy() != assign_ids(kept.column("key").combine_chunks(), hash_bits, resolved)
    clashes = kept.filter(pa.array(clashing))
    kept = kept.cast(TABLE)
    pq.write_table(kept, table / f"{number:05}.parquet", compression="zstd", use_dictionary=False)
    size = _write_records(kept, folder, number)
    return TermRange(number, kept.num_rows, size, list(zip(*(column.to_pylist() for column in clashes), strict=True)))


def _range(folder: Path, names: Sequence[str], start: int, end: int) -> pa.Table:
    """The terms of all blocks from one id on and before another, sorted by id and key."""
    parts = [EMPTY_TERMS]
    for name in names:
        terms = read_terms(folder, name)
        ids = terms.column("id").to_numpy()
        first, last = np.searchsorted(ids, start), np.searchsorted(ids, end) if end >> _ID_BITS == 0 else ids.size
        parts.append(terms.slice(first, last - first))
    both = pa.concat_tables(parts).combine_chunks()
    order = np.argsort(both.column("id").to_numpy(), kind="stable")
    ordered = both.take(pa.array(order)).combine_chunks()
    return _with_keys_sorted(ordered)


def _with_keys_sorted(terms: pa.Table) -> pa.Table:
    """Terms in the order of ids, those with one id in the order of keys. Most ids have one key: then that is done."""
    same_id, same_key = _same_as_before(terms)
    if not (same_id & ~same_key).any():
        return terms
    return terms.sort_by([("id", "ascending"), ("key", "ascending")]).combine_chunks()


def _same_as_before(terms: pa.Table) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which terms have the id of the one before, and which have its key."""
    ids, keys = terms.column("id").to_numpy(), terms.column("key").combine_chunks()
    same_id, same_key = np.zeros(ids.size, np.bool_), np.zeros(ids.size, np.bool_)
    same_id[1:] = ids[1:] == ids[:-1]
    same_key[1:] = pc.equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    return same_id, same_key


def assign_ids(keys: pa.Array, hash_bits: int, resolved: Mapping[str, int]) -> Ids:
    """The ids that keys should have: their hashes, or what they have been given in their place."""
    data, starts, ends = key_ranges(keys)
    ids = np.empty(starts.size, np.int64)
    wanted_ids(read_only(data), starts, ends, np.int64((1 << hash_bits) - 1), ids)
    if resolved:
        places = pc.index_in(keys, pa.array(list(resolved), keys.type)).to_numpy(zero_copy_only=False)
        given = np.isfinite(places)
        ids[given] = np.array(list(resolved.values()), np.int64)[places[given].astype(np.int64)]
    return ids


def _write_records(terms: pa.Table, folder: Path, number: int) -> int:
    """Write the terms as records of the dictionary; gives the bytes that they take."""
    data, starts, ends = key_ranges(terms.column("key").combine_chunks())
    heap = np.empty(int((ends - starts).sum()) + LENGTH_BYTES * starts.size, np.uint8)
    records = np.empty(starts.size, np.int64)
    write_records(read_only(data), starts, ends, heap, records)
    heap.tofile(heap_file(folder, number))
    terms.column("id").to_numpy().tofile(id_file(folder, number))
    records.tofile(record_file(folder, number))
    return heap.size
