"""`freshet load`: RDF files to a graph directory, on Spark.

Tasks read and encode (`bulk_encode`), Spark sorts terms (`bulk_terms`) and triples (`bulk_orders`), this process puts
the parts together, makes the hash tables and commits. No triple and no term comes into this process as an object.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pyspark.sql import SparkSession

from freshet.rdf.blocks import Stretch, read_blocks
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.triples import Ids
from freshet.spark import bulk_encode, bulk_orders, bulk_terms
from freshet.spark.bulk_encode import TERMS, TRIPLES, write_block
from freshet.store.graph_commit import LoadFolder
from freshet.store.graph_layout import HEAP, ORDERS, Groups, concatenate, write_directory, write_groups, write_slots
from freshet.store.graph_manifest import Counts

_ROWS_A_PARTITION = 2_000_000
_STRETCH_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How files are loaded. `hash_bits` narrows the hash of ids, so that tests can force collisions."""

    stretch_bytes: int = _STRETCH_BYTES
    rows_a_partition: int = _ROWS_A_PARTITION
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
    with tempfile.TemporaryDirectory(prefix="freshet-load-") as folder:
        path = Path(folder, "warm.nq")
        path.write_text('_:a <urn:p> "b"@EN <urn:g> .\n<urn:s> <urn:p> "1.5" .\n', encoding="utf-8")
        for name in (TRIPLES, TERMS):
            Path(folder, name).mkdir()
        for block in read_blocks(Stretch(str(path), "w")):
            write_block(block, Path(folder), "warm.parquet")
        bulk_terms.warm()


def load_files(
    spark: SparkSession, files: Sequence[Path], output: Path, options: LoadOptions = _DEFAULT
) -> LoadSummary:
    """Load RDF files into a graph directory, which is made, or gets what they have in addition."""
    check_load(files, output)
    with LoadFolder(output) as folder:
        return _Load(spark, folder, options).run(files)


class _Load:
    def __init__(self, spark: SparkSession, folder: LoadFolder, options: LoadOptions) -> None:
        self._spark = spark
        self._folder = folder
        self._staging = folder.staging
        self._data = folder.data
        self._options = options

    def run(self, files: Sequence[Path]) -> LoadSummary:
        stretches = bulk_encode.cut_files(files, self._folder.scope, self._options.stretch_bytes)
        statements = bulk_encode.encode(self._spark, stretches, self._staging, self._options.hash_bits)
        partitions = self._partitions(statements)
        terms = bulk_terms.sort_terms(
            self._spark,
            self._sources(TERMS),
            self._data / TERMS,
            self._staging,
            partitions,
            self._options.hash_bits,
        )
        if terms.clashes:
            raise UnsupportedError("two terms have one id")
        sources = self._sources(TRIPLES)
        groups = bulk_orders.sort_order(
            self._spark, sources, ORDERS[0], self._staging, partitions, self._data / TRIPLES
        )
        again = bulk_orders.sort_order(self._spark, [self._data / TRIPLES], ORDERS[1], self._staging, partitions)
        assert np.array_equal(np.concatenate(groups), np.concatenate(again)), "both orders have all triples"
        self._write_dictionary(terms)
        with ThreadPoolExecutor(len(ORDERS)) as threads:
            directories = list(threads.map(lambda order: self._write_order(order, groups, partitions), ORDERS))
        write_groups(self._data, groups, directories)
        counts = Counts(
            triples=int(groups.rows[-1]),
            terms=sum(part.terms for part in terms.parts),
            graphs=len(groups.by_graph()),
            groups=groups.graphs.size,
            heap_bytes=sum(part.heap_bytes for part in terms.parts),
        )
        self._folder.commit(counts)
        return LoadSummary(statements, counts)

    def _partitions(self, rows: int) -> int:
        return max(self._spark.sparkContext.defaultParallelism, -(-rows // self._options.rows_a_partition))

    def _sources(self, name: str) -> list[Path]:
        """The Parquet files of the load's own, and those of the graph as it was."""
        return [self._staging / name, *([self._folder.before / name] if self._folder.before is not None else [])]

    def _write_dictionary(self, terms: bulk_terms.SortedTerms) -> None:
        numbers = [part.number for part in terms.parts]
        concatenate([bulk_terms.heap_part(self._staging, number) for number in numbers], self._data / HEAP)
        parts = [
            (bulk_terms.id_part(self._staging, number), bulk_terms.record_part(self._staging, number))
            for number in numbers
        ]
        write_slots(self._data, parts, [part.heap_bytes for part in terms.parts])

    def _write_order(self, order: str, groups: Groups, partitions: int) -> tuple[Ids, Ids]:
        """Put the columns of an order together, and make its directory."""
        for place, part in (("keys", bulk_orders.key_part), ("seconds", bulk_orders.second_part)):
            parts = [part(self._staging, order, number) for number in range(partitions)]
            concatenate([path for path in parts if path.exists()], self._data / f"{order}.{place}")
        return write_directory(self._data, order, groups)
