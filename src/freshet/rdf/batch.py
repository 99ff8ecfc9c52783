"""Encoded batches: what a micro-batch of Spark brings to the driver, and how it becomes timed triples.

A batch is an Arrow table with a row a record: `time` and `arrived` in milliseconds, and `text_k` for each term of the
record that is not the same in all of them: what of the term's key is not the same. Where a record may have several of
a term, the column has lists. `origin` may say where the record came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Term

ORIGIN = "origin"  # the column that says where records come from, if there is one

Slot = Term | int
Frame = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the columns of a batch make triples: each place has a constant, or the number k of a column.

    `frames[k]` is what stands before and after the texts of column k in the keys of its terms. `graph` is the number of
    the column with the graph of the triples, null for the default graph, where graphs are kept.
    """

    triples: tuple[tuple[Slot, Slot, Slot], ...]
    frames: tuple[Frame, ...]
    graph: int | None = field(default=None, repr=False)  # fingerprints of streams are made of the others


RDF = Layout(((0, 1, 2),), (("", ""),) * 3)
"""Batches of statements in the columns of their terms."""
RDF_IN_GRAPHS = Layout(RDF.triples, (("", ""),) * 4, graph=3)
"""The same with the graphs that these are in."""


class _Column(NamedTuple):
    """The ids of a column's terms, 0 where there is none; where records have several, those of record k are
    `ids[starts[k]:starts[k] + counts[k]]`."""

    ids: NDArray[np.int64]
    starts: NDArray[np.int64] | None = None
    counts: NDArray[np.int64] | None = None


def elements_of(table: pa.Table, layout: Layout, dictionary: Dictionary) -> Elements:
    """The timed triples of a batch. Where a record lacks a term, the triples with that term are not made; where it has
    several (the column has lists), each makes its triples with each of the others."""
    return _elements(table.column("time").to_numpy(), table, layout, dictionary)


def elements_with_rows(table: pa.Table, layout: Layout, dictionary: Dictionary) -> tuple[Elements, NDArray[np.int64]]:
    """The same, with the number of the record that each is made of."""
    made = _elements(np.arange(len(table)), table, layout, dictionary)
    return made._replace(times=table.column("time").to_numpy()[made.times]), made.times


def graphs_of(table: pa.Table, layout: Layout, dictionary: Dictionary) -> NDArray[np.int64] | None:
    """The ids of the graphs of a batch's records, 0 for the default graph; None where graphs are not kept."""
    if layout.graph is None:
        return None
    return dictionary.intern_texts(table.column(f"text_{layout.graph}"), *layout.frames[layout.graph])


def _elements(times: NDArray[np.int64], table: pa.Table, layout: Layout, dictionary: Dictionary) -> Elements:
    """The triples of a batch, each with what stands for its record in the place of times."""
    columns: dict[int, _Column] = {}
    parts: list[list[NDArray[np.int64]]] = []
    for triple in layout.triples:
        for slot in triple:
            if isinstance(slot, int) and slot not in columns:
                columns[slot] = _intern(table.column(f"text_{slot}"), layout.frames[slot], dictionary)
        parts.append(
            _triple_columns(times, [columns[slot] if isinstance(slot, int) else slot for slot in triple], dictionary)
        )
    if not parts:
        nothing = np.empty(0, np.int64)
        return Elements(nothing, nothing, nothing, nothing)
    return Elements(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _intern(texts: pa.ChunkedArray, frame: Frame, dictionary: Dictionary) -> _Column:
    if not pa.types.is_list(texts.type):
        return _Column(dictionary.intern_texts(texts, *frame))
    whole = texts.combine_chunks()
    lists = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    ids = dictionary.intern_texts(pa.chunked_array([lists.flatten()]), *frame)
    return _Column(ids, np.cumsum(counts) - counts, counts)


def _triple_columns(
    times: NDArray[np.int64], slots: list[_Column | Term], dictionary: Dictionary
) -> list[NDArray[np.int64]]:
    """The times and the three terms of one pattern's triples."""
    rows: NDArray[np.int64] | None = None  # of which record each triple is; None: one of each
    ends: list[NDArray[np.int64]] = []
    for slot in slots:
        if not isinstance(slot, _Column):
            ends.append(np.full(len(times) if rows is None else len(rows), dictionary.encode(slot), np.int64))
        elif slot.starts is None or slot.counts is None:
            ends.append(slot.ids if rows is None else slot.ids[rows])
        else:
            current = np.arange(len(times)) if rows is None else rows
            counts = slot.counts[current]
            again = np.repeat(np.arange(len(current)), counts)
            within = np.arange(len(again)) - np.repeat(np.cumsum(counts) - counts, counts)
            ends = [column[again] for column in ends]
            rows = current[again]
            ends.append(slot.ids[slot.starts[rows] + within])
    found = [times if rows is None else times[rows], *ends]
    present = np.logical_and.reduce([end != 0 for end in ends])
    return found if present.all() else [column[present] for column in found]
