"""Files as arrays: mapped, so that opening reads nothing, and what a query touches is read then. And room reserved."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import weakref
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

AnyNumber = TypeVar("AnyNumber", bound=np.generic)

_MAP_FIXED = 0x10  # the same on Linux and macOS; the module mmap does not have it
_NORESERVE = 0x4000 if sys.platform == "linux" else 0x40  # which the module mmap has from Python 3.13 on
_PRIVATE = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", _NORESERVE)
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value


def map_file(file: Path | int, kind: type[AnyNumber], room: int = 0) -> NDArray[AnyNumber]:
    """A file's content, with room for more bytes after it. Writing copies the page; the file stays.

    The file's content should not be written to; but read-only arrays are a type of their own to Numba, for which every
    kernel would be compiled once more. The system gives memory to the pages that are written to, not to the room.
    Python's own mmap cannot put a file at the start of a larger map. A file that is open may be given by its number.
    """
    if isinstance(file, Path):
        with file.open("rb") as opened:
            return map_file(opened.fileno(), kind, room)
    size = os.fstat(file).st_size
    if not size + room:
        return np.empty(0, kind)
    memory = _room(size + room)
    if size:
        access = mmap.PROT_READ | mmap.PROT_WRITE
        _mmap(ctypes.addressof(memory), size, access, _PRIVATE | _MAP_FIXED, file)
    return np.frombuffer(memoryview(memory), kind, count=(size + room) // np.dtype(kind).itemsize)


def reserve_array(count: int, kind: type[AnyNumber]) -> NDArray[AnyNumber] | None:
    """Room for `count` numbers, all 0, which takes memory where it is written to; None where the system refuses."""
    size = count * np.dtype(kind).itemsize
    try:
        return np.frombuffer(memoryview(_room(size)), kind)
    except OSError:  # it may count what is reserved, or limit it
        return None


def _room(size: int) -> ctypes.Array[ctypes.c_uint8]:
    whole = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    address = _mmap(None, whole, mmap.PROT_READ | mmap.PROT_WRITE, _PRIVATE | mmap.MAP_ANONYMOUS, -1)
    memory = (ctypes.c_uint8 * size).from_address(address)
    # not when the process ends: threads may still read it then
    weakref.finalize(memory, _LIBC.munmap, address, whole).atexit = False
    return memory


def is_mapped(array: NDArray[AnyNumber]) -> bool:
    """Whether an array, or a view of one, is a file's content, or reserved."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return isinstance(base, ctypes.Array)


def _mmap(address: int | None, size: int, access: int, flags: int, file: int) -> int:
    found = _LIBC.mmap(address, size, access, flags, file, 0)
    if found == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(found)
