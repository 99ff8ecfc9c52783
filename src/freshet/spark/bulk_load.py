"""`freshet load`: RDF files to a graph directory, on Spark.

Spark's tasks read and encode (`bulk_encode`), then sort terms (`bulk_terms`) and triples (`bulk_orders`), a range each.
This process puts their parts together, makes the hash tables and commits; no triple and no term comes into it as an
object. What a task holds depends on the size of stretches and ranges, not on the input.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from freshet.rdf.blocks import Stretch, read_blocks
from freshet.rdf.errors import InputError
from freshet.rdf.triples import Ids
from freshet.spark import bulk_encode, bulk_orders, bulk_terms
from freshet.spark.bulk_blocks import StagedBlock, split_block, splitters, stage_block, stage_segment
from freshet.spark.bulk_clashes import resolve, rewrite_blocks
from freshet.store.directory_changes import DELETED, INSERTED, changes_files
from freshet.store.graph_commit import LoadFolder
from freshet.store.graph_layout import HEAP, ORDERS, Groups, concatenate, write_directory, write_groups, write_slots
from freshet.store.graph_manifest import Counts

_ROWS_A_RANGE = 1 << 20
_STRETCH_BYTES = 64 << 20
_SYSTEM_ERROR = re.compile(r"\[Errno \d+\] ([^\n]*)")
TRIPLES, TERMS = "triples", "terms"


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How files are loaded. `hash_bits` narrows the hash of ids, so that tests can force collisions."""

    stretch_bytes: int = _STRETCH_BYTES
    rows_a_range: int = _ROWS_A_RANGE
    hash_bits: int = 63


_DEFAULT = LoadOptions()


class LoadSummary(NamedTuple):
    """What was read, and what the graph has now."""

    statements: int
    counts: Counts


def check_load(files: Sequence[Path], output: Path) -> None:
    """Raise what can be seen to be wrong without Spark."""
    bulk_encode.check_files(files)
    if output.exists() and not output.is_dir():
        raise InputError("is a file; a graph directory is a folder", file=str(output))


def warm() -> None:
    """Have all that tasks call compiled before they start: several processes must not write compiled code at once."""
    with tempfile.TemporaryDirectory(prefix="freshet-load-") as name:
        folder, path = Path(name), Path(name, "warm.nq")
        path.write_text('_:a <urn:p> "b"@EN <urn:g> .\n<urn:s> <urn:p> "1.5" .\n', encoding="utf-8")
        for block in read_blocks(Stretch(str(path), "w")):
            staged = stage_block(block, folder, "warm")
            bulk_terms.write_range(0, 0, [staged.name], folder, folder, 63, {})
            cuts = {order: splitters(staged.sample, order, 2) for order in ORDERS}
            bulk_orders.warm(split_block(folder, staged.name, cuts), folder)


def load_files(
    spark: SparkSession, files: Sequence[Path], output: Path, options: LoadOptions = _DEFAULT
) -> LoadSummary:
    """Load RDF files into a graph directory, which is made, or gets what they have in addition."""
    check_load(files, output)
    with LoadFolder(output) as folder:
        try:
            return _Load(spark, folder, options).run(files)
        except (OSError, Py4JJavaError) as error:
            raise _clear(error, output) from error


def _clear(error: Exception, output: Path) -> Exception:
    """What the system said, where that is why a task failed: the disk is full, say. Spark says it among much else."""
    said = _SYSTEM_ERROR.search(str(error))
    return RuntimeError(f"{output}: the load failed and left nothing: {said[1]}") if said else error


