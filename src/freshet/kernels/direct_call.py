"""Kernels that are called without a look at the types of what they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class DirectCall:
    """A kernel whose arguments have the same types at every call, those of the first.

    To find out which compiled code suits the arguments takes Numba longer than a kernel takes for a few rows: some
    0.2 µs for each array. Here that is asked once. Nothing holds arguments of other types back after that, so this is
    for arrays that the caller has made, in one way always: of one type and number of dimensions, and contiguous.
    """

    __slots__ = ("_kernel", "run")

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self.run: Callable[..., Any] = self._first_run  # to be asked for at every call

    def _first_run(self, *arguments: Any) -> Any:
        result = self._kernel(*arguments)
        types = tuple(map(self._kernel.typeof_pyval, arguments))
        compiled = self._kernel.overloads.get(types)
        if compiled is not None:
            self.run = compiled.entry_point
        return result
