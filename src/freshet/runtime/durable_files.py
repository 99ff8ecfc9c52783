"""Files that are whole or not there, with checksums that show damage, and the lock on a checkpoint's folder."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from freshet.rdf.errors import InputError

_BLOCK_BYTES = 1 << 20


class CheckpointError(InputError):
    """What is to be kept cannot be written. What was acknowledged before is on the disk."""

    exit_status = 1  # the run failed; its input may be right


class DamagedError(InputError):
    """A file of a checkpoint is not as it was written."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that does not change any more, as a manifest names it."""

    name: str
    size: int
    checksum: str

    def read(self, folder: Path) -> bytes:
        """The file's bytes; an error that names it where they are not those that were written."""
        file = folder / self.name
        with reading(file):
            data = file.read_bytes()
        if len(data) != self.size:
            message = f"a file of the checkpoint is damaged: it has {len(data)} bytes, {self.size} were written"
            raise DamagedError(message, file=str(file))
        if checksum(data) != self.checksum:
            raise DamagedError("a file of the checkpoint is damaged: its checksum is another", file=str(file))
        return data

    def check(self, folder: Path) -> None:
        """As `read`, a piece at a time."""
        file = folder / self.name
        if not file.is_file() or file.stat().st_size != self.size:
            self.read(folder)  # says what is wrong
        with reading(file), file.open("rb") as opened:
            if _checksum_of(opened) != self.checksum:
                raise DamagedError("a file of the checkpoint is damaged: its checksum is another", file=str(file))


def checksum(data: bytes | memoryview) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _checksum_of(opened: BinaryIO) -> str:
    digest = hashlib.blake2b(digest_size=16)
    while block := opened.read(_BLOCK_BYTES):
        digest.update(block)
    return digest.hexdigest()


def write_whole(folder: Path, name: str, data: bytes | memoryview) -> StoredFile:
    """Write a file that is there with all its bytes, also after a loss of power, or not at all."""
    file = folder / name
    unfinished = file.with_name(f"{name}.unfinished")
    with writing(file):
        try:
            with unfinished.open("wb") as opened:
                opened.write(data)
                opened.flush()
                os.fsync(opened.fileno())
            unfinished.rename(file)
            sync_folder(folder)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
    return StoredFile(name, len(data), checksum(data))


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """Errors of the system become one line that names the file."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(f"the checkpoint cannot be written: {error.strerror}", file=str(file)) from error


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """A file that is not there, or that the system does not let us read, is a damaged one."""
    try:
        yield
    except FileNotFoundError:
        raise DamagedError("a file of the checkpoint is missing", file=str(file)) from None
    except OSError as error:
        raise DamagedError(f"a file of the checkpoint cannot be read: {error.strerror}", file=str(file)) from None


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or "it is a file"
        raise InputError(f"the checkpoint folder cannot be made: {reason}", file=str(folder)) from error


def sync_folder(folder: Path) -> None:
    """Names in a folder are on the disk when this returns."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class FolderLock:
    """Keeps a second process away. The system takes the lock back when the process ends, however it does."""

    def __init__(self, folder: Path) -> None:
        file = folder / "lock"
        try:
            self._file = file.open("ab")  # closed at the latest when it is garbage
        except OSError as error:
            message = f"the checkpoint folder cannot be written to: {error.strerror}"
            raise InputError(message, file=str(folder)) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise InputError("another process uses this checkpoint folder", file=str(folder)) from None

    def release(self) -> None:
        self._file.close()
