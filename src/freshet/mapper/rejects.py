"""Records that could not be read or mapped, kept with their reason and place as JSON lines."""

from __future__ import annotations

import mmap
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import orjson
import pyarrow as pa

from freshet.sources.columns import FILE, LINE, REASON, SHOWN
from freshet.sources.csv_header import path_of

_MOST_MISSES = 20
_BLOCK = 16 << 20


def write_rejects(rejected: pa.Table, target: Path) -> None:
    """Write the rejected records of a batch. A batch that is repeated overwrites its rejects."""
    if len(rejected) == 0:
        return
    places = _Places()
    lines = []
    columns = rejected.column(REASON), rejected.column(FILE), _as_bytes(rejected.column(LINE))
    for reason, place, record in zip(*(column.to_pylist() for column in columns), strict=True):
        line = None
        if place is not None and place.startswith("file:"):
            file = path_of(place)
            place, line = str(file), None if record is None else places.line_of(file, record)
        text = None if record is None else record.decode(errors="replace")
        kept = {"reason": reason, "file": place, "line": line, "record": text}
        lines.append(orjson.dumps(kept, option=orjson.OPT_APPEND_NEWLINE))
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".unfinished")
    unfinished.write_bytes(b"".join(lines))
    os.replace(unfinished, target)


class Reject(NamedTuple):
    """A record that could not be mapped: why, the URI of its file, and its text."""

    reason: str
    file: str | None
    record: str | None


def write_map_rejects(rejects: Iterable[Reject], target: Path) -> None:
    """Write rejected records, with the lines at which they begin in their files."""
    places = _Places()
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        for reason, place, record in rejects:
            file = path_of(place) if place is not None and place.startswith("file:") and "#" not in place else None
            line = places.line_of(file, record.encode()) if file is not None and record else None
            kept = {"reason": reason, "file": place if file is None else str(file), "line": line, "record": record}
            out.write(orjson.dumps(kept, option=orjson.OPT_APPEND_NEWLINE))


def remove_map_rejects(folder: Path) -> None:
    """Take away what an earlier run of `freshet map` has left; nothing else that is there."""
    for file in folder.glob("*.json"):
        if re.fullmatch(r"[0-9]+\.json", file.name):
            file.unlink()


def _as_bytes(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as they came: a line that is rejected may be no UTF-8, though its Spark type is string."""
    return pa.chunked_array([chunk.view(pa.binary()) for chunk in texts.chunks], pa.binary())


class _Places:
    """Finds records in their files. Equal records of one file are found one after the other."""

    def __init__(self) -> None:
        self._contents: dict[Path, mmap.mmap | bytes] = {}
        self._found: dict[tuple[Path, bytes], int] = defaultdict(int)
        self._counted: dict[Path, tuple[int, int]] = defaultdict(lambda: (0, 1))
        self._misses: dict[Path, int] = defaultdict(int)

    def line_of(self, file: Path, record: bytes) -> int | None:
        """The number of the line at which this record begins; None where it is not to be found from here.

        Where many were not found (the file is packed, or in another encoding), no more are looked for.
        """
        if self._misses[file] >= _MOST_MISSES:
            return None
        data = self._content(file)
        last, _ = self._counted[file]
        # Rejects mostly come in the order of their file, so what is wanted is after the last one.
        after = max(self._found[file, record], last)
        at = _find(data, record, after)
        if at < 0 and self._found[file, record] < after:
            at = _find(data, record, self._found[file, record])
        if at < 0:
            self._misses[file] += 1
            return None
        self._found[file, record] = at + len(record)
        return self._line(file, data, at)

    def _content(self, file: Path) -> mmap.mmap | bytes:
        if file not in self._contents:
            self._contents[file] = b""
            with suppress(OSError, ValueError), file.open("rb") as opened:
                self._contents[file] = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        return self._contents[file]

    def _line(self, file: Path, data: mmap.mmap | bytes, at: int) -> int:
        """The line of a place: counted on from the last one where that is before it."""
        place, line = self._counted[file]
        if at < place:
            place, line = 0, 1
        line += sum(data[first : min(first + _BLOCK, at)].count(b"\n") for first in range(place, at, _BLOCK))
        self._counted[file] = at, line
        return line


def _find(data: mmap.mmap | bytes, record: bytes, at: int) -> int:
    """Where a record is that begins a line and ends one, or was cut; -1 where it is not."""
    while (at := data.find(record, at)) >= 0:
        end = at + len(record)
        begins = at == 0 or data[at - 1 : at] == b"\n" or data[:at] == b"\xef\xbb\xbf"
        if begins and (len(record) >= SHOWN or data[end : end + 1] in (b"\n", b"\r", b"")):
            return at
        at += 1
    return -1
