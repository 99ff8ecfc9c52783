"""Arrays that begin where a line of the processor's cache begins.

Rows of 32 or 64 bytes then lie in one line each. Where an array begins in the middle of one, as most of NumPy's do,
every look at a row of 64 bytes waits for two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_LINE = 64


def aligned(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array of zeros."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    array: NDArray[Any] = memory[start : start + size].view(dtype).reshape(shape)
    return array
