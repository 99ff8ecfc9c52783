"""Terms that some query has as a constant at one place of a pattern that queries share."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from freshet.native.buffers.one_way_index import Ids

_FEW = 64


class ConstantFilter:
    """The terms at one place: a leaf keeps the rows of no others."""

    def __init__(self) -> None:
        self._counted: Counter[int] = Counter()
        self._ordered: Ids | None = None

    def add(self, term: int) -> None:
        self._counted[term] += 1
        self._ordered = None

    def remove(self, term: int) -> None:
        self._counted[term] -= 1
        if not self._counted[term]:
            del self._counted[term]
        self._ordered = None

    def __contains__(self, term: int) -> bool:
        return term in self._counted

    def among(self, values: Ids) -> NDArray[np.bool_]:
        """Which values are chosen."""
        if not self._counted:
            return np.zeros(len(values), np.bool_)
        if self._ordered is None and len(values) <= _FEW:  # as when a query is added: the rest need not be sorted anew
            return np.array([value in self._counted for value in values.tolist()], np.bool_)
        if self._ordered is None:
            self._ordered = np.sort(np.fromiter(self._counted, np.int64, len(self._counted)))
        places = np.minimum(np.searchsorted(self._ordered, values), len(self._ordered) - 1)
        return np.asarray(self._ordered[places] == values)