class _Load:
    def __init__(self, spark: SparkSession, folder: LoadFolder, options: LoadOptions) -> None:
        self._spark = spark
        self._folder = folder
        self._staging = folder.staging
        self._data = folder.data
        self._options = options

    def run(self, files: Sequence[Path]) -> LoadSummary:
        stretches = bulk_encode.cut_files(files, self._folder.scope, self._options.stretch_bytes)
        blocks = bulk_encode.encode(self._spark, stretches, self._staging, self._options.hash_bits)
        statements = sum(block.rows for block in blocks)
        blocks, terms = self._sort_terms([*blocks, *self._blocks_before()])
        groups = self._sort_orders(blocks)
        self._write_dictionary(terms)
        counts = Counts(
            triples=int(groups.rows[-1]),
            terms=sum(each.terms for each in terms),
            graphs=len(groups.by_graph()),
            groups=groups.graphs.size,
            heap_bytes=sum(each.heap_bytes for each in terms),
        )
        self._folder.commit(counts)
        return LoadSummary(statements, counts)

    def _blocks_before(self) -> list[StagedBlock]:
        """What the graph has already, as blocks."""
        before = self._folder.before
        if before is None:
            return []
        segments = ((name, path) for name in (TRIPLES, TERMS) for path in sorted((before / name).glob("*.parquet")))
        work = [(f"old-{name}-{path.stem}", name, str(path)) for name, path in segments]
        place, deleted = str(self._staging), None
        assert self._folder.manifest is not None, "there is a graph"
        if changed := changes_files(self._folder.manifest.files):  # they become part of the sorted files
            deleted = str(before / changed[DELETED])
            work += [("new-triples", INSERTED, str(before / changed[INSERTED]))]
            work += [("new-terms", TERMS, str(before / changed[TERMS]))]

        def task(segment: tuple[str, str, str]) -> StagedBlock:
            block, name, path = segment
            triples, terms = (Path(path) if name in kinds else None for kinds in ((TRIPLES, INSERTED), (TERMS,)))
            gone = Path(deleted) if deleted is not None and name == TRIPLES else None
            return stage_segment(Path(place), block, triples, terms, gone)

        return self._spark.sparkContext.parallelize(work, len(work)).map(task).collect()

    def _sort_terms(self, blocks: list[StagedBlock]) -> tuple[list[StagedBlock], list[bulk_terms.TermRange]]:
        """Sort the terms; where two have one id, once more after they have been given others."""
        found = self._sorted_terms(blocks, {})
        clashing = {key for each in found for _, key in each.clashes}
        if clashing:
            resolved = resolve(self._spark, blocks, self._staging, clashing, self._options.hash_bits)
            blocks = rewrite_blocks(self._spark, blocks, self._staging, resolved)
            found = self._sorted_terms(blocks, resolved)
            assert not any(each.clashes for each in found), "every term has an id of its own now"
        return blocks, found

    def _sorted_terms(self, blocks: list[StagedBlock], resolved: Mapping[str, int]) -> list[bulk_terms.TermRange]:
        bits = (self._ranges(sum(block.terms for block in blocks)) - 1).bit_length()
        names = [block.name for block in blocks if block.terms]
        table, hash_bits = self._data / TERMS, self._options.hash_bits
        return bulk_terms.sort_terms(self._spark, names, self._staging, table, bits, hash_bits, resolved)

    def _sort_orders(self, blocks: list[StagedBlock]) -> Groups:
        """Sort the triples both ways, and write the files of both orders."""
        filled = [block for block in blocks if block.rows]
        ranges = self._ranges(sum(block.rows for block in filled))
        pieces = bulk_orders.split(self._spark, filled, self._staging, ranges)
        found = bulk_orders.sort_orders(self._spark, pieces, self._staging, self._data / TRIPLES, ranges)
        groups, others = (found[order] for order in ORDERS)
        assert np.array_equal(np.concatenate(groups), np.concatenate(others)), "both orders have all triples"
        with ThreadPoolExecutor(len(ORDERS)) as threads:
            directories = list(threads.map(lambda order: self._write_order(order, groups, ranges), ORDERS))
        write_groups(self._data, groups, directories)
        return groups

    def _ranges(self, rows: int) -> int:
        return max(self._spark.sparkContext.defaultParallelism, -(-rows // self._options.rows_a_range))

    def _write_dictionary(self, terms: Sequence[bulk_terms.TermRange]) -> None:
        numbers = [each.number for each in terms]
        concatenate([bulk_terms.heap_file(self._staging, number) for number in numbers], self._data / HEAP)
        parts = [
            (bulk_terms.id_file(self._staging, number), bulk_terms.record_file(self._staging, number))
            for number in numbers
        ]
        write_slots(self._data, parts, [each.heap_bytes for each in terms])

    def _write_order(self, order: str, groups: Groups, ranges: int) -> tuple[Ids, Ids]:
        """Put the columns of an order together, and make its directory."""
        for place, file_of in (("keys", bulk_orders.key_file), ("seconds", bulk_orders.second_file)):
            parts = [file_of(self._staging, order, number) for number in range(ranges)]
            concatenate(parts, self._data / f"{order}.{place}")
        return write_directory(self._data, order, groups)
