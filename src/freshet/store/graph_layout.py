"""The files of arrays in a graph directory, and how they are made from sorted parts.

All are arrays of 64-bit little-endian integers but the heap, which is bytes. Triples stand in groups: those of one
predicate in one graph. Groups are in the order of their graph and predicate; there are two orders within a group, by
subject and object and by object and subject.

| file                  | what is in it                                                                               |
| --------------------- | ------------------------------------------------------------------------------------------- |
| `groups`              | a row of each of COLUMNS, with a number for each group and one more for the end             |
| `subject.keys`        | the subjects, in the order by subject                                                       |
| `subject.seconds`     | the objects beside them                                                                     |
| `subject.directory`   | hash tables from subject to rows (`freshet.kernels.sorted_triples`), rows counted per graph |
| `object.*`            | the same with subject and object changed about                                              |
| `dictionary.heap`     | the keys of terms as the dictionary has them (`freshet.kernels.dictionary`)                 |
| `dictionary.slots`    | its table from id to record                                                                 |
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from freshet.kernels.graph_files import fill_slots
from freshet.kernels.sorted_triples import count_keys, fill_directory
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.triples import Ids
from freshet.store.mapped_files import map_file

GROUPS = "groups"
ORDERS = ("subject", "object")
HEAP, SLOTS = "dictionary.heap", "dictionary.slots"
COLUMNS = ("graph", "predicate", "row", "subject first", "subject shift", "object first", "object shift")

_MOST_ROWS = 1 << 31  # of a graph: directories have the row in 31 bits
_LEAST_SLOTS = 1 << 10
_COPIED_AT_ONCE = 1 << 20


class Groups(NamedTuple):
    """The groups of triples: graph, predicate, and the first row of each, with the number of all rows at the end."""

    graphs: Ids
    predicates: Ids
    rows: Ids

    def by_graph(self) -> list[tuple[int, int, int]]:
        """Each graph with its first group and the one after its last."""
        if not self.graphs.size:
            return []
        starts = np.flatnonzero(np.diff(self.graphs, prepend=self.graphs[0] - 1))
        ends = np.append(starts[1:], self.graphs.size)
        return list(zip(self.graphs[starts].tolist(), starts.tolist(), ends.tolist(), strict=True))


def groups_of(graphs: Ids, predicates: Ids, counts: Ids) -> Groups:
    """Groups from the counts of sorted parts, in order; a group that goes on in the next part is one."""
    changes = np.ones(graphs.size, np.bool_)
    changes[1:] = (graphs[1:] != graphs[:-1]) | (predicates[1:] != predicates[:-1])
    starts = np.flatnonzero(changes)
    rows = np.append(0, np.cumsum(counts))
    groups = Groups(graphs[starts], predicates[starts], np.append(rows[starts], rows[-1]))
    for _, first, end in groups.by_graph():
        if groups.rows[end] - groups.rows[first] >= _MOST_ROWS:
            raise UnsupportedError(f"a graph has more than {_MOST_ROWS} triples, the most that a graph directory holds")
    return groups


def concatenate(parts: Sequence[Path], target: Path) -> None:
    """Put files together in one, and remove them."""
    with target.open("wb") as out:
        for part in parts:
            with part.open("rb") as data:
                shutil.copyfileobj(data, out, _COPIED_AT_ONCE)
            part.unlink()


def write_directory(folder: Path, order: str, groups: Groups) -> tuple[Ids, Ids]:
    """Make the directory of an order whose keys are there. Gives where each group's table begins, and its shift."""
    keys = map_file(folder / f"{order}.keys", np.int64)
    counts = count_keys(keys, groups.rows)
    # at least a quarter of the slots stays free, so that a search is short and comes to an end
    bits = np.array([max(1, (count + count // 3).bit_length()) for count in counts.tolist()], np.int64)
    ends = np.cumsum(2 << bits)
    firsts, shifts = np.append(0, ends)[:-1], 64 - bits
    slots = new_file(folder / f"{order}.directory", int(ends[-1]) if ends.size else 0)
    for _, first, end in groups.by_graph():
        start, stop = groups.rows[first], groups.rows[end]
        table = slots[firsts[first] : ends[end - 1]]
        bounds = groups.rows[first : end + 1] - start
        fill_directory(table, firsts[first:end] - firsts[first], shifts[first:end], keys[start:stop], bounds)
    return firsts, shifts


def write_groups(folder: Path, groups: Groups, directories: Sequence[tuple[Ids, Ids]]) -> None:
    """Write the table of groups."""
    table = np.zeros((len(COLUMNS), groups.rows.size), np.int64)
    columns = [*groups, *(column for directory in directories for column in directory)]
    for place, column in enumerate(columns):
        table[place, : column.size] = column
    table.tofile(folder / GROUPS)


def read_groups(folder: Path) -> tuple[Groups, list[tuple[Ids, Ids]]]:
    """The table of groups, and for each order where the tables of its directory begin, and their shifts."""
    table = np.fromfile(folder / GROUPS, np.int64).reshape(len(COLUMNS), -1)
    graphs, predicates, rows, *directories = table
    subject_firsts, subject_shifts, object_firsts, object_shifts = (column[:-1] for column in directories)
    groups = Groups(graphs[:-1], predicates[:-1], rows)
    return groups, [(subject_firsts, subject_shifts), (object_firsts, object_shifts)]


def write_slots(folder: Path, parts: Sequence[tuple[Path, Path]], heap_sizes: Sequence[int]) -> None:
    """Make the dictionary's table from parts of the heap: the ids in each, and where their records are in it."""
    count = sum(ids.stat().st_size for ids, _ in parts) // 8
    # half of the slots may be used; a fifth of those is left for terms that come later
    slots = new_file(folder / SLOTS, 2 * max(_LEAST_SLOTS, 1 << (count * 5 // 2).bit_length()))
    first = 0
    for (ids, records), size in zip(parts, heap_sizes, strict=True):
        fill_slots(slots, map_file(ids, np.int64), map_file(records, np.int64), first)
        first += size
        ids.unlink()
        records.unlink()


def new_file(path: Path, count: int) -> Ids:
    """A new file of `count` numbers, all 0, mapped to be written."""
    with path.open("wb") as file:
        file.truncate(8 * count)
    return np.asarray(np.memmap(path, np.int64, mode="r+")).view(np.ndarray) if count else np.empty(0, np.int64)
