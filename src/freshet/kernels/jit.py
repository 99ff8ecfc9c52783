"""The one place that says how kernels are compiled, and where what is compiled is kept."""

import hashlib
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba

_UNUSED_DAYS = 14


def _cache_folder():
    """A folder of its own for each state of the kernels' sources.

    Numba looks at the file of a function, not at those of the functions that it calls: with one folder for all it would
    run old code after a change, or fail to read what it wrote.
    """
    here = Path(__file__).parent
    sources = hashlib.sha256()
    for file in sorted(here.glob("*.py")):
        sources.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    folder = here / "__pycache__" / f"compiled-{sources.hexdigest()[:16]}"
    if not folder.exists():
        _remove_unused(folder.parent)
    return str(folder)


def _remove_unused(parent):
    """Remove what was compiled of sources that nobody has used for long."""
    with suppress(OSError):
        for folder in parent.glob("compiled-*"):
            if folder.stat().st_mtime < time.time() - _UNUSED_DAYS * 86_400:
                shutil.rmtree(folder, ignore_errors=True)


_FOLDER = _cache_folder()


def _compiler(**options):
    """A decorator. Whoever sets NUMBA_CACHE_DIR has that; other users of Numba in the process keep what they have."""

    def compiled(function):
        settings: Any = numba.config
        before = settings.CACHE_DIR
        settings.CACHE_DIR = before or _FOLDER
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        finally:
            settings.CACHE_DIR = before

    return compiled


# cache: compiled code survives the process; nogil: other threads run on while a kernel does.
# Python decides the types once per call, so arrays are always C-contiguous int64/float64/uint8 where it can be helped:
# every further signature is compile time that a user waits for.
njit = _compiler()

# For small functions called in the innermost loops: an array is nine arguments of a call, which can cost more than what
# the function does.
inlined = _compiler(inline="always")

# For functions that read and write the arrays they are given, and neither make nor give back any: without the counts of
# references, which Numba otherwise keeps on every way in and out, with atomic operations that cost more than the work.
leaf = _compiler(_nrt=False)
