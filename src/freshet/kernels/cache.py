"""Compiled kernels on the disk: a file for each function and signature, which any number of processes read and write.

Numba's own cache numbers the files of a function and keeps an index beside them, so two processes that fill it at once
can give one number to two signatures. Here a file is named by everything that its content depends on and appears whole:
no index, no lock, nothing to merge. Clones share what is the same in them.
"""

import hashlib
import os
import pickle
import re
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import llvmlite
import numba

from freshet.cache_folder import cache_folder
from freshet.kernels import prebuilt
from freshet.kernels.numba_internals import (
    OverloadCache,
    dumps,
    rebuild_inner,
    rebuild_outer,
    reduce_inner,
    reduce_outer,
    start_runtime,
)

_UNUSED_DAYS = 14
_DAY = 86_400

_KERNELS = Path(__file__).parent
_NO_PART_OF_CODE = frozenset(["cache", "prebuilt", "signatures"])  # where compiled code is, not what it is
_IMPORT = re.compile(rb"^[ \t]*from freshet\.kernels(?:\.(\w+) import|[ ]import ([\w, ]+)$)", re.MULTILINE)


def _versions_folder() -> Path:
    """A folder for each version of Numba, of LLVM and of Python."""
    versions = f"{numba.__version__} {llvmlite.__version__} {sys.version}"
    return cache_folder() / "kernels" / hashlib.sha256(versions.encode()).hexdigest()[:20]


FOLDER = _versions_folder()


@cache
def _imports(module: str) -> tuple[bytes, frozenset[str]]:
    """The source of a module of kernels, and the modules of kernels that it imports."""
    try:
        text = (_KERNELS / f"{module}.py").read_bytes()
    except FileNotFoundError:  # a kernel of a test
        return b"", frozenset(["jit"])
    names = [one or several for one, several in _IMPORT.findall(text)]
    return text, frozenset(name.strip().decode() for each in names for name in each.split(b","))


@cache
def source_state(module: str) -> str:
    """A digest of a module of kernels and of all that it imports.

    The code of a function contains that of the functions it calls, so a change in one of these modules makes it anew.
    """
    state, waiting, found = hashlib.sha256(), [module], {module}
    while waiting:
        for name in _imports(waiting.pop())[1] - found - _NO_PART_OF_CODE:
            found.add(name)
            waiting.append(name)
    for name in sorted(found):
        state.update(name.encode() + b"\0" + _imports(name)[0] + b"\0")
    return state.hexdigest()[:20]


def _remove_unused():
    """Remove what has not been loaded for two weeks."""
    with suppress(OSError):
        for file in FOLDER.parent.glob("*/*"):
            if file.stat().st_mtime < time.time() - _UNUSED_DAYS * _DAY:
                file.unlink(missing_ok=True)


def _note_use(file):
    """Keep the time of a file's last use, to the day."""
    with suppress(OSError):
        if file.stat().st_mtime < time.time() - _DAY:
            os.utime(file)


class KernelCache(OverloadCache):
    """What Numba asks for compiled code of one function and gives it to."""

    _opened = False
    _kind = "outer"

    def __init__(self, function):
        self._module = function.__module__.rpartition(".")[2]
        self._name = f"{self._module}.{function.__qualname__}"

    @property
    def cache_path(self):
        return str(FOLDER)

    def file_name(self, signature, code_generation):
        """The name of a signature's file: it differs wherever the compiled code could."""
        key = f"{self._kind} {self._name} {source_state(self._module)} {signature} {code_generation}"
        return f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:20]}"

    def load_overload(self, signature, target_context):
        """The compiled code of a signature, or None.

        Numba would first register the implementations of all that kernels may call, a fifth of a second that only a
        compilation needs; it does so again before one. Its runtime must be up.
        """
        start_runtime(target_context)
        data = self._cached(signature, target_context.codegen()) or self._prebuilt(signature)
        if data is None:
            return None
        try:
            return self._rebuild(target_context, pickle.loads(data))
        except (EOFError, pickle.UnpicklingError, TypeError, ValueError, AttributeError, ImportError):
            return None  # damaged: it is compiled again and replaced

    def _cached(self, signature, codegen):
        """The file of the user's cache: compiled for the processor at hand."""
        file = FOLDER / self.file_name(signature, codegen.magic_tuple())
        try:
            data = file.read_bytes()
        except OSError:
            return None
        _note_use(file)
        return data

    def _prebuilt(self, signature):
        """The file that came with the package."""
        target = prebuilt.usable_target()
        if target is None:
            return None
        try:
            return (prebuilt.FOLDER / self.file_name(signature, target.code_generation)).read_bytes()
        except OSError:
            return None

    def save_overload(self, signature, compiled):
        if compiled.lifted or compiled.library.has_dynamic_globals:
            return
        file = FOLDER / self.file_name(signature, compiled.codegen.magic_tuple())
        try:
            if not KernelCache._opened:
                FOLDER.mkdir(parents=True, exist_ok=True)
                _remove_unused()
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
