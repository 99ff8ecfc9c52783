"""Lines that were counted from the middle of a file, counted from its start when that is asked for.

Spark reads a large file in parts. A part that begins at a byte has the lines that begin after the first line end from
that byte on.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from freshet.rdf.deadline import current
from freshet.sources.texts import line_ends

_PART = re.compile(r"(\S+)#B([0-9]+)L([0-9]+)")
_BLOCK = 4 << 20
_MOST = 1024  # parts that are remembered


class _First(NamedTuple):
    """Where the first line of a part begins, and how many lines are before it."""

    place: int
    before: int


_Key = tuple[str, int, int]  # path, size and time of modification
_LOCK = Lock()
_KNOWN: OrderedDict[tuple[_Key, int], _First] = OrderedDict()


def with_whole_lines(record: str) -> str:
    """Records of files by the numbers of their lines, where they have numbers within a part. The file alone where it is
    not there any more, or on no disk of this machine.

    >>> with_whole_lines("file:/none/here.csv#B134217728L5"), with_whole_lines("file:/data/a.csv#L7")
    ('file:/none/here.csv', 'file:/data/a.csv#L7')
    """
    return _PART.sub(_with_line, record)


def _with_line(match: re.Match[str]) -> str:
    file, start, number = match[1], int(match[2]), int(match[3])
    parts = urlsplit(file)
    if parts.scheme != "file" or parts.netloc:
        return file
    try:
        before = _first_line(Path(unquote(parts.path)), start).before
    except OSError:
        return file
    return f"{file}#L{before + number}"


def _first_line(path: Path, start: int) -> _First:
    status = path.stat()
    key = os.fspath(path), status.st_size, status.st_mtime_ns
    with _LOCK:
        earlier = [(at, known) for (of, at), known in _KNOWN.items() if of == key and at <= start]
    _, known = max(earlier, default=(0, _First(0, 0)))
    if start < known.place:  # one line, or a part of one, is all that is between the two
        return known
    found = _count(path, start, known)
    with _LOCK:
        _KNOWN[key, start] = found
        if len(_KNOWN) > _MOST:
            _KNOWN.popitem(last=False)
    return found


def _count(path: Path, start: int, known: _First) -> _First:
    """The first line of a part, counted on from an earlier one."""
    deadline = current()
    at, before = known
    with path.open("rb") as stream:
        stream.seek(at)
        while block := stream.read(_BLOCK):
            deadline.check()
            if len(block) > 1 and block.endswith(b"\r"):  # what follows may be of the same line end
                block = block[:-1]
                stream.seek(-1, os.SEEK_CUR)
            ends = line_ends(block) + at
            some = int(ends.searchsorted(start, "right"))
            if some < ends.size:
                return _First(int(ends[some]), before + some + 1)
            before += ends.size
            at += len(block)
    return _First(at, before)
