"""Measurements of memory: each in a process of its own, so that nothing is left over from another."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")

_PAGE = os.sysconf("SC_PAGE_SIZE")


def in_child(function: Callable[..., Found], *arguments: object) -> Found:
    """What a function of a module gives, called in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def resident_bytes() -> int:
    """The memory of this process that is in use now: what was freed goes back to the system first."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
