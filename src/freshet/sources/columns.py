"""Records in columns: a text a reference, its kind where values have types, and why a record cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from freshet.kernels.json_values import NOTHING
from freshet.rml.model import Reference

Column = tuple[pa.Array, pa.Array | None]  # texts, and kinds where values have types
Task = Callable[[], Iterator[pa.RecordBatch]]  # reads some records

LINE, FILE, ARRIVED, REASON, TIME = "line", "file", "arrived", "reason", "time"

ROWS = 32_768  # records in an Arrow batch, at most
SHOWN = 10_000  # characters of a rejected record that are kept


@dataclass(frozen=True, slots=True)
class Limits:
    """What records and documents may take; longer ones are rejected."""

    record_bytes: int = 16 << 20
    document_bytes: int = 512 << 20  # of documents that must be in memory as a whole


DEFAULT_LIMITS = Limits()


class Plan(NamedTuple):
    """What is asked of a source. `keep`: the text and the file of every record, not of rejected ones only. `numbered`:
    after each file `#L` and the line at which the record begins, where it is known; files are then read whole."""

    references: tuple[str, ...]
    keep: bool = False
    limits: Limits = DEFAULT_LIMITS
    cores: int = 1
    numbered: bool = False


class Found(NamedTuple):
    """What was found in some records: a column a reference, and the reasons of those that cannot be read."""

    columns: list[Column]
    reasons: pa.Array
    lines: pa.Array  # the text of what is rejected, or of every record
    files: pa.Array
    arrived: pa.Array | None = None


@dataclass(frozen=True, slots=True)
class RecordShape:
    """The columns of records."""

    references: tuple[str, ...]
    many: frozenset[str] = frozenset()
    kinds: bool = False  # whether values have types
    arrived: bool = False

    @property
    def names(self) -> list[str]:
        places = [LINE, FILE, *([ARRIVED] if self.arrived else []), REASON]
        texts = [text_name(each) for each in self.references]
        return places + texts + ([kind_name(each) for each in self.references] if self.kinds else [])

    def batch(self, found: Found) -> pa.RecordBatch:
        """What was found, as these columns."""
        places = [found.lines, found.files, *([found.arrived] if self.arrived else []), found.reasons]
        texts = [text for text, _ in found.columns]
        kinds = [kind for _, kind in found.columns] if self.kinds else []
        return pa.RecordBatch.from_arrays([*places, *texts, *kinds], names=self.names)

    def empty_columns(self, count: int) -> list[Column]:
        """The columns of records in which nothing is found."""
        no_texts, no_kinds = pa.nulls(count, pa.string()), pa.array([NOTHING] * count, pa.int8())
        empty = pa.array([[]] * count, pa.list_(pa.string())), pa.array([[]] * count, pa.list_(pa.int8()))
        return [empty if each in self.many else (no_texts, no_kinds) for each in self.references]

    def reject(self, reason: str, line: str | None, file: str) -> pa.RecordBatch:
        """One thing that cannot be read."""
        shown = pa.array([None if line is None else line[:SHOWN]], pa.string())
        return self.batch(
            Found(self.empty_columns(1), pa.array([reason]), shown, pa.array([file]), pa.nulls(1, pa.int64()))
        )


def text_name(reference: Reference | str) -> str:
    """The column of what a reference finds. In joined records its side stands before it."""
    return f"{_side(reference)}text of {reference}"


def encoded_name(reference: Reference | str) -> str:
    """The column of the same as it stands in an IRI."""
    return f"{_side(reference)}encoded {reference}"


def kind_name(reference: Reference | str) -> str:
    """The column of its kind, a code of `freshet.kernels.json_values`."""
    return f"{_side(reference)}kind of {reference}"


def _side(reference: Reference | str) -> str:
    return f"{reference.side} " if isinstance(reference, Reference) and reference.side else ""
