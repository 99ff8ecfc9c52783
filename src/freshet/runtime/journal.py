"""A journal: what happened, in order, in files that are only appended to.

An entry is on the disk when `append` returns, and is acted on only after that. Every entry has a checksum, and the head
of a file says how many entries were on the disk for certain. One behind these that is not whole was being written when
the process ended, and its call had not returned; anything else that is not as it was written, or not there any
more, is damage, and what comes after it is set aside.
"""

from __future__ import annotations

import os
import shutil
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from freshet.rdf.errors import InputError
from freshet.rdf.wording import show_count
from freshet.runtime.durable_files import DamagedError, make_folder, reading, sync_folder, writing

Header = dict[str, Any]
Piece = bytes | memoryview  # of bytes

_FRAME = struct.Struct("<4sQIQI")  # mark, sequence, bytes of the header and of the body, checksum of these two
_CHECKSUM = struct.Struct("<I")  # of all of the frame before it
_FRAME_BYTES = _FRAME.size + _CHECKSUM.size
_MARK = b"FRJ1"
_HEAD = struct.Struct("<4sQ")  # mark, entries that are on the disk
_HEAD_BYTES = _HEAD.size + _CHECKSUM.size
_HEAD_MARK = b"HEAD"
_MOST_BYTES = 64 << 20
_SMALL = 1 << 16  # up to this size, pieces are copied together before they are written


@dataclass(frozen=True, slots=True)
class JournalEntry:
    sequence: int
    header: Header
    body: bytes


