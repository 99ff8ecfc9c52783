"""Where reports go."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Protocol

import orjson

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.results.report import Report
from freshet.results.write import report_json


class Sink(Protocol):
    """Takes the reports of one query, in order of time."""

    def deliver(self, report: Report) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


class FileSink:
    """Reports as NDJSON, a file a run: part-00000.ndjson, part-00001.ndjson, ...

    A run that goes on from a checkpoint goes on in the last file. What is in that file already is not written again, so
    each report is there once; a line that a kill cut short is taken off first.
    """

    def __init__(self, folder: Path, dictionary: Dictionary, *, resume: bool) -> None:
        self._dictionary = dictionary
        try:
            folder.mkdir(parents=True, exist_ok=True)
            parts = sorted(folder.glob("part-*.ndjson"))
            number = int(parts[-1].stem.removeprefix("part-")) if parts else -1
            if resume and parts:
                self._last_ms = _mend(parts[-1])
            else:
                number, self._last_ms = number + 1, None
            self._file: BinaryIO = (folder / f"part-{number:05d}.ndjson").open("ab")
        except OSError as error:
            raise InputError(f"cannot be written to: {error.strerror}", file=str(folder)) from error

    def deliver(self, report: Report) -> None:
        if self._last_ms is None or report.time_ms > self._last_ms:
            self._file.write(report_json(report, self._dictionary))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def _mend(file: Path) -> int | None:
    """Cut off a last line without an end; gives the time of the last whole report."""
    with file.open("r+b") as part:
        size = part.seek(0, os.SEEK_END)
        span = 1 << 16
        while True:
            start = max(0, size - span)
            part.seek(start)
            tail = part.read(size - start)
            end = tail.rfind(b"\n") + 1
            before = tail.rfind(b"\n", 0, end - 1) + 1 if end else 0
            if start == 0 or before:  # the last whole line is in sight
                break
            span *= 4
        part.truncate(start + end)
    return int(orjson.loads(tail[before:end])["time"]) if end else None
