"""The kernels that Python calls, with the types of their arguments, as `signatures.txt` lists them.

With the list everything can be compiled ahead, on all cores. It is made by `tools/list-kernels` of what runs recorded
while `FRESHET_RECORD_KERNELS` named a file.
"""

import hashlib
import importlib
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import types

from freshet.kernels.cache import FOLDER, source_state
from freshet.kernels.prebuilt import usable_target

_LIST = Path(__file__).with_name("signatures.txt")

# What a section's kernels are needed for; each needs those before it as well.
SECTIONS = ("session", "run", "all")

_SCALARS = {
    types.int64: "i8", types.int32: "i4", types.int16: "i2", types.int8: "i1", types.uint64: "u8", types.uint32: "u4",
    types.uint16: "u2", types.uint8: "u1", types.float64: "f8", types.float32: "f4", types.boolean: "b1",
    types.none: "none",
}  # fmt: skip


def show_call(kernel, arguments):
    """One line of the list.

    >>> import numpy as np
    >>> from freshet.kernels.hashing import xxh64
    >>> show_call(xxh64, (types.uint8[::1], types.int64, types.int64))
    'hashing.xxh64(u1[::1], i8, i8)'
    """
    module = kernel.py_func.__module__.rpartition(".")[2]
    return f"{module}.{kernel.py_func.__name__}({', '.join(map(_show, arguments))})"


def _show(kind: Any) -> str:
    if isinstance(kind, types.Array) and kind.layout in "CA" and kind.aligned:
        steps = [":"] * kind.ndim
        if kind.layout == "C":
            steps[-1] = "::1"
        array = f"{_SCALARS[kind.dtype]}[{', '.join(steps)}]"
        return array if kind.mutable else f"readonly({array})"
    if hasattr(kind, "types"):
        members = ", ".join(map(_show, kind.types))
        named = hasattr(kind, "fields")
        return f"{_class_name(kind.instance_class)}({members})" if named else f"tuple({members})"
    return _SCALARS[kind]


def _class_name(named):
    return f"{named.__module__.rpartition('.')[2]}.{named.__name__}"


class _Module:
    """What a line's names stand for: a kernel or the type of a named tuple."""

    def __init__(self, name):
        self._module = importlib.import_module(f"freshet.kernels.{name}")

    def __getattr__(self, name):
        found = getattr(self._module, name)
        if isinstance(found, type):
            return lambda *members: types.BaseTuple.from_types(members, found)
        return lambda *arguments: (found, arguments)


class _Names(dict[str, Any]):
    def __missing__(self, name):
        return _Module(name)


def read_call(line):
    """The kernel and argument types of a line of the list: `show_call` backwards."""
    names = _Names({name: kind for kind, name in _SCALARS.items()})
    names["readonly"] = lambda array: array.copy(readonly=True)
    names["tuple"] = lambda *members: types.BaseTuple.from_types(members)
    return eval(line, {"__builtins__": {}}, names)


@cache
def listed(section: str = "all") -> tuple[str, ...]:
    """The lines of a section and of those before it, those that take longest to compile first."""
    lines: list[str] = []
    current, wanted = "", SECTIONS[: SECTIONS.index(section) + 1]
    for line in _LIST.read_text().splitlines():
        if line.startswith("["):
            current = line.strip("[]")
        elif line and not line.startswith("#") and current in wanted:
            lines.append(line)
    return tuple(lines)


@cache
def section_state(section: str) -> str:
    """A digest of a section's lines and of the sources that their kernels are compiled from."""
    lines = listed(section)
    modules = sorted({line.partition(".")[0] for line in lines})
    return hashlib.sha256("\n".join([*lines, *map(source_state, modules)]).encode()).hexdigest()[:20]


def compile_call(line: str) -> None:
    """Compile a line's kernel, unless that was done before."""
    kernel, arguments = read_call(line)
    kernel.compile(arguments)


def name_of_file(line: str, code_generation: tuple[str, str, str]) -> str:
    """The name of the file that the compiled code of a line is in."""
    kernel, arguments = read_call(line)
    return str(kernel._cache.file_name(arguments, code_generation))


def is_warm(section: str) -> bool:
    """Whether `freshet warm` has been through a section with these sources, or the package came with all of it."""
    target = usable_target()
    if target is not None and target.sections.get(section) == section_state(section):
        return True
    return _mark(section).exists()


def mark_warm(section: str) -> None:
    """Note that all of a section is compiled."""
    for each in SECTIONS[: SECTIONS.index(section) + 1]:
        _mark(each).touch()


def _mark(section: str) -> Path:
    return FOLDER / f".warm-{section}-{section_state(section)}"
