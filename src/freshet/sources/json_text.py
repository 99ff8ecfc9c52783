"""JSON text to records: lines that are a document each, or documents of any size one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from freshet.kernels.json_paths import PathSteps
from freshet.rdf.arrow import Ranges
from freshet.rdf.arrow import numbers as row_numbers
from freshet.rdf.deadline import current
from freshet.rml.json_paths import deep_enough, read_path
from freshet.rml.json_records import Column, JsonReferences, find, parse_records, path_steps
from freshet.sources.columns import DEFAULT_LIMITS, ROWS, Found, Limits, RecordShape
from freshet.sources.texts import Places, as_bytes, broken_pieces, pieces, where, with_broken, with_last, with_lines

_NONE = np.empty(0, np.int64)


class Cut(NamedTuple):
    """The records of documents, whose they are, and which documents are good."""

    records: Ranges
    owners: NDArray[np.int64]
    good: NDArray[np.bool_]


def json_shape(references: tuple[str, ...], arrived: bool = False) -> RecordShape:
    """The columns of JSON records."""
    many = frozenset(each for each in references if read_path(each).many)
    return RecordShape(references, many, kinds=True, arrived=arrived)


def are_lines(head: bytes) -> bool:
    """Whether a file that begins like this has a document a line: its first line is one and there is another line, or
    two of its first three lines are."""
    lines = [line for line in head.split(b"\n") if line.strip()][:3]
    if len(lines) < 2:
        return False
    whole = [_is_json(line) for line in lines]
    return whole[0] or sum(whole) > 1


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


@lru_cache(maxsize=64)
def _references(references: tuple[str, ...], nulls: frozenset[str]) -> JsonReferences:
    return JsonReferences([read_path(each) for each in references], nulls)


@dataclass(frozen=True, slots=True)
class JsonReader:
    """How JSON is read. `keep` asks for the text and the file of every record, not of rejected ones only; with
    `numbered` for the line too, where a file has a document a line."""

    shape: RecordShape
    iterator: str = "$"
    nulls: frozenset[str] = frozenset()
    limits: Limits = DEFAULT_LIMITS
    encoding: str = "UTF-8"
    keep: bool = False
    numbered: bool = False

    def found_in(self, records: Ranges, objects_only: bool) -> tuple[pa.Array, list[Column]]:
        """Which records are objects, and what the references find in them."""
        found = _references(self.shape.references, self.nulls).read(records, objects_only)
        return found.objects, found.columns

    def line_batches(self, name: str, blocks: Iterator[bytes], first: int = 0) -> Iterator[pa.RecordBatch]:
        """The records of a file with a document a line. A line that is none is rejected alone.

        `first` is the place of the first block in the file.
        """
        for text, starts, ends, whole, taken, numbers in _lines(blocks, self.limits.record_bytes):
            if not whole:
                yield self.shape.reject(self.too_long, text.decode(errors="replace"), name)
            for number in range(0, starts.size, ROWS):
                some = slice(number, number + ROWS)
                yield self.batch(name, text, starts[some], ends[some], first + taken, numbers[some])

    @property
    def too_long(self) -> str:
        return f"longer than {self.limits.record_bytes} bytes"

    def batch(
        self, name: str, text: bytes, starts: Places, ends: Places, first: int = 0, numbers: Places | None = None
    ) -> pa.RecordBatch:
        """The records of some documents; the text is in the file from `first` on, and they are lines with `numbers`."""
        documents = as_bytes(text), starts, ends
        if read_path(self.iterator).steps == ():
            good, columns = self.found_in(documents, objects_only=True)
            if not good.false_count and not self.keep:
                nothing = pa.nulls(starts.size, pa.string())
                return self.shape.batch(Found(columns, nothing, nothing, nothing))
            good = good.to_numpy(zero_copy_only=False)
            reasons = self._reasons(text, starts, ends, good, "not a JSON object", first)
            shown = np.ones(good.size, np.bool_) if self.keep else ~good
            lines = pieces(text, starts, ends, shown)
            files = where(shown, name) if numbers is None or not self.numbered else with_lines(name, numbers)
            made = self.shape.batch(Found(columns, reasons, lines, files))
            blank = self._blank(text, starts, ends, good)
            return made.filter(pa.array(~blank)) if blank.any() else made
        cut = self.cut(documents)
        return self._cut_batch(name, text, starts, ends, cut, first, numbers)

    def cut(self, documents: Ranges) -> Cut:
        """Documents cut by the iterator."""
        path = read_path(self.iterator)
        if path.steps is None:
            return _cut_by_library(self.iterator, documents)
        places = find(_steps(self.iterator), documents)
        owners = np.repeat(np.arange(places.good.size), np.diff(places.firsts))
        return Cut((documents[0], places.starts, places.ends), owners, places.good)

    def _cut_batch(
        self, name: str, text: bytes, starts: Places, ends: Places, cut: Cut, first: int, numbers: Places | None
    ) -> pa.RecordBatch:
        _, columns = self.found_in(cut.records, objects_only=False)
        size = cut.owners.size
        nothing = pa.nulls(size, pa.string())
        lines = files = nothing
        if self.keep:
            everything = np.ones(size, np.bool_)
            lines = pieces(cut.records[0].tobytes(), cut.records[1], cut.records[2], everything)
            files = pa.array([name] * size, pa.string())
            if self.numbered and numbers is not None:
                files = with_lines(name, numbers[cut.owners])
        made = self.shape.batch(Found(columns, nothing, lines, files))
        blank = self._blank(text, starts, ends, cut.good)
        bad = np.flatnonzero(~cut.good & ~blank)
        if not bad.size:
            return made
        why = self._reasons(text, starts, ends, cut.good, "not JSON", first).take(row_numbers(bad))
        shown = pieces(text, starts[bad], ends[bad], np.ones(bad.size, np.bool_))
        rejected = [
            self.shape.reject(reason, line, name)
            for reason, line in zip(why.to_pylist(), shown.to_pylist(), strict=True)
        ]
        return _join_batches([made, *rejected])

    def _reasons(
        self, text: bytes, starts: Places, ends: Places, good: NDArray[np.bool_], otherwise: str, first: int
    ) -> pa.Array:
        """Why documents that are not good are not."""
        broken = broken_pieces(text, starts, ends) & ~good
        return with_broken(where(~good, otherwise), broken, starts + first, self.encoding)

    def _blank(self, text: bytes, starts: Places, ends: Places, good: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which documents that are not good have nothing in them but spaces."""
        blank = np.zeros(good.size, np.bool_)
        for number in np.flatnonzero(~good).tolist():
            blank[number] = not text[int(starts[number]) : int(ends[number])].strip()
        return blank


