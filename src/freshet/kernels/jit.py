"""The one place that says how kernels are compiled. With `cache.py` the only one that knows Numba's inner classes."""

import os
from typing import Any

import numba
from numba.core import types
from numba.core.registry import CPUDispatcher

from freshet.kernels.cache import KernelCache

_settings: Any = numba.config

# A file that gets a line for every kernel and signature that Python calls: what `freshet warm` must know.
_RECORD = os.environ.get("FRESHET_RECORD_KERNELS")


def _record(kernel, arguments):
    from freshet.kernels.signatures import show_call

    with open(str(_RECORD), "a") as file:
        file.write(show_call(kernel, arguments) + "\n")


class Kernel(CPUDispatcher):
    """A function that is compiled for the types it is called with, or loaded where that was done before."""

    def __init__(self, function, options):
        super().__init__(function, {}, options)
        self._cache = KernelCache(function)

    def get_call_template(self, args, kws):
        """Numba would compile a function again for each constant that kernels pass to it; LLVM inlines as well."""
        return super().get_call_template(
            [types.unliteral(each) for each in args], {name: types.unliteral(each) for name, each in kws.items()}
        )

    def _compile_for_args(self, *args, **kws):
        if _RECORD:
            _record(self, tuple(map(self.typeof_pyval, args)))
        return super()._compile_for_args(*args, **kws)  # type: ignore[misc]


def _compiler(**options):
    """A decorator. Functions whose name begins with an underscore are called by other kernels only."""

    def compiled(function):
        if _settings.DISABLE_JIT:
            return function
        private = function.__name__.startswith("_")
        return Kernel(
            function,
            {"nopython": True, "nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": private, **options},
        )

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
