"""The rankers of the approximate-answers paper: which candidates are refreshed first.

A ranker gives the candidates' places, best first, and leaves out those that need no refresh. It is given what was
refreshed. Ties are broken at random, as the paper has it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.random import Generator

from freshet.federation.candidates import Candidates, Flags, Ids, Numbers


class Ranker(Protocol):
    """Orders candidates. Entries are numbers from 0 on; `grow` says how many there are."""

    def grow(self, count: int) -> None:
        """There are `count` entries now; the new ones were loaded just before."""

    def rank(self, candidates: Candidates) -> Ids:
        """Places in `candidates.entries`, the one to refresh first first."""

    def record_refresh(self, entries: Ids, changed: Flags, time_ms: int) -> None:
        """Entries were asked for again; `changed` are those whose answer was another one."""


class Nothing:
    """WST: no refresh at all, the lower bound."""

    def grow(self, count: int) -> None:
        pass

    def rank(self, candidates: Candidates) -> Ids:
        return np.empty(0, np.int64)

    def record_refresh(self, entries: Ids, changed: Flags, time_ms: int) -> None:
        pass


class RandomOrder(Nothing):
    """RND: any candidate."""

    def __init__(self, random: Generator) -> None:
        self._random = random

    def rank(self, candidates: Candidates) -> Ids:
        return self._random.permutation(len(candidates.entries))


class LeastRecentlyRefreshed:
    """LRU: the candidate whose last refresh is longest ago."""

    def __init__(self, count: int, start_ms: int, random: Generator) -> None:
        self._refreshed_ms = np.full(count, start_ms, np.int64)
        self._random = random

    def grow(self, count: int) -> None:
        added = count - len(self._refreshed_ms)
        latest = self._refreshed_ms.max(initial=0)
        self._refreshed_ms = np.concatenate([self._refreshed_ms, np.full(added, latest, np.int64)])

    def rank(self, candidates: Candidates) -> Ids:
        return np.lexsort((self._random.random(len(candidates.entries)), self._refreshed_ms[candidates.entries]))

    def record_refresh(self, entries: Ids, changed: Flags, time_ms: int) -> None:
        self._refreshed_ms[entries] = time_ms


class WindowBased:
    """WBM: possibly stale entries by score = min(L, V), the evaluations that a refresh serves.

    An entry is possibly stale once its best-before time has come. A refresh renews it by the entry's change interval
    (equation 4), V is the number of evaluations until then. Where more than one interval has passed since, the missed
    ones are skipped: the renewed best-before time lies after the evaluation.
    """

    def __init__(self, best_before_ms: Ids | Numbers, intervals_ms: Numbers, random: Generator) -> None:
        self.best_before_ms = best_before_ms.astype(np.float64)
        self.intervals_ms = intervals_ms
        self._random = random

    def grow(self, count: int) -> None:
        added = count - len(self.best_before_ms)
        self.best_before_ms = np.concatenate([self.best_before_ms, np.zeros(added)])
        usual = float(np.median(self.intervals_ms)) if len(self.intervals_ms) else np.inf
        self.intervals_ms = np.concatenate([self.intervals_ms, np.full(added, usual)])

    def renewed_ms(self, entries: Ids, time_ms: int) -> Numbers:
        """The best-before times that a refresh at a time would give."""
        now, interval = self.best_before_ms[entries], self.intervals_ms[entries]
        with np.errstate(invalid="ignore"):
            steps = np.maximum(1, np.floor((time_ms - now) / interval) + 1)
            return np.where(np.isinf(interval), np.inf, now + steps * interval)

    def scores(self, candidates: Candidates) -> Numbers:
        """min(L, V), and 0 for candidates that are fresh still; times the solutions that use the entry."""
        renewed = np.ceil(
            (self.renewed_ms(candidates.entries, candidates.time_ms) - candidates.time_ms) / candidates.slide_ms
        )
        possibly_stale = self.best_before_ms[candidates.entries] <= candidates.time_ms
        scores = np.where(possibly_stale, np.minimum(candidates.lives, renewed), 0.0)
        return scores * candidates.uses

    def rank(self, candidates: Candidates) -> Ids:
        possibly_stale = np.flatnonzero(self.best_before_ms[candidates.entries] <= candidates.time_ms)
        order = np.lexsort((self._random.random(len(possibly_stale)), -self.scores(candidates)[possibly_stale]))
        return possibly_stale[order]

    def record_refresh(self, entries: Ids, changed: Flags, time_ms: int) -> None:
        self.best_before_ms[entries] = self.renewed_ms(entries, time_ms)


class WindowBasedFromRefresh(WindowBased):
    """WBM as the authors' program has it, where it differs from the paper's text.

    A refresh makes an entry good for one change interval from then on, independently of its best-before time; and where
    fewer candidates are possibly stale than the budget has refreshes, the rest is spent on those that will be first.
    """

    def renewed_ms(self, entries: Ids, time_ms: int) -> Numbers:
        return time_ms + self.intervals_ms[entries]

    def rank(self, candidates: Candidates) -> Ids:
        best_before_ms = self.best_before_ms[candidates.entries]
        fresh = np.flatnonzero(best_before_ms > candidates.time_ms)
        return np.concatenate([super().rank(candidates), fresh[np.argsort(best_before_ms[fresh], kind="stable")]])


def elect(ranker: Ranker, candidates: Candidates, budget: int) -> Ids:
    """The entries to refresh at an evaluation: the first candidates, as many as the refresh budget has."""
    return candidates.entries[ranker.rank(candidates)[: max(0, budget)]]
