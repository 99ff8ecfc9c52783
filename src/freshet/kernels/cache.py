"""Compiled kernels on the disk: a file for each function and signature, which any number of processes read and write.

Numba's own cache numbers the files of a function and keeps an index beside them, so two processes that fill it at once
can give one number to two signatures. Here a file is named by everything that its content depends on and appears whole:
no index, no lock, nothing to merge. Clones with the same kernels share it.
"""

import hashlib
import os
import pickle
import shutil
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

import llvmlite
import numba
from numba.core.caching import _Cache
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from freshet.cache_folder import cache_folder
from freshet.kernels.library import rebuild_inner, rebuild_outer, reduce_inner, reduce_outer

_UNUSED_DAYS = 14


def _kernels_folder() -> Path:
    """A folder for each state of the kernels' sources, of Numba and of Python.

    A function's code contains that of the functions it calls, so a change anywhere makes all of it anew.
    """
    state = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        state.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    state.update(f"{numba.__version__} {llvmlite.__version__} {sys.version}".encode())
    return cache_folder() / "kernels" / state.hexdigest()[:20]


FOLDER = _kernels_folder()


def _remove_unused():
    """Remove what was compiled of sources that have not been used for two weeks."""
    with suppress(OSError):
        for folder in FOLDER.parent.iterdir():
            if folder.stat().st_mtime < time.time() - _UNUSED_DAYS * 86_400:
                shutil.rmtree(folder, ignore_errors=True)


def _open_folder():
    """Make the folder, or note that it is in use."""
    if FOLDER.exists():
        with suppress(OSError):
            os.utime(FOLDER)
    else:
        FOLDER.mkdir(parents=True, exist_ok=True)
        _remove_unused()


class KernelCache(_Cache):
    """What Numba asks for compiled code of one function and gives it to."""

    _opened = False
    _kind = "outer"

    def __init__(self, function):
        self._name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"

    @property
    def cache_path(self):
        return str(FOLDER)

    def _file(self, signature, codegen):
        key = f"{self._kind} {self._name} {signature} {codegen.magic_tuple()}"
        return FOLDER / f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:20]}"

    def load_overload(self, signature, target_context):
        """The compiled code of a signature, or None.

        Numba would first register the implementations of all that kernels may call, a fifth of a second that only a
        compilation needs; it does so again before one. Its runtime must be up.
        """
        rtsys.initialize(target_context)
        try:
            data = self._file(signature, target_context.codegen()).read_bytes()
        except OSError:
            return None
        try:
            return self._rebuild(target_context, pickle.loads(data))
        except (EOFError, pickle.UnpicklingError, TypeError, ValueError, AttributeError, ImportError):
            return None  # damaged: it is compiled again and replaced

    def save_overload(self, signature, compiled):
        if compiled.lifted or compiled.library.has_dynamic_globals:
            return
        file = self._file(signature, compiled.codegen)
        try:
            if not KernelCache._opened:
                _open_folder()
                KernelCache._opened = True
            _write_whole(file, dumps(self._reduce(compiled)))
        except OSError as problem:
            warnings.warn(f"compiled kernels cannot be kept in {FOLDER}: {problem}", RuntimeWarning, stacklevel=2)

    def _reduce(self, compiled):
        return reduce_outer(compiled)

    def _rebuild(self, context, parts):
        return rebuild_outer(context, *parts)

    def enable(self):
        pass

    def disable(self):
        pass

    def flush(self):
        pass


class InnerCache(KernelCache):
    """The same for calls by other kernels."""

    _kind = "inner"

    def _reduce(self, compiled):
        return reduce_inner(compiled)

    def _rebuild(self, context, parts):
        return rebuild_inner(context, *parts)


def _write_whole(file, data):
    """Write a file that other processes see whole or not at all."""
    handle, part = tempfile.mkstemp(dir=file.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        os.replace(part, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
