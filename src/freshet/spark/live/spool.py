"""What a peer has sent and Spark has not committed yet, on disk: a numbered log of documents.

Peers that cannot be asked for the same data twice (a TCP server, an MQTT broker once a message is acknowledged) are
read into a spool first. The numbers are the offsets that Spark keeps in its checkpoint, so that a batch that has to be
read again is the same batch.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from freshet.rdf.errors import InputError

SCHEMA = pa.schema([("line", pa.string()), ("file", pa.string()), ("arrived", pa.int64()), ("token", pa.string())])
_SEGMENT_BYTES = 16 << 20
_LOCK_SECONDS = 60.0


class Segment(NamedTuple):
    """A file of documents: the number of its first, and how many are whole."""

    path: str
    first: int
    documents: int


class Document(NamedTuple):
    """A text, where it came from, when (ms), and by what its sender would name it if it came again."""

    line: str
    file: str
    arrived: int
    token: str = ""


class Spool:
    """A folder of segments. One process writes; `append` returns when the documents are on the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._held = _lock(folder / "lock")
        self._guard = threading.Lock()
        self._segments = [_scan(path) for path in sorted(folder.glob("*.documents"))]
        self._file: BinaryIO | None = None
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    @property
    def end(self) -> int:
        """The number that the next document gets."""
        with self._guard:
            return self._end()

    def _end(self) -> int:
        return self._segments[-1].first + self._segments[-1].documents if self._segments else 0

    def append(self, documents: list[Document]) -> None:
        """Add documents; they are there after a crash once this returns."""
        batch = pa.RecordBatch.from_arrays(
            [pa.array(column, field.type) for column, field in zip(zip(*documents, strict=True), SCHEMA, strict=True)],
            schema=SCHEMA,
        )
        if self._writer is None or self._file is None or self._file.tell() > _SEGMENT_BYTES:
            self._begin_segment()
        assert self._writer is not None
        assert self._file is not None
        try:
            self._writer.write_batch(batch)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            # Perhaps half of it is there: nothing more may be written behind it.
            with suppress(OSError):
                self._file.close()
            self._writer = self._file = None
            raise
        with self._guard:
            last = self._segments[-1]
            self._segments[-1] = last._replace(documents=last.documents + len(documents))

    def _begin_segment(self) -> None:
        """A new file: what a crash has torn off at the end of the last one is never written over."""
        self._end_segment()
        first = self.end
        path = self._folder / f"{first:015d}.documents"
        self._file = path.open("wb")
        self._writer = pa.ipc.new_stream(self._file, SCHEMA)
        with self._guard:
            # A segment without a whole document has the same first number, and so the same name.
            self._segments = [each for each in self._segments if each.documents]
            self._segments.append(Segment(str(path), first, 0))

    def _end_segment(self) -> None:
        """What is whole is on the disk already: that the end cannot be written, as on a full disk, does not matter."""
        writer, file, self._writer, self._file = self._writer, self._file, None, None
        with suppress(OSError):
            if writer is not None:
                writer.close()
        with suppress(OSError):
            if file is not None:
                file.close()

    def between(self, start: int, end: int) -> list[Segment]:
        """The segments with documents from one number up to another."""
        with self._guard:
            return [each for each in self._segments if each.first < end and each.first + each.documents > start]

    def trim(self, before: int) -> None:
        """Let go of segments all of whose documents are committed. The newest stays: its name says how far it went."""
        with self._guard:
            done = [each for each in self._segments[:-1] if each.first + each.documents <= before]
            self._segments = [each for each in self._segments if each not in done]
        for segment in done:
            Path(segment.path).unlink(missing_ok=True)

    def tokens(self) -> list[str]:
        """The tokens of the documents that are still here, oldest first."""
        found: list[str] = []
        for segment in self.between(0, self.end):
            for batch in _batches(segment):
                found += batch.column("token").to_pylist()
        return found

    def close(self) -> None:
        self._end_segment()
        os.close(self._held)


def read_documents(segments: list[Segment], start: int, end: int) -> Iterator[pa.RecordBatch]:
    """The documents from one number up to another, without their tokens."""
    for segment in segments:
        at = segment.first
        for batch in _batches(segment):
            first, last = max(start, at), min(end, at + len(batch))
            if first < last:
                yield batch.slice(first - at, last - first).select(["line", "file", "arrived"])
            at += len(batch)


def _batches(segment: Segment) -> Iterator[pa.RecordBatch]:
    """The whole batches of a segment. The file may be longer by now, or end in what a crash has torn off."""
    read = 0
    with open(segment.path, "rb") as file, pa.ipc.open_stream(file) as stream:
        while read < segment.documents:
            batch = stream.read_next_batch()
            read += len(batch)
            yield batch


def _scan(path: Path) -> Segment:
    """A segment of an earlier run: its documents up to the first that is not whole."""
    try:
        first, count = int(path.stem), 0
    except ValueError:
        raise InputError("is not a part of a spool", file=str(path)) from None
    try:
        with path.open("rb") as file, pa.ipc.open_stream(file) as stream:
            while True:
                count += len(stream.read_next_batch())
    except (StopIteration, pa.ArrowInvalid, OSError):
        return Segment(str(path), first, count)


def _lock(path: Path) -> int:
    """Hold a spool for this process; a run that was killed may need a moment to release it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(handle)
                raise InputError("another run reads this stream into the same checkpoint", file=str(path)) from None
            time.sleep(0.05)
