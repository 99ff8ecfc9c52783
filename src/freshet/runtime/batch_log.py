"""The encoded batches that windows may still need, kept in the checkpoint folder so that a killed run can go on.

A batch is written here before the engine sees it, exactly as it came from Spark, and Spark commits its offsets only
after that. To start again is therefore: push what is here, in order, then let Spark go on; a batch that Spark repeats
because it was cut off before its commit is here already, and is passed over.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from freshet.rdf.errors import InputError

_KEY = b"freshet"
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")  # a quarter of the bytes to bring to the disk


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One batch: whose it is, and how far everything was before it came.

    `watermarks` are those of all streams; `passed` says for each query up to which moment it had been reported, and
    `needed_ms` from when on elements may still matter to any query.
    """

    sequence: int
    stream: str
    batch: int
    layout: str
    last_ms: int
    watermarks: dict[str, int]
    passed: dict[str, int]
    needed_ms: int


class BatchLog:
    """A folder of Arrow files, one a batch, named by a running number. One thread may append while another trims."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the checkpoint folder cannot be made: {error.strerror}", file=str(folder)) from error
        self._lock = threading.Lock()
        self._entries: dict[Path, LogEntry] = {}
        for file in sorted(folder.glob("*.arrow")):
            self._entries[file] = self._read_entry(file)

    @property
    def entries(self) -> list[LogEntry]:
        with self._lock:
            return list(self._entries.values())

    @property
    def next_sequence(self) -> int:
        return max((entry.sequence for entry in self.entries), default=-1) + 1

    def last_batch(self, stream: str) -> int:
        """The number of the stream's newest batch here, -1 where there is none."""
        return max((entry.batch for entry in self.entries if entry.stream == stream), default=-1)

    def append(self, entry: LogEntry, table: pa.Table) -> None:
        """Write a batch; it is on the disk when this returns."""
        file = self._folder / f"{entry.sequence:012d}.arrow"
        unfinished = file.with_suffix(".unfinished")
        table = table.replace_schema_metadata({_KEY: json.dumps(asdict(entry)).encode()})
        try:
            with unfinished.open("wb") as sink:
                with pa.ipc.new_file(sink, table.schema, options=_COMPRESSED) as writer:
                    writer.write_table(table)
                sink.flush()
                os.fsync(sink.fileno())
            unfinished.rename(file)
        except OSError as error:
            raise InputError(f"the checkpoint cannot be written: {error.strerror}", file=str(file)) from error
        with self._lock:
            self._entries[file] = entry

    def tables(self) -> Iterator[tuple[LogEntry, pa.Table]]:
        """The batches in the order they came."""
        for file, entry in self._entries.items():
            with pa.memory_map(str(file)) as source:
                yield entry, pa.ipc.open_file(source).read_all()

    def trim(self, needed_from_ms: int, keep: frozenset[str]) -> None:
        """Delete batches with nothing at or after a time; those of the streams in `keep` stay.

        The newest batch of each stream stays, since it says which batches have been taken.
        """
        with self._lock:
            newest = {entry.stream: entry.batch for entry in self._entries.values()}
            old = [
                file
                for file, entry in self._entries.items()
                if entry.last_ms < needed_from_ms and entry.stream not in keep and entry.batch != newest[entry.stream]
            ]
            for file in old:
                file.unlink()
                del self._entries[file]

    def _read_entry(self, file: Path) -> LogEntry:
        try:
            with pa.memory_map(str(file)) as source:
                return LogEntry(**json.loads(pa.ipc.open_file(source).schema.metadata[_KEY]))
        except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
            raise InputError("is not a batch of a Freshet checkpoint, or is damaged", file=str(file)) from error


def last_time(table: pa.Table) -> int:
    """The largest event time in an encoded batch."""
    times = table.column("time").to_numpy()
    return int(np.max(times)) if len(times) else -(2**62)
