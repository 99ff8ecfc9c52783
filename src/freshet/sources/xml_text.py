"""XML text to records: an element that the iterator finds is a record, and XPath finds texts in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from lxml import etree

from freshet.rdf.arrow import list_array, string_array
from freshet.rdf.deadline import current
from freshet.rml.xml_paths import Namespaces, compile_path, stays_inside, steps_of, xml_references
from freshet.sources.columns import DEFAULT_LIMITS, SHOWN, Column, Found, Limits, RecordShape
from freshet.sources.xml_lines import RecordLines
from freshet.sources.xml_stream import RefusedError, elements, parse_document

ROWS = 4096
_LAST_LINE = 65_535  # from which on libxml2 guesses

Texts = list[list[list[str]]]  # by reference, by record


@dataclass(frozen=True, slots=True)
class XmlReader:
    """How XML is read. `keep` asks for the text and the file of every record, not of rejected ones only; with
    `numbered` for the line too."""

    shape: RecordShape
    iterator: str
    namespaces: Namespaces = ()
    nulls: frozenset[str] = frozenset()
    limits: Limits = DEFAULT_LIMITS
    keep: bool = False
    numbered: bool = False

    @property
    def steps(self) -> tuple[str, ...] | None:
        """Where records are, if they can be read one after the other, without the document around them."""
        inside = all(stays_inside(each) for each in self.shape.references)
        return steps_of(self.iterator, self.namespaces) if inside else None

    def records_of(self, document: bytes, encoding: str | None = None) -> list[Any]:
        """The records of a whole document, cut by the iterator."""
        found = compile_path(self.iterator, self.namespaces)(parse_document(document, encoding).getroottree())
        return [each for each in found if isinstance(each, etree._Element)] if isinstance(found, list) else []

    def lines_of(self, records: list[Any], document: bytes) -> list[int | None]:
        """The lines of the records of a whole document, where they are known."""
        if self.steps is None:
            return [line_of(record) for record in records]
        watching = RecordLines(self.steps, "utf-8")
        for _ in watching.watch(iter([document])):
            pass
        return [watching.next() for _ in records]

    def columns(self, records: Iterable[Any]) -> tuple[Texts, list[str | None]]:
        """What each reference finds in each record; and the texts of the records, where they are kept."""
        references = xml_references(self.shape.references, self.namespaces)
        rows: list[list[list[str]]] = []
        lines: list[str | None] = []
        deadline = current()
        for record in records:
            deadline.check()
            rows.append(references.texts(record))
            lines.append(self._shown(record) if self.keep else None)
        found = [[row[number] for row in rows] for number in range(len(self.shape.references))]
        if self.nulls:
            found = [[[text for text in each if text not in self.nulls] for each in values] for values in found]
        return found, lines

    def _shown(self, record: Any) -> str:
        return str(etree.tostring(record, encoding="unicode", with_tail=False))[:SHOWN]

    def batches(self, name: str, blocks: Iterator[bytes], encoding: str | None) -> Iterator[pa.RecordBatch]:
        """The records of a file."""
        watching = None
        if self.numbered and self.steps is not None:
            watching = RecordLines(self.steps, encoding)
            blocks = watching.watch(blocks)
        records = _Until(self._records(blocks, encoding))
        while True:
            some = list(islice(records, ROWS)) if self.numbered and watching is None else islice(records, ROWS)
            found, lines = self.columns(some)
            if lines:
                if watching is not None:
                    numbers = [watching.next() for _ in lines]
                else:
                    numbers = list(map(line_of, some)) if self.numbered else [None] * len(lines)
                yield self._batch(name, found, lines, numbers)
            if len(lines) < ROWS:
                break
        if records.reason is not None:
            yield self.shape.reject(records.reason, None, name)

    def _records(self, blocks: Iterator[bytes], encoding: str | None) -> Iterator[Any]:
        if self.steps is not None:
            yield from elements(self.steps, blocks, encoding)
            return
        text, limit = bytearray(), self.limits.document_bytes
        for block in blocks:
            text += block
            if len(text) > limit:
                raise RefusedError(f"longer than {limit} bytes, and {self.iterator} needs all of it at once")
        yield from self.records_of(bytes(text), encoding)

    def _batch(self, name: str, found: Texts, lines: list[str | None], numbers: Sequence[int | None]) -> pa.RecordBatch:
        files = string_array([file_of(name, number) if self.keep else None for number in numbers])
        nothing = pa.nulls(len(lines), pa.string())
        return self.shape.batch(Found(as_columns(found), nothing, string_array(lines), files))


def line_of(record: Any) -> int | None:
    """The line of an element of a whole document, where it is known."""
    line: int | None = record.sourceline
    return line if line is not None and line < _LAST_LINE else None


def file_of(name: str, line: int | None) -> str:
    """A file with the line of a record, where that is known."""
    return name if line is None else f"{name}#L{line}"


class _Until:
    """Records up to where a document breaks: what was read before that is not lost."""

    def __init__(self, records: Iterator[Any]) -> None:
        self._records = records
        self.reason: str | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._records)
        except RefusedError as error:
            self.reason = str(error)
            raise StopIteration from None


def as_columns(found: Texts) -> list[Column]:
    columns: list[Column] = []
    for values in found:
        lengths = np.array([len(each) for each in values], np.int64)
        columns.append((list_array(lengths, string_array([text for each in values for text in each])), None))
    return columns