class Journal:
    """A folder of files, each named by the sequence number of its first entry.

    `recover` comes first, once; then entries may be appended. One thread at a time appends; others may trim.
    """

    def __init__(self, folder: Path, *, sync: bool = True, most_bytes: int = _MOST_BYTES) -> None:
        make_folder(folder)
        self._folder = folder
        self._sync = sync
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._firsts = sorted(int(file.stem) for file in folder.glob("*.log"))
        self._next = 0
        self._descriptor: int | None = None  # of the file that is appended to; the next entry opens one if need be
        self._size = 0

    @property
    def first_sequence(self) -> int:
        """The first entry that is still here."""
        return self._firsts[0] if self._firsts else self._next

    @property
    def next_sequence(self) -> int:
        return self._next

    def recover(self, first: int) -> tuple[list[tuple[int, Header]], str]:
        """The headers of the entries from `first` on that are whole, and what was found to be wrong, else "".

        The journal ends with the last of them then: what is damaged is kept beside it under another name.
        """
        headers: list[tuple[int, Header]] = []
        self._next = first
        try:
            for entry in self.read(first):
                headers.append((entry.sequence, entry.header))
                self._next = entry.sequence + 1
        except _CutShort as found:
            self._cut(found)
            if not found.at_the_end:
                return headers, f"{found.file}: {found.message}"
            return headers, f"{found.file}: the last entry is not whole, and was not acknowledged"
        for later in [name for name in self._firsts if name > self._next]:
            self._set_aside(later)
        return headers, ""

    def drop_from(self, sequence: int) -> None:
        """Set aside the entries from a sequence number on."""
        for first, file in reversed(list(self._files())):
            if first >= sequence:
                self._set_aside(first)
            else:
                with file.open("rb") as opened:
                    place = _HEAD_BYTES
                    for entry, end in _entries(opened, file, last=False):
                        if entry.sequence >= sequence:
                            self._cut(_CutShort("", file, place, sequence - first))
                            break
                        place = end
        self._next = min(self._next, sequence)

    def append(self, header: Header, *body: Piece) -> int:
        """Write an entry; it is on the disk when this returns. Gives its sequence number."""
        text = orjson.dumps(header)
        with self._lock:
            sequence = self._next
            length = sum(map(len, body))
            found = zlib.crc32(text)
            for piece in body:
                found = zlib.crc32(piece, found)
            frame = _FRAME.pack(_MARK, sequence, len(text), length, found)
            frame += _CHECKSUM.pack(zlib.crc32(frame))
            file = self._folder / _name(self._firsts[-1] if self._descriptor is not None else sequence)
            with writing(file):
                try:
                    begin = self._open(sequence) + frame + text
                    size = self._write(*([b"".join((begin, *body))] if length < _SMALL else [begin, *body]))
                except OSError:
                    self._take_back()
                    raise
            self._size += size
            self._next = sequence + 1
            is_full = self._size >= self._most_bytes
            if self._sync or is_full:
                self._note_entries()
            if is_full:
                self._close()
            return sequence

    def rotate(self) -> None:
        """Begin a new file with the next entry; what is in the last one is on the disk then."""
        with self._lock:
            self._bring_to_disk()
            self._close()

    def trim(self, before: int) -> None:
        """Delete files that have no entry from a sequence number on."""
        with self._lock:
            while len(self._firsts) > 1 and self._firsts[1] <= before:
                (self._folder / _name(self._firsts[0])).unlink(missing_ok=True)
                del self._firsts[0]

    def read(self, first: int) -> Iterator[JournalEntry]:
        """The entries from a sequence number on, in order."""
        expected = first
        files = list(self._files())
        for place, (number, file) in enumerate(files):
            if place + 1 < len(files) and files[place + 1][0] <= first:
                continue
            if number > expected:
                raise _CutShort(f"the entries {expected} to {number - 1} before it are missing", file)
            with reading(file), file.open("rb") as opened:
                for entry, _ in _entries(opened, file, last=place + 1 == len(files)):
                    if entry.sequence >= first:
                        expected = entry.sequence + 1
                        yield entry

    def close(self) -> None:
        with self._lock:
            if self._descriptor is not None:
                os.fsync(self._descriptor)
                self._note_entries()
            self._close()

    def sync(self) -> None:
        """Bring entries that were not waited for to the disk."""
        with self._lock:
            self._bring_to_disk()

    # ---- files

    def _bring_to_disk(self) -> None:
        if self._descriptor is not None and not self._sync:
            with writing(self._folder / _name(self._firsts[-1])):
                os.fdatasync(self._descriptor)
                self._note_entries()

    def _note_entries(self) -> None:
        """Say in the head of the file that all its entries are on the disk. That itself comes there with the next."""
        if self._descriptor is not None:
            with suppress(OSError):  # then it says less
                os.pwrite(self._descriptor, _head(self._next - self._firsts[-1]), 0)

    def _files(self) -> Iterator[tuple[int, Path]]:
        for first in self._firsts:
            yield first, self._folder / _name(first)

    def _open(self, sequence: int) -> bytes:
        """See that there is a file to append to; gives what is to stand before the entry."""
        if self._descriptor is not None:
            return b""
        file = self._folder / _name(sequence)
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._size = 0
        if self._firsts[-1:] != [sequence]:
            self._firsts.append(sequence)
        sync_folder(self._folder)
        return _head(0)

    def _write(self, *pieces: Piece) -> int:
        assert self._descriptor is not None
        size = 0
        for piece in pieces:
            view = memoryview(piece)
            size += len(view)
            while len(view):
                view = view[os.write(self._descriptor, view) :]
        if self._sync or self._size + size >= self._most_bytes:  # a full file is not synced later
            os.fdatasync(self._descriptor)
        return size

    def _take_back(self) -> None:
        """Nothing stays of an entry that could not be written; the next one begins a file of its own."""
        if self._descriptor is not None:
            try:
                os.ftruncate(self._descriptor, self._size)
            finally:
                empty, first = self._size == 0, self._firsts[-1]
                self._close()
                if empty:
                    (self._folder / _name(first)).unlink(missing_ok=True)
                    self._firsts.pop()

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _cut(self, found: _CutShort) -> None:
        """End the journal where it is not whole; what damage there is is kept under another name."""
        first = int(found.path.stem)
        with writing(found.path):
            if not found.at_the_end:
                shutil.copyfile(found.path, f"{found.path}.damaged")
            for later in [name for name in self._firsts if name > first]:
                self._set_aside(later)
            if found.entries == 0:
                found.path.unlink()
                self._firsts.remove(first)
            else:
                _truncate(found.path, found.start, found.entries)
            sync_folder(self._folder)

    def _set_aside(self, first: int) -> None:
        file = self._folder / _name(first)
        with writing(file):
            file.rename(f"{file}.damaged")
        self._firsts.remove(first)


