"""CSV text to records: what the columns that are asked for hold, and why a record cannot be read."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.kernels import csv_records as kernels
from freshet.kernels.csv_records import END, FIELDS, SEVERAL, START, TOO_LONG, UNCLOSED
from freshet.rdf.arrow import Ranges, numbers, string_array, strings
from freshet.rdf.deadline import current
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rml.sources import CsvDialect
from freshet.sources.columns import DEFAULT_LIMITS, ROWS, Column, Found, Limits, RecordShape
from freshet.sources.texts import (
    as_bytes,
    broken_pieces,
    line_ends,
    pieces,
    where,
    with_broken,
    with_last,
    with_lines,
)

_NULL = pa.nulls(1, pa.string())[0]
_NOTHING_WANTED = np.empty(0, np.int64)
_NO_NAME = "\0"  # of a column that no reference can name
_STRIPPED: dict[str, Callable[[str], str]] = {"none": str, "both": str.strip, "start": str.lstrip, "end": str.rstrip}
_TRIMMED = {"both": pc.utf8_trim_whitespace, "start": pc.utf8_ltrim_whitespace, "end": pc.utf8_rtrim_whitespace}
_PROBE = np.empty((0, 1), np.int64), np.empty((0, 1), np.int64), np.empty((0, 1), np.int8)


@dataclass(frozen=True, slots=True)
class CsvReader:
    """How CSV text is read. `keep` asks for the text and the file of every record, not of rejected ones only; with
    `numbered` for the line too."""

    shape: RecordShape
    dialect: CsvDialect
    nulls: frozenset[str] = frozenset()
    limits: Limits = DEFAULT_LIMITS
    encoding: str = "UTF-8"
    keep: bool = False
    numbered: bool = False

    def batches(
        self, name: str, blocks: Iterator[bytes], header: list[str] | None = None, first: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """The records of a file. It begins with its header, unless that is given or the dialect has none.

        `first` is the place of the first block in the file.
        """
        buffer, skipping, columns, taken, line = b"", False, header, first, 1
        for block, final in with_last(blocks):
            if skipping:
                taken += len(block)
                block = _after_first_line(block)
                skipping = not block and not final
                taken -= len(block)
            buffer = buffer + block if buffer else block
            at = 0
            if columns is None:
                columns, at = self.header(buffer, final)
                if columns is None:
                    continue
            at = yield from self._whole_records(name, buffer, at, final, columns, taken, line)
            if self.numbered:
                line += int(np.searchsorted(line_ends(buffer), at, "right"))
            buffer, taken = buffer[at:], taken + at
            if len(buffer) > self.limits.record_bytes and not final:
                yield self.shape.reject(self._too_long(), buffer.decode(errors="replace"), name)
                line += len(line_ends(buffer)) if self.numbered else 0
                buffer, skipping, taken = b"", True, taken + len(buffer)

    def _whole_records(
        self, name: str, buffer: bytes, at: int, final: bool, columns: list[str], first: int, line: int
    ) -> Generator[pa.RecordBatch, None, int]:
        """The records that are whole in a buffer, which begins with a `line`; gives where the rest begins."""
        data = as_bytes(buffer)
        ends_of_lines = line_ends(buffer) if self.numbered else _NOTHING_WANTED
        wanted, problem = self.wanted_columns(columns)
        size = len(self.shape.references)
        while at < len(buffer):
            current().check()
            starts, ends = np.empty((size, ROWS), np.int64), np.empty((size, ROWS), np.int64)
            forms, records = np.empty((size, ROWS), np.int8), np.empty((ROWS, 3), np.int64)
            count, at = kernels.scan_records(
                data,
                at,
                len(buffer),
                final,
                self.limits.record_bytes,
                *self.marks,
                wanted,
                starts,
                ends,
                forms,
                records,
            )
            if count:
                cut = records[:count, START].copy(), records[:count, END].copy()
                good, reasons = self._check_records(buffer, *cut, records[:count, FIELDS], len(columns), problem, first)
                fields = [self._column(data, starts[k], ends[k], forms[k], good) for k in range(size)]
                shown = np.ones(count, np.bool_) if self.keep else ~good
                lines = pieces(buffer, *cut, shown)
                files = where(shown, name)
                if self.numbered:
                    files = with_lines(name, line + np.searchsorted(ends_of_lines, cut[0], "right"))
                yield self.shape.batch(Found(fields, reasons, lines, files))
            if count < ROWS:
                break
        return at

    def lines(self, texts: Ranges, header: list[str]) -> tuple[list[Column], pa.Array]:
        """Texts that are one record each: the fields that are asked for, and why texts cannot be read."""
        data, text_starts, text_ends = texts
        wanted, problem = self.wanted_columns(header)
        size, count = len(self.shape.references), text_starts.size
        starts, ends = np.empty((size, count), np.int64), np.empty((size, count), np.int64)
        forms, fields = np.empty((size, count), np.int8), np.empty(count, np.int64)
        kernels.scan_texts(
            data, text_starts, text_ends, self.limits.record_bytes, *self.marks[:2], wanted, starts, ends, forms, fields
        )
        good, reasons = self._check_records(b"", _NOTHING_WANTED, _NOTHING_WANTED, fields, len(header), problem)
        return [self._column(data, starts[k], ends[k], forms[k], good) for k in range(size)], reasons

    @property
    def marks(self) -> tuple[int, int, int]:
        """The bytes of delimiter, quote and comment; -1 where there is none."""
        return tuple(_byte(mark) for mark in (self.dialect.delimiter, self.dialect.quote, self.dialect.comment))  # type: ignore[return-value]

    def header(self, buffer: bytes, final: bool) -> tuple[list[str] | None, int]:
        """The names of the columns and where records begin; None where the header is not there as a whole."""
        records = np.empty((1, 3), np.int64)
        start = _after_lines(buffer, self.dialect.skip_rows)
        if start is None:
            return ([], len(buffer)) if final else (None, 0)
        count, at = kernels.scan_records(
            as_bytes(buffer), start, len(buffer), final, self.limits.record_bytes, *self.marks, _NOTHING_WANTED,
            *_PROBE, records,
        )  # fmt: skip
        if not count:
            return ([], len(buffer)) if final else (None, 0)
        first = buffer[int(records[0, START]) : int(records[0, END])]
        try:
            text = first.decode()
        except UnicodeDecodeError:
            raise InputError(f"the header is not {self.encoding}") from None
        names = self.fields(text)
        if not self.dialect.header:
            return [f"_col.{number + 1}" for number in range(len(names))], start
        skipped = min(self.dialect.skip_columns, len(names))
        return [_NO_NAME] * skipped + names[skipped:], at

    def fields(self, record: str) -> list[str]:
        """The fields of one record."""
        quote = self.dialect.quote or None
        reader = csv.reader(
            io.StringIO(record, newline=""),
            delimiter=self.dialect.delimiter,
            quotechar=quote,
            quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        )
        names = next(reader, [])
        return [_STRIPPED[self.dialect.trim](name) for name in names]

    def wanted_columns(self, columns: list[str]) -> tuple[NDArray[np.int64], str | None]:
        """For each column the number of the reference that takes it, or -1; and what is wrong with the columns."""
        numbers = {reference: number for number, reference in enumerate(self.shape.references)}
        for reference in self.shape.references:
            if (there := columns.count(reference)) != 1:
                how = "there is no column" if not there else "there are several columns"
                return np.array([], np.int64), f"{how} {reference}; the header has {', '.join(columns)}"
        return np.array([numbers.get(column, -1) for column in columns], np.int64), None

    def _check_records(
        self, buffer: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], fields: NDArray[np.int64], width: int,
        problem: str | None, first: int = 0,
    ) -> tuple[NDArray[np.bool_], pa.Array]:  # fmt: skip
        """Which records are good, and the reasons of the others. Without places the text is known to be UTF-8."""
        broken = broken_pieces(buffer, starts, ends) if starts.size else np.zeros(fields.size, np.bool_)
        good = (fields == width) & ~broken & (problem is None)
        if good.all():
            return good, pa.nulls(good.size, pa.string())
        counts, which = np.unique(fields, return_inverse=True)
        texts = [problem or self._reason(int(count), width) for count in counts]
        reasons = pa.array(texts, pa.string()).take(numbers(which))
        return good, with_broken(reasons, broken, starts + first, self.encoding)

    def _reason(self, fields: int, width: int) -> str | None:
        if fields == width:
            return None
        if fields == UNCLOSED:
            return "a quote that is not closed"
        if fields == TOO_LONG:
            return self._too_long()
        if fields == SEVERAL:
            return "more than one line"
        return f"{fields} field{'s' if fields != 1 else ''} where the header has {width}"

    def _too_long(self) -> str:
        return f"longer than {self.limits.record_bytes} bytes"

    def _column(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], forms: NDArray[np.int8],
        good: NDArray[np.bool_],
    ) -> Column:  # fmt: skip
        count = good.size
        out = np.empty(int(np.sum(ends[:count] - starts[:count], where=good)), np.uint8)
        offsets = np.empty(count + 1, np.int32)
        quote = np.int64(self.marks[1])
        kernels.write_fields(data, starts[:count], ends[:count], forms[:count], good, quote, out, offsets)
        texts = strings(out, offsets, good)
        if self.dialect.trim != "none":
            texts = _TRIMMED[self.dialect.trim](texts)
        if self.nulls:
            texts = pc.if_else(pc.is_in(texts, string_array(sorted(self.nulls))), _NULL, texts)
        return texts, None


def _after_lines(buffer: bytes, count: int) -> int | None:
    """Where the line after some others begins; None where that is not there yet."""
    at = 0
    for _ in range(count):
        ends = [end for end in (buffer.find(b"\n", at), buffer.find(b"\r", at)) if end >= 0]
        if not ends or (min(ends) == len(buffer) - 1 and buffer.endswith(b"\r")):  # LF may follow CR
            return None
        at = min(ends) + (2 if buffer.startswith(b"\r\n", min(ends)) else 1)
    return at


def _after_first_line(block: bytes) -> bytes:
    places = [at for at in (block.find(b"\n"), block.find(b"\r")) if at >= 0]
    return block[min(places) :] if places else b""


def _byte(mark: str | None) -> int:
    if not mark:
        return -1
    if len(mark.encode()) > 1:
        raise UnsupportedError(f"{mark!r} as a mark in CSV: it must be one character of ASCII")
    return ord(mark)
