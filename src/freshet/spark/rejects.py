"""Records that could not be read or mapped, kept with their reason and place as JSON lines."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import orjson
import pyarrow as pa

from freshet.spark import records
from freshet.spark.csv_header import path_of


def write_rejects(rejected: pa.Table, target: Path) -> None:
    """Write the rejected records of a batch. A batch that comes again writes over what it wrote before."""
    if len(rejected) == 0:
        return
    places = _Places()
    lines = []
    columns = rejected.column(records.REASON), rejected.column(records.FILE), _as_bytes(rejected.column(records.LINE))
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


def _as_bytes(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as they came: a line that is rejected may be no UTF-8, whatever Spark calls its type."""
    return pa.chunked_array([chunk.view(pa.binary()) for chunk in texts.chunks], pa.binary())


class _Places:
    """Finds records in their files. Equal records of one file are found one after the other."""

    def __init__(self) -> None:
        self._contents: dict[Path, bytes] = {}
        self._found: dict[tuple[Path, bytes], int] = defaultdict(int)

    def line_of(self, file: Path, record: bytes) -> int | None:
        """The number of the line that is this record; None where the file cannot be read from here."""
        if file not in self._contents:
            try:
                self._contents[file] = file.read_bytes()
            except OSError:
                self._contents[file] = b""
        data, wanted = self._contents[file], record
        at = self._found[file, record]
        while (at := data.find(wanted, at)) >= 0:
            end = at + len(wanted)
            if data[max(0, at - 1) : at] in (b"\n", b"") and data[end : end + 1] in (b"\n", b"\r", b""):
                self._found[file, record] = end
                return data.count(b"\n", 0, at) + 1
            at += 1
        return None