class _CutShort(DamagedError):
    """From a place in a file on, after a number of entries, the journal is not whole."""

    def __init__(self, message: str, path: Path, start: int = 0, entries: int = 0, *, at_the_end: bool = False) -> None:
        super().__init__(message, file=str(path))
        self.path = path
        self.start = start
        self.entries = entries
        self.at_the_end = at_the_end


def _entries(opened: BinaryIO, file: Path, *, last: bool) -> Iterator[tuple[JournalEntry, int]]:
    """The entries of a file, each with where it ends."""
    first, place, count = int(file.stem), _HEAD_BYTES, 0
    size = os.fstat(opened.fileno()).st_size
    head = opened.read(_HEAD_BYTES)
    known = _known_entries(head, file)

    def damage(message: str) -> _CutShort:
        return _CutShort(f"damaged: {message}", file, place, count)

    def ends_early() -> _CutShort:
        if count < known or not last:
            entries = show_count(count, "whole entry", "whole entries")
            return damage(f"it ends at byte {size}, with {entries}, and had {known:,} at least")
        return _CutShort("it ends within an entry", file, place, count, at_the_end=True)

    while place < size:
        frame = opened.read(_FRAME_BYTES)
        if len(frame) < _FRAME_BYTES:
            raise ends_early()
        mark, sequence, header, length, wanted = _FRAME.unpack(frame[: _FRAME.size])
        whole = _CHECKSUM.unpack(frame[_FRAME.size :])[0] == zlib.crc32(frame[: _FRAME.size])
        if not whole or mark != _MARK or sequence != first + count:
            raise damage(f"there is no entry at byte {place}")
        if header + length > size - place - _FRAME_BYTES:
            raise ends_early()
        text, body = opened.read(header), opened.read(length)
        if zlib.crc32(body, zlib.crc32(text)) != wanted:
            raise damage(f"the checksum of the entry at byte {place} is another")
        place += _FRAME_BYTES + header + length
        count += 1
        yield JournalEntry(sequence, orjson.loads(text), body), place
    if count < known or size < _HEAD_BYTES:
        raise ends_early()
    if head != _head(known):  # whether entries are missing at the end is unknown
        raise damage("its head is not as it was written")


def _head(entries: int) -> bytes:
    """The head of a file that has a number of entries for certain."""
    head = _HEAD.pack(_HEAD_MARK, entries)
    return head + _CHECKSUM.pack(zlib.crc32(head))


def _known_entries(head: bytes, file: Path) -> int:
    """How many entries the head of a file says that it has, 0 where it is damaged."""
    if head.startswith(_MARK):
        raise InputError("an earlier version of Freshet wrote this journal, in another form", file=str(file))
    if len(head) < _HEAD_BYTES:
        return 0
    _, entries = _HEAD.unpack(head[: _HEAD.size])
    return entries if head == _head(entries) else 0


def _truncate(file: Path, size: int, entries: int) -> None:
    """Cut a file off, on the disk too: else what was cut off might be there again before an entry that comes after."""
    with file.open("r+b") as opened:
        opened.truncate(size)
        opened.write(_head(entries))
        opened.flush()
        os.fsync(opened.fileno())


def _name(first: int) -> str:
    return f"{first:012d}.log"
