"""Terms whose keys have one hash get ids of their own, in a bulk load as in the dictionary.

The dictionary gives the second of two such terms the next id in a fixed sequence; in a load there is no second, and
tasks have given the same term different ids, or different terms the same. So all terms in question are given their ids
anew, in the order of their keys, and the blocks that have them are written once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from freshet.kernels.dictionary import next_id
from freshet.rdf.arrow import numbers
from freshet.rdf.triples import Ids, rename_ids
from freshet.spark.bulk_blocks import StagedBlock, read_rows, read_terms, stage_rows
from freshet.spark.bulk_terms import assign_ids


def resolve(
    spark: SparkSession, blocks: Sequence[StagedBlock], folder: Path, keys: Iterable[str], hash_bits: int
) -> dict[str, int]:
    """Ids for terms such that no two terms of all blocks have one.

    A term may get an id that another has by its hash alone. Then that one is in question too, and all are given anew.
    """
    place, names = str(folder), [block.name for block in blocks if block.terms]
    known = set(keys)
    while True:
        found = _resolve(known, hash_bits)
        taken = np.sort(np.array(list(found.values()), np.int64))

        def others(name: str, taken: Ids = taken, known: set[str] = known) -> list[str]:
            terms = read_terms(Path(place), name)
            same = terms.filter(pa.array(np.isin(terms.column("id").to_numpy(), taken)))
            return [key for key in same.column("key").to_pylist() if key not in known]

        more = spark.sparkContext.parallelize(names, len(names)).map(others).collect()
        if not any(more):
            return found
        known = known.union(*more)


def _resolve(keys: Iterable[str], hash_bits: int) -> dict[str, int]:
    """The first id in the sequence of each term that none before it has."""
    ordered = sorted(keys)
    taken: set[int] = set()
    found: dict[str, int] = {}
    asked = assign_ids(pa.array(ordered, pa.large_string()), hash_bits, {})
    for key, term_id in zip(ordered, asked.tolist(), strict=True):
        while term_id in taken:
            term_id = int(next_id(np.int64(term_id)))
        taken.add(term_id)
        found[key] = term_id
    return found


def rewrite_blocks(
    spark: SparkSession, blocks: Sequence[StagedBlock], folder: Path, resolved: Mapping[str, int]
) -> list[StagedBlock]:
    """Blocks in which terms have the ids that they were given.

    Nothing is written over, so that a task may be run again.
    """
    place, known = str(folder), dict(resolved)

    def find(block: StagedBlock) -> Ids:
        return _changes(read_terms(Path(place), block.name), known)

    def change(work: tuple[StagedBlock, Ids]) -> StagedBlock:
        block, changes = work
        return _rewritten(block, changes, Path(place), f"{block.name}-resolved")

    context = spark.sparkContext
    found = context.parallelize(blocks, len(blocks)).map(find).collect()
    changes: dict[str, list[Ids]] = {}
    for block, some in zip(blocks, found, strict=True):
        changes.setdefault(block.family, []).append(some)
    merged = {family: _merge_changes(some) for family, some in changes.items()}
    work = [(block, merged[block.family]) for block in blocks if merged[block.family].size]
    rewritten = context.parallelize(work, max(1, len(work))).map(change).collect()
    done = {block.name: new for (block, _), new in zip(work, rewritten, strict=True)}
    return [done.get(block.name, block) for block in blocks]


def _merge_changes(changes: Sequence[Ids]) -> Ids:
    both = np.concatenate(changes, axis=1)
    return both[:, np.argsort(both[0])]


def _changes(terms: pa.Table, resolved: Mapping[str, int]) -> Ids:
    """The ids of a block that are to be others, in order, and what they are to be."""
    keys = terms.column("key").combine_chunks()
    chosen = terms.filter(pc.is_in(keys, pa.array(list(resolved), keys.type)))
    before = chosen.column("id").to_numpy()
    after = np.array([resolved[key] for key in chosen.column("key").to_pylist()], np.int64)
    differ = before != after
    return np.stack([before[differ], after[differ]])


def _rewritten(block: StagedBlock, changes: Ids, folder: Path, name: str) -> StagedBlock:
    terms = read_terms(folder, block.name)
    ids = rename_ids(terms.column("id").to_numpy(), changes)
    terms = pa.table([numbers(ids), terms.column("key")], names=["id", "key"])
    return stage_rows(rename_ids(read_rows(folder, block.name), changes), terms, folder, name, block.family)
