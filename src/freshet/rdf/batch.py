"""Encoded batches: what a micro-batch of Spark brings to the driver, and how it becomes timed triples.

A batch is an Arrow table with a row a record: `time` and `arrived` in milliseconds, and `text_k` for each term of the
record that is not the same in all of them: what of the term's key is not the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Term

Slot = Term | int
Frame = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the columns of a batch make triples: each place has a constant, or the number k of a column.

    `frames[k]` is what stands before and after the texts of column k in the keys of its terms.
    """

    triples: tuple[tuple[Slot, Slot, Slot], ...]
    frames: tuple[Frame, ...]


def elements_of(table: pa.Table, layout: Layout, dictionary: Dictionary) -> Elements:
    """The timed triples of a batch. Where a record lacks a term, the triples with that term are not made."""
    times = table.column("time").to_numpy()
    columns: dict[int, NDArray[np.int64]] = {}
    parts: list[list[NDArray[np.int64]]] = []
    for triple in layout.triples:
        ends, present = [], np.ones(len(times), np.bool_)
        for slot in triple:
            if isinstance(slot, int):
                if slot not in columns:
                    columns[slot] = dictionary.intern_texts(table.column(f"text_{slot}"), *layout.frames[slot])
                ends.append(columns[slot])
                present &= columns[slot] != 0
            else:
                ends.append(np.full(len(times), dictionary.encode(slot), np.int64))
        kept = [times, *ends] if present.all() else [column[present] for column in (times, *ends)]
        parts.append(kept)
    if not parts:
        nothing = np.empty(0, np.int64)
        return Elements(nothing, nothing, nothing, nothing)
    return Elements(*(np.concatenate(column) for column in zip(*parts, strict=True)))
