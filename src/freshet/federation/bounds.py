"""Upper bounds for experiments: rankers that know what no engine can know, the remote data themselves."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.random import Generator

from freshet.federation.candidates import Candidates, Flags, Ids, Numbers
from freshet.federation.rankers import Nothing


class Truth(Protocol):
    """What the endpoint would say."""

    def stale(self, entries: Ids, time_ms: int) -> Flags:
        """Which entries of the view differ from the remote data."""

    def next_change_ms(self, entries: Ids, time_ms: int) -> Numbers:
        """When the remote data of each entry change next; infinite where they do not."""


class Best(Nothing):
    """BST: candidates that are certainly stale."""

    def __init__(self, truth: Truth, random: Generator) -> None:
        self._truth = truth
        self._random = random

    def rank(self, candidates: Candidates) -> Ids:
        stale = np.flatnonzero(self._truth.stale(candidates.entries, candidates.time_ms))
        return self._random.permutation(stale)


class WindowBasedTruth(Nothing):
    """WBM*: WBM with the real times of change in place of best-before times."""

    def __init__(self, truth: Truth, random: Generator) -> None:
        self._truth = truth
        self._random = random

    def rank(self, candidates: Candidates) -> Ids:
        stale = np.flatnonzero(self._truth.stale(candidates.entries, candidates.time_ms))
        next_ms = self._truth.next_change_ms(candidates.entries[stale], candidates.time_ms)
        fresh_for = np.ceil((next_ms - candidates.time_ms) / candidates.slide_ms)
        scores = np.minimum(candidates.lives[stale], fresh_for) * candidates.uses[stale]
        return stale[np.lexsort((self._random.random(len(stale)), -scores))]
