"""Files as arrays: mapped, so that opening reads nothing, and what a query touches is read then."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

AnyNumber = TypeVar("AnyNumber", bound=np.generic)

_MAP_FIXED = 0x10  # the same on Linux and macOS; the module mmap does not have it
_MAP_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0)
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value


def mapped(path: Path, kind: type[AnyNumber]) -> NDArray[AnyNumber]:
    """A file's content, which nobody may write to."""
    if not path.stat().st_size:
        empty = np.empty(0, kind)
        empty.flags.writeable = False
        return empty
    return np.memmap(path, kind, mode="r").view(np.ndarray)


def mapped_with_room(path: Path, kind: type[AnyNumber], room: int) -> NDArray[AnyNumber]:
    """A file's content with room for so many bytes after it. Who writes has a copy of the page; the file stays as it is.

    The system gives memory to the pages that are written to, not to the room. Python's own mmap cannot put a file at the
    start of a larger map.
    """
    size = path.stat().st_size
    whole = -(-(size + room) // mmap.PAGESIZE) * mmap.PAGESIZE
    access = mmap.PROT_READ | mmap.PROT_WRITE
    address = _mmap(None, whole, access, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE, -1)
    memory = (ctypes.c_uint8 * (size + room)).from_address(address)
    weakref.finalize(memory, _LIBC.munmap, address, whole)
    if size:
        with path.open("rb") as file:
            _mmap(address, size, access, mmap.MAP_PRIVATE | _MAP_FIXED, file.fileno())
    return np.frombuffer(memory, kind, count=(size + room) // np.dtype(kind).itemsize)


def _mmap(address: int | None, size: int, access: int, flags: int, file: int) -> int:
    found = _LIBC.mmap(address, size, access, flags, file, 0)
    if found == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(found)
