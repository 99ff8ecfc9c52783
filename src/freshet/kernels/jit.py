"""How kernels are compiled: the decorators. What Numba does not document is in `numba_internals.py`."""

import os
from functools import cached_property
from typing import Any

import numba
from numba.core import types

from freshet.kernels.cache import InnerCache, KernelCache
from freshet.kernels.numba_internals import Dispatcher, InnerCompiler, OuterCompiler

_settings: Any = numba.config

# A file that gets a line for every kernel and signature that Python calls: what `freshet warm` must know.
_RECORD = os.environ.get("FRESHET_RECORD_KERNELS")


def _record(kernel, arguments):
    from freshet.kernels.signatures import show_call

    with open(str(_RECORD), "a") as file:
        file.write(show_call(kernel, arguments) + "\n")


class Inner(Dispatcher):
    """A function that kernels call, compiled for the types that they give it."""

    def __init__(self, function, options):
        super().__init__(function, {**options, "no_cpython_wrapper": True}, InnerCompiler, InnerCache(function))

    def compile(self, sig):
        """Numba sets up timers before it looks whether there is anything to compile: at every call in a kernel."""
        existing: Any = self.overloads.get(tuple(sig))
        return super().compile(sig) if existing is None else existing.entry_point

    def get_call_template(self, args, kws):
        """Numba would compile a function again for each constant that kernels pass to it; LLVM inlines as well."""
        return super().get_call_template(
            [types.unliteral(each) for each in args], {name: types.unliteral(each) for name, each in kws.items()}
        )


class Kernel(Dispatcher):
    """A function that Python and kernels call, compiled for the types that they give it, or loaded."""

    def __init__(self, function, options):
        super().__init__(function, options, self._compile_outer, KernelCache(function))

    @cached_property
    def _inner(self):
        """Made when something is compiled: to load what Python calls takes none."""
        return Inner(self.py_func, self.targetoptions)

    def _compile_outer(self, *state):
        return OuterCompiler(self._inner, *state)

    def get_call_template(self, args, kws):
        return self._inner.get_call_template(args, kws)

    def get_overload(self, sig):
        return self._inner.get_overload(sig)

    def on_new_types(self, kinds):
        if _RECORD:
            _record(self, kinds)


def _compiler(**options):
    """A decorator. Functions whose name begins with an underscore are called by other kernels only."""

    def compiled(function):
        if _settings.DISABLE_JIT:
            return function
        kind = Inner if function.__name__.startswith("_") else Kernel
        return kind(function, {"nopython": True, "nogil": True, "no_cfunc_wrapper": True, **options})

    return compiled


# nogil: other threads run on while a kernel does.
# Python decides the types once per call, so arrays are always C-contiguous int64/float64/uint8 where it can be helped:
# every further signature is compile time that a user waits for.
njit = _compiler()

# For small functions called in the innermost loops: an array is nine arguments of a call, which can cost more than what
# the function does.
inlined = _compiler(inline="always")

# For functions that read and write the arrays they are given, and neither make nor give back any: without the counts of
# references, which Numba otherwise keeps on every way in and out, with atomic operations that cost more than the work.
leaf = _compiler(_nrt=False)
