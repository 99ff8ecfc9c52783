"""Where reports go."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import orjson

from freshet.rdf.errors import InputError
from freshet.results.answers import AnswerBatch
from freshet.results.write import batch_json

_MOST_AT_A_TIME = 2  # reports of one query: at a close and at an instant


class Sink(Protocol):
    """Takes the reports of one query, in order of time."""

    def deliver(self, batch: AnswerBatch) -> None: ...
    def skip(self, batch: AnswerBatch) -> None:
        """Skip reports that were delivered before a restart."""

    def flush(self) -> None:
        """Reports so far can be seen."""

    def sync(self) -> None:
        """Reports so far are durable."""

    def close(self) -> None: ...


class DeliveredBefore:
    """Which reports a sink has from before a restart, as they come again in order.

    A query can report twice at one time, at a close and at an instant; so those of the last time are counted.
    """

    def __init__(self, last_ms: int | None = None, at_last: int = 0) -> None:
        self._last_ms, self._at_last = last_ms, at_last

    def count(self, batch: AnswerBatch) -> int:
        """How many reports at the start of a batch are there already."""
        if self._last_ms is None or batch.times[0] > self._last_ms:
            return 0
        earlier, until = (int(count) for count in np.searchsorted(batch.times, [self._last_ms, self._last_ms + 1]))
        at_last = min(until - earlier, self._at_last)
        self._at_last -= at_last
        return earlier + at_last


class FileSink:
    """Reports as NDJSON, a file a run: part-00000.ndjson, part-00001.ndjson, ...

    A run that resumes from a checkpoint appends to the last file. Reports that the file has already are not written
    again, so each is there once; an incomplete last line is removed first.
    """

    def __init__(self, folder: Path, *, resume: bool) -> None:
        self._unsynced = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            parts = sorted(folder.glob("part-*.ndjson"))
            number = int(parts[-1].stem.removeprefix("part-")) if parts else -1
            if resume and parts:
                self._before = DeliveredBefore(*_mend(parts[-1]))
            else:
                number, self._before = number + 1, DeliveredBefore()
            self._file: BinaryIO = (folder / f"part-{number:05d}.ndjson").open("ab")
        except OSError as error:
            raise InputError(f"cannot be written to: {error.strerror}", file=str(folder)) from error

    def deliver(self, batch: AnswerBatch) -> None:
        there = self._before.count(batch)
        if there < len(batch):
            self._file.write(batch_json(batch.part(there, len(batch)) if there else batch))
            self._unsynced = True

    def skip(self, batch: AnswerBatch) -> None:
        self._before.count(batch)

    def flush(self) -> None:
        self._file.flush()

    def sync(self) -> None:
        unsynced, self._unsynced = self._unsynced, False  # first: another thread may write meanwhile
        self._file.flush()
        if unsynced:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        self.sync()
        self._file.close()


def _mend(file: Path) -> tuple[int | None, int]:
    """Cut off a last line without an end; gives the time of the last whole report, and how many there are of it."""
    with file.open("r+b") as part:
        size = part.seek(0, os.SEEK_END)
        span = 1 << 16
        while True:
            start = max(0, size - span)
            part.seek(start)
            tail = part.read(size - start)
            lines = tail[: tail.rfind(b"\n") + 1].splitlines(keepends=True)
            if start:
                lines = lines[1:]  # perhaps not whole
            if start == 0 or len(lines) >= _MOST_AT_A_TIME:
                break
            span *= 4
        part.truncate(start + tail.rfind(b"\n") + 1)
    times = [int(orjson.loads(line)["time"]) for line in lines[-_MOST_AT_A_TIME:]]
    return (times[-1], times.count(times[-1])) if times else (None, 0)
