"""Segments: triples of the stored graphs in files that never change, with their own terms.

Ids are hashes but for collisions, so a segment has the keys of all its ids, and says them again when it is read: where
another term has an id by now, the triples get the new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from freshet.kernels.joins import number_rows
from freshet.rdf.arrow import numbers, read_only
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.runtime.checkpoint_manifest import Segment
from freshet.runtime.durable_files import StoredFile, write_whole

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]

_MOST_ROWS = 1 << 22
_FEW_ROWS = 1000


class GraphRows(NamedTuple):
    """Triples with the id of their graph, and their times. Where a predicate has a minus sign, an element deletes."""

    graphs: Ids
    times: Ids
    subjects: Ids
    predicates: Ids
    objects: Ids

    @staticmethod
    def of(elements: Elements, graph: int = DEFAULT_GRAPH) -> GraphRows:
        return GraphRows(np.full(len(elements.times), graph, np.int64), *elements)

    @staticmethod
    def concatenate(parts: list[GraphRows]) -> GraphRows:
        return GraphRows(*map(np.concatenate, zip(*parts, strict=True)))

    def select(self, rows: Ids | Mask | slice) -> GraphRows:
        """The rows that a mask, numbers or a slice choose."""
        return GraphRows(*(column[rows] for column in self))

    def once(self) -> GraphRows:
        """Every triple of a graph once, at its earliest time, in order of time."""
        order = np.lexsort((self.times, self.objects, self.subjects, self.predicates, self.graphs))
        same = np.ones(len(order), bool)
        for column in (self.graphs, self.predicates, self.subjects, self.objects):
            ordered = column[order]
            same[1:] &= ordered[1:] == ordered[:-1]
        same[:1] = False
        kept = np.sort(order[~same])
        rows = GraphRows(*(column[kept] for column in self))
        order = np.argsort(rows.times, kind="stable")
        return GraphRows(*(column[order] for column in rows))


class NetRows(NamedTuple):
    """What some changes come to: triples that are deleted first, if they are there, and triples that are there then."""

    deleted: GraphRows
    inserted: GraphRows

    @staticmethod
    def of(parts: Sequence[tuple[GraphRows, bool]]) -> NetRows:
        """Of triples that were deleted (True) or came, one after the other. Each stands once in a column."""
        whole = GraphRows.concatenate([rows for rows, _ in parts])
        deletes = np.concatenate([np.full(len(rows.times), kind) for rows, kind in parts])
        if not deletes.any():
            return NetRows(whole.select(slice(0)), whole.once())
        _, _, *ends = whole
        numbers, firsts = number_rows(read_only(np.stack((whole.graphs, *ends), axis=1)))
        places = np.arange(len(numbers))
        deleted_at = np.full(len(firsts), -1)
        np.maximum.at(deleted_at, numbers[deletes], places[deletes])
        left = ~deletes & (places > deleted_at[numbers])
        deleted = whole.select(firsts[deleted_at >= 0])
        return NetRows(deleted._replace(times=np.zeros(len(deleted.times), np.int64)), whole.select(left).once())


def write_changes(folder: Path, first_number: int, net: NetRows, dictionary: Dictionary) -> list[Segment]:
    """Write what changes come to as segments. The caller holds a pin on the dictionary."""
    deleted = write_segments(folder, first_number, net.deleted, dictionary)
    inserted = write_segments(folder, first_number + len(deleted), net.inserted, dictionary)
    return [*(replace(segment, deletes=True) for segment in deleted), *inserted]


def write_segments(folder: Path, first_number: int, rows: GraphRows, dictionary: Dictionary) -> list[Segment]:
    """Write triples as one segment, or several where they are many. The caller holds a pin on the dictionary."""
    segments = []
    for number, start in enumerate(range(0, len(rows.times), _MOST_ROWS), first_number):
        some = GraphRows(*(column[start : start + _MOST_ROWS] for column in rows))
        ids = term_ids(some.graphs, some.subjects, np.abs(some.predicates), some.objects)
        triples = _write_columns(folder, f"{number:08d}-triples.parquet", dict(zip(_COLUMNS, some, strict=True)))
        terms = _write_columns(folder, f"{number:08d}-terms.parquet", {"id": ids, "key": dictionary.keys(ids)})
        segments.append(Segment(number, len(some.times), triples, terms))
    return segments


def read_segment(folder: Path, segment: Segment, dictionary: Dictionary) -> GraphRows:
    """The triples of a segment in ids of the dictionary, to which its terms are added. The caller holds a pin on it."""
    terms, triples = (
        pq.read_table(pa.BufferReader(stored.read(folder))) for stored in (segment.terms, segment.triples)
    )
    known = terms.column("id").to_numpy()
    given = dictionary.intern_arrow(terms.column("key"))
    columns = (triples.column(name).to_numpy() for name in _COLUMNS)
    graphs, times, subjects, predicates, objects = columns
    graphs, subjects, objects = (rename_ids(column, known, given) for column in (graphs, subjects, objects))
    predicates = np.sign(predicates) * rename_ids(np.abs(predicates), known, given)
    return GraphRows(graphs, times, subjects, predicates, objects)


def term_ids(*columns: Ids) -> Ids:
    """The ids in columns that the dictionary has the terms of, in order; those of inline terms say it themselves."""
    whole = np.concatenate(columns)
    # np.unique sorts all rows
    distinct = np.unique(whole) if len(whole) < _FEW_ROWS else np.sort(pc.unique(numbers(whole)).to_numpy())
    return distinct[distinct > 0]


def rename_ids(column: Ids, known: Ids, given: Ids) -> Ids:
    """A column whose ids `known`, in order, have become those in `given`."""
    if np.array_equal(known, given):
        return column
    result = column.copy()
    terms = column > 0
    result[terms] = given[np.searchsorted(known, column[terms])]
    return result


def merge_segments(
    folder: Path, number: int, segments: list[Segment], dictionary: Dictionary, *, are_all: bool = False
) -> list[Segment]:
    """Segments as one, each triple once, after one of what they delete of others, unless they `are_all` that there is.

    The caller holds a pin on the dictionary.
    """
    net = NetRows.of([(read_segment(folder, segment, dictionary), segment.deletes) for segment in segments])
    return write_changes(
        folder, number, net._replace(deleted=net.deleted.select(slice(0))) if are_all else net, dictionary
    )


def to_merge(segments: tuple[Segment, ...]) -> int:
    """How many of the newest segments to make one of, so that there are few and each triple is written seldom.

    >>> from freshet.runtime.durable_files import StoredFile
    >>> nothing = StoredFile("", 0, "")
    >>> def sized(*rows: int) -> tuple[Segment, ...]:
    ...     return tuple(Segment(at, row, nothing, nothing) for at, row in enumerate(rows))
    >>> [to_merge(sized(*rows)) for rows in ((), (9,), (1000, 9), (1000, 9, 9, 9), (30, 9, 9, 9), (8, 9, 9, 9))]
    [0, 0, 0, 3, 3, 4]
    """
    if len(segments) < _MOST_ALIKE:
        return 0
    count, rows = 1, segments[-1].rows
    while count < len(segments) and segments[-count - 1].rows <= rows and rows < _MOST_ROWS:
        rows += segments[-count - 1].rows
        count += 1
    return count if count >= _MOST_ALIKE else 0


_MOST_ALIKE = 3
_COLUMNS = ("graph", "time", "subject", "predicate", "object")


def _write_columns(folder: Path, name: str, columns: dict[str, Ids | pa.Array]) -> StoredFile:
    table = pa.table({key: numbers(each) if isinstance(each, np.ndarray) else each for key, each in columns.items()})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=["graph", "predicate"])
    return write_whole(folder, name, memoryview(sink.getvalue()))
