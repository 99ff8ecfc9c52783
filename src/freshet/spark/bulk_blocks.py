"""The blocks of a bulk load on their way from the tasks that read to those that sort.

Spark could carry and sort the rows, but that takes many times the work of all the rest (docs/decisions/0011): in the
JVM a row is copied, compared and copied again. So tasks write files into the load's own folder, and others read their
part of each:

| file           | what is in it                                                                              |
| -------------- | ------------------------------------------------------------------------------------------ |
| `NAME.triples` | the rows of a block: graph, subject, predicate, object, a column after the other           |
| `NAME.terms`   | its terms as Arrow: id, key, in the order of ids                                           |
| `NAME.ORDER`   | the rows for an order, range by range: graph, predicate, key, second place of each range   |
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from freshet.kernels.graph_files import find_ranges_of_rows
from freshet.kernels.joins import number_rows
from freshet.rdf.arrow import numbers, read_only
from freshet.rdf.blocks import QuadBlock
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.reading import Quads
from freshet.rdf.triples import Ids
from freshet.store.directory_changes import read_quads
from freshet.store.graph_layout import ORDERS

TERMS = pa.schema([pa.field("id", pa.int64()), pa.field("key", pa.large_string())])
EMPTY_TERMS = TERMS.empty_table()
OLD = "old"  # the family of what was in the graph before

_SAMPLED = 256  # rows of a block that say where ranges of rows should begin

# Where graph, predicate, key and second place are among graph, subject, predicate and object.
_PLACES = {"subject": (0, 2, 1, 3), "object": (0, 2, 3, 1)}


class StagedBlock(NamedTuple):
    """A block that a task has written: how many rows and terms it has, and some of its rows.

    The rows of a block have the ids that the terms of its family have: those of its own, or of the graph that was.
    """

    name: str
    family: str
    rows: int
    terms: int
    sample: Ids


class SplitBlock(NamedTuple):
    """How many rows of a block each range of each order has."""

    name: str
    counts: dict[str, Ids]


def stage_block(block: QuadBlock, folder: Path, name: str) -> StagedBlock:
    """Write a block."""
    subjects, predicates, objects, graphs = block.quads
    return stage_rows(np.stack([graphs, subjects, predicates, objects]), _terms(block.dictionary), folder, name)


def stage_rows(rows: Ids, terms: pa.Table, folder: Path, name: str, family: str = "") -> StagedBlock:
    """Write rows (graph, subject, predicate, object) and terms (id, key)."""
    write_terms(terms, folder, name)
    rows.tofile(folder / f"{name}.triples")
    random = np.random.default_rng(rows.shape[1])
    chosen = random.choice(rows.shape[1], min(_SAMPLED, rows.shape[1]), replace=False)
    return StagedBlock(name, family or name, rows.shape[1], terms.num_rows, rows[:, chosen])


def stage_segment(
    folder: Path, name: str, triples: Path | None, terms: Path | None, deleted: Path | None = None
) -> StagedBlock:
    """Write a segment of a graph directory as a block: of triples, without those that are deleted, or of terms."""
    rows, table = np.empty((4, 0), np.int64), EMPTY_TERMS
    if triples is not None:
        segment = pq.read_table(triples)
        rows = np.stack([segment.column(place).to_numpy() for place in ("graph", "subject", "predicate", "object")])
        if deleted is not None:
            rows = _without(rows, read_quads(deleted))
    if terms is not None:
        table = pq.read_table(terms).cast(TERMS)
    return stage_rows(rows, table, folder, name, OLD)


def _without(rows: Ids, deleted: Quads) -> Ids:
    """The rows that are not deleted."""
    gone = np.stack((deleted.graphs, *deleted[:3]))
    _, firsts = number_rows(read_only(np.ascontiguousarray(np.concatenate((gone, rows), axis=1).T)))
    return np.ascontiguousarray(rows[:, firsts[firsts >= gone.shape[1]] - gone.shape[1]])


def read_rows(folder: Path, name: str) -> Ids:
    """The rows of a block."""
    return np.fromfile(folder / f"{name}.triples", np.int64).reshape(4, -1)


def write_terms(terms: pa.Table, folder: Path, name: str) -> None:
    """Write terms in the order of their ids."""
    ordered = terms.take(pa.array(np.argsort(terms.column("id").to_numpy()))).combine_chunks()
    with pa.OSFile(str(folder / f"{name}.terms"), "wb") as file, pa.ipc.new_file(file, ordered.schema) as out:
        out.write_table(ordered)


def read_terms(folder: Path, name: str) -> pa.Table:
    """The terms of a block, mapped."""
    return pa.ipc.open_file(pa.memory_map(str(folder / f"{name}.terms"))).read_all()


def _terms(dictionary: Dictionary) -> pa.Table:
    slots = dictionary.arrays.slots
    ids = np.ascontiguousarray(slots[::2][slots[::2] != 0])
    return pa.table([numbers(ids), dictionary.keys(ids)], names=["id", "key"])


def splitters(sample: Ids, order: str, ranges: int) -> Ids:
    """Rows that cut an order into about equal ranges, as a sample of all rows says."""
    rows = sample[list(_PLACES[order])]
    ordered = rows[:, np.lexsort(rows[::-1])]
    at = np.arange(1, ranges) * ordered.shape[1] // ranges
    return np.ascontiguousarray(ordered[:, at] if ordered.shape[1] else ordered)


def split_block(folder: Path, name: str, by_order: dict[str, Ids]) -> SplitBlock:
    """Put the rows of a block range by range, for each order with its splitters."""
    rows = read_rows(folder, name)
    counts = {}
    for order in ORDERS:
        chosen = np.ascontiguousarray(rows[list(_PLACES[order])])
        counts[order] = _write_ranges(chosen, by_order[order], folder / f"{name}.{order}")
    return SplitBlock(name, counts)


def _write_ranges(rows: Ids, cuts: Ids, path: Path) -> Ids:
    ranges = np.empty(rows.shape[1], np.int64)
    find_ranges_of_rows(rows, cuts, ranges)
    counts = np.bincount(ranges, minlength=cuts.shape[1] + 1)
    ordered = rows[:, np.argsort(ranges.astype(np.uint16), kind="stable")]  # of 16 bits: NumPy then sorts by digits
    ends = np.cumsum(counts)
    with path.open("wb") as file:
        for end, count in zip(ends.tolist(), counts.tolist(), strict=True):
            np.ascontiguousarray(ordered[:, end - count : end]).tofile(file)
    return counts


def read_range(folder: Path, order: str, blocks: list[tuple[str, int, int]]) -> Ids:
    """The rows of a range (graph, predicate, key, second place): of each block, a number of rows from a row on."""
    parts = [np.empty((4, 0), np.int64)]
    for name, first, count in blocks:
        part = np.fromfile(folder / f"{name}.{order}", np.int64, count=4 * count, offset=32 * first)
        parts.append(part.reshape(4, count))
    return np.concatenate(parts, axis=1)
