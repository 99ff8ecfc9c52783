"""Which entry of a local view has a key: an index of most keys, and the latest beside it until they are worth one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.federation.candidates import Ids
from freshet.kernels.joins import BEGIN, build, equal_pairs, number_rows
from freshet.rdf.arrow import read_only

_MOST_BESIDE = 1000


class EntryIndex:
    """Numbers of keys, all different, by their order. It looks at those that came last, not at all, for each answer."""

    def __init__(self) -> None:
        self._keys: Ids = np.empty((0, 0), np.int64)
        self._heads: NDArray[np.int32] = np.empty(0, np.int32)
        self._following: NDArray[np.int32] = np.empty(0, np.int32)

    def numbers(self, keys: Ids, wanted: Ids) -> Ids:
        """The places of some rows, all different, among the keys; those of others are counted on from the last.

        The keys are those of the call before, and new ones after them.
        """
        if len(keys) - len(self._keys) > _MOST_BESIDE:
            self._keys = read_only(keys)
            self._heads, self._following = build(self._keys)
        indexed = len(self._keys)
        found = self._indexed(wanted)
        others = np.flatnonzero(found < 0)
        beside = np.concatenate([keys[indexed:], wanted[others]])
        found[others] = indexed + number_rows(read_only(beside))[0][len(keys) - indexed :]
        return found

    def _indexed(self, wanted: Ids) -> Ids:
        """The same of the keys that are in the index; -1 for the others."""
        result = np.full(len(wanted), -1, np.int64)
        if len(self._keys):
            found, rows = np.empty(len(wanted), np.int64), np.empty(len(wanted), np.int64)
            count, *_ = equal_pairs(self._keys, self._heads, self._following, read_only(wanted), 0, BEGIN, found, rows)
            result[rows[:count]] = found[:count]
        return result
