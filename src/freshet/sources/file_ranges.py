"""What each task reads: whole files, or ranges of a large one that begin and end with records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from freshet.kernels.csv_records import split_places
from freshet.rml.sources import FileSource
from freshet.sources.files import BLOCK, contents
from freshet.sources.texts import as_bytes

LEAST, MOST = 8 << 20, 64 << 20  # bytes of a range of a file that is cut
_MARK = b"\xef\xbb\xbf"


class FileRange(NamedTuple):
    """A file, or the bytes of it from `start` up to `stop`."""

    file: Path
    start: int = 0
    stop: int | None = None


def range_size(files: list[Path], cores: int) -> int:
    """How much a task should read: several ranges a core, so that none waits long for the last."""
    total = sum(file.stat().st_size for file in files)
    return max(LEAST, min(MOST, total // (4 * cores) + 1))


def line_ranges(file: Path, size: int) -> list[FileRange]:
    """Ranges of a file of lines. A line belongs to the range in which it begins."""
    length = file.stat().st_size
    return [FileRange(file, start, min(start + size, length)) for start in range(0, max(length, 1), size)]


def line_blocks(file_range: FileRange) -> Iterator[bytes]:
    """The lines that begin in a range."""
    assert file_range.stop is not None
    with file_range.file.open("rb") as stream:
        stream.seek(first_line(file_range))
        while (at := stream.tell()) < file_range.stop:
            block = stream.read(min(BLOCK, file_range.stop - at))
            if not block:
                return
            yield block if at else block.removeprefix(_MARK)
        if file_range.stop > file_range.start and stream.tell():
            stream.seek(stream.tell() - 1)
            if stream.read(1) != b"\n":
                while line := stream.readline(BLOCK):
                    yield line
                    if line.endswith(b"\n"):
                        break


def first_line(file_range: FileRange) -> int:
    """Where the first line of a range begins."""
    if not file_range.start:
        return 0
    with file_range.file.open("rb") as stream:
        stream.seek(file_range.start - 1)
        while (piece := stream.readline(BLOCK)) and not piece.endswith(b"\n"):
            pass
        return stream.tell()


def csv_ranges(file: Path, size: int, first: int, marks: tuple[int, int, int], longest: int) -> list[FileRange]:
    """Ranges of a CSV file whose records begin at `first`. Only reading from the start shows where records begin."""
    places = [first]
    length = file.stat().st_size
    buffer, base, target = b"", first, first + size
    found = np.empty(1024, np.int64)
    with file.open("rb") as stream:
        stream.seek(first)
        final = False
        while not final or buffer:
            block = stream.read(BLOCK)
            buffer, final = buffer + block, len(block) < BLOCK
            count, at, goal = split_places(
                as_bytes(buffer), 0, len(buffer), final, longest, *marks, size, target - base, found
            )
            places += [base + int(place) for place in found[:count]]
            buffer, base, target = buffer[at:], base + at, base + goal
            if len(buffer) > longest + BLOCK:
                break  # a line without an end: the last range takes it and what follows
    return [FileRange(file, start, stop) for start, stop in zip(places, [*places[1:], length], strict=True)]


def byte_blocks(file_range: FileRange) -> Iterator[bytes]:
    """The bytes of a range."""
    assert file_range.stop is not None
    with file_range.file.open("rb") as stream:
        stream.seek(file_range.start)
        while (at := stream.tell()) < file_range.stop and (block := stream.read(min(BLOCK, file_range.stop - at))):
            yield block if at else block.removeprefix(_MARK)


def head_of(file: Path, source: FileSource, enough: Callable[[bytes], bool], limit: int) -> bytes:
    """How a file begins: as many blocks as are enough, or as are within the limit."""
    head = b""
    for _, blocks in contents(file, source):
        for block in blocks:
            head += block
            if enough(head) or len(head) > limit:
                break
        break
    return head