@lru_cache(maxsize=64)
def _steps(iterator: str) -> PathSteps:
    return path_steps(read_path(iterator).steps or ())


def _join_batches(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    whole = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole[0] if whole else batches[0]


def _encoded(value: object) -> bytes:
    current().check()
    return json.dumps(value, ensure_ascii=False).encode()


def _cut_by_library(iterator: str, documents: Ranges) -> Cut:
    """Documents cut by a path that kernels do not follow; numbers with a fraction are written anew."""
    compiled = read_path(iterator).compiled()
    good, owners, texts = [], [], []
    data, starts, ends = documents
    for number in range(starts.size):
        try:
            (document,) = parse_records((data, starts[number : number + 1], ends[number : number + 1]))
            if starts[number] == ends[number]:
                raise ValueError
            with deep_enough():
                found = [_encoded(match.obj) for match in compiled.finditer(document)]
        except (ValueError, RecursionError):  # no JSON, or deeper than any document should be
            good.append(False)
            continue
        good.append(True)
        owners += [number] * len(found)
        texts += found
    lengths = np.array([len(text) for text in texts], np.int64)
    stops = np.cumsum(lengths)
    records = as_bytes(b"".join(texts)), stops - lengths, stops
    return Cut(records, np.array(owners, np.int64), np.array(good, np.bool_))


def _lines(blocks: Iterator[bytes], longest: int) -> Iterator[tuple[bytes, Places, Places, bool, int, Places]]:
    """Lines in some bytes: where each starts and ends, where the bytes are in all of them, the numbers of the lines.

    A line that is too long comes alone and is not whole.
    """
    rest, skipping, taken, line = b"", False, 0, 1
    for block, final in with_last(blocks):
        if skipping:
            at = block.find(b"\n") + 1
            taken += at or len(block)
            block, skipping = (block[at:], False) if at else (b"", True)
            line += not skipping
        text = rest + block if rest else block
        end = len(text) if final else text.rfind(b"\n") + 1
        if end:
            stops = np.flatnonzero(as_bytes(text)[:end] == 10)
            if not stops.size or stops[-1] != end - 1:
                stops = np.append(stops, end)
            starts, ends = np.concatenate([[0], stops[:-1] + 1]).astype(np.int64), stops.astype(np.int64)
            fits = ends - starts <= longest
            yield text, starts[fits], ends[fits], True, taken, line + np.flatnonzero(fits)
            line += starts.size
            for start, stop in zip(starts[~fits].tolist(), ends[~fits].tolist(), strict=True):
                yield text[start:stop], _NONE, _NONE, False, taken + start, _NONE
        rest, taken = text[end:], taken + end
        if len(rest) > longest:
            yield rest, _NONE, _NONE, False, taken, _NONE
            rest, skipping, taken = b"", True, taken + len(rest)
