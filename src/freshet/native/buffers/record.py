"""What kernels know of a buffer: where its arrays are (`freshet.kernels.records`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def address_of(array: NDArray[Any]) -> int:
    """Where the contents of an array begin."""
    address: int = array.__array_interface__["data"][0]
    return address


class Record:
    """Numbers that stay where they are. Its owner keeps the arrays alive whose addresses are in it."""

    __slots__ = ("_numbers", "address", "fields")

    def __init__(self, fields: int) -> None:
        self._numbers = np.zeros(fields, np.int64)
        self.address = address_of(self._numbers)
        self.fields = self._numbers.data  # single numbers are read and written through it in half the time

    def point(self, field: int, array: NDArray[Any]) -> None:
        """Write down where an array is."""
        assert array.flags.c_contiguous, "kernels count on it"
        self.fields[field] = address_of(array)
