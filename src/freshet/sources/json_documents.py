"""JSON documents of any size: records are cut out of them as they are read, and only what is read last is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.kernels import json_paths
from freshet.kernels.json_paths import BROKEN, DONE, FULL, PathSteps
from freshet.rml.json_paths import read_path
from freshet.rml.json_records import path_steps
from freshet.sources.columns import ROWS, Found
from freshet.sources.json_text import JsonReader
from freshet.sources.texts import Places, as_bytes, pieces, with_last

_SHOWN = 200  # bytes of a broken document that are kept


def document_batches(reader: JsonReader, name: str, blocks: Iterator[bytes]) -> Iterator[pa.RecordBatch]:
    """The records of a file of documents. Where one is broken, what comes after it in the file cannot be read.

    A document must be in memory as a whole where the iterator is more than names, indexes and wildcards, or nothing.
    """
    walked = _Walk(reader, name, path_steps(read_path(reader.iterator).steps or ()))
    for block, final in with_last(_growing(blocks, walked)):
        yield from walked.on(block, final)
        if walked.done:
            return


@dataclass(slots=True)
class _Walk:
    """A walk through the documents of a file."""

    reader: JsonReader
    name: str
    steps: PathSteps
    done: bool = False
    rest: bytes = b""
    line: int = 1  # on which the rest begins
    walk: NDArray[np.int64] = field(default_factory=json_paths.new_walk)

    @property
    def limit(self) -> int:
        limits = self.reader.limits
        return limits.record_bytes if len(self.steps.steps) else limits.document_bytes

    def on(self, block: bytes, final: bool) -> Iterator[pa.RecordBatch]:
        """The records that are whole once there is one more block."""
        text = self.rest + block if self.rest else block
        data, at, why = as_bytes(text), 0, FULL
        while why == FULL:
            starts, ends = np.empty(ROWS, np.int64), np.empty(ROWS, np.int64)
            kinds = np.empty(ROWS, np.int8)
            count, at, why = json_paths.walk_values(
                self.steps, data, at, len(text), final, False, self.walk, starts, ends, kinds, 0
            )
            if count:
                yield from self._batches(text, starts[:count], ends[:count])
        self.line += text.count(b"\n", 0, at)
        self.rest = text[at:]
        self.done = why in (BROKEN, DONE)
        if why == BROKEN:
            yield self._rejected(f"not JSON from line {self.line} on")
        elif len(self.rest) > self.limit:
            yield from self._skip()

    def _batches(self, text: bytes, starts: Places, ends: Places) -> Iterator[pa.RecordBatch]:
        fits = ends - starts <= self.limit
        for start, end in zip(starts[~fits].tolist(), ends[~fits].tolist(), strict=True):
            shown = text[start : min(end, start + _SHOWN)].decode(errors="replace")
            yield self.reader.shape.reject(f"a record longer than {self.limit} bytes", shown, self.name)
        starts, ends = starts[fits], ends[fits]
        if read_path(self.reader.iterator).steps is None:
            yield self.reader.batch(self.name, text, starts, ends)
            return
        _, columns = self.reader.found_in((as_bytes(text), starts, ends), objects_only=False)
        lines = files = nothing = pa.nulls(starts.size, pa.string())
        if self.reader.keep:
            lines = pieces(text, starts, ends, np.ones(starts.size, np.bool_))
            files = pa.array([self.name] * starts.size, pa.string())
        yield self.reader.shape.batch(Found(columns, nothing, lines, files))

    def _rejected(self, reason: str) -> pa.RecordBatch:
        try:
            shown = self.rest[:_SHOWN].decode()
        except UnicodeDecodeError as error:
            shown = self.rest[:_SHOWN].decode(errors="replace")
            if error.end < _SHOWN:  # else it is only cut in the middle of a character
                reason = f"not {self.reader.encoding} from line {self.line} on"
        return self.reader.shape.reject(reason, shown, self.name)

    def _skip(self) -> Iterator[pa.RecordBatch]:
        """Past a record that is too long, whose parts are checked but not kept."""
        within = self.rest[:1] in (b"{", b"[") and json_paths.give_up(self.walk, len(self.steps.steps))
        self.done = not within
        which = "a record" if within else "a string"
        yield self._rejected(f"{which} longer than {self.limit} bytes on line {self.line}")


def _growing(blocks: Iterator[bytes], walked: _Walk) -> Iterator[bytes]:
    """Blocks as they come, but at least as much at once as is left over: a long record is not read again and again."""
    gathered: list[bytes] = []
    size = 0
    for block in blocks:
        gathered.append(block)
        size += len(block)
        if size >= len(walked.rest):
            yield b"".join(gathered)
            gathered, size = [], 0
    yield b"".join(gathered)
