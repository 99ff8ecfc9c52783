"""Freshet's own ranker: the entry whose refresh is expected to make most answers right, now and later.

WBM's score counts the evaluations that a refresh serves, as if change came by the clock. Here each of them counts by
its chance. With age a (evaluations since the last refresh), chance F(k) that an entry is unchanged after k evaluations
and chance p(k) that the window needs it k evaluations from now,

    gain = sum over k = 0, 1, ... < a of p(k) (F(k) - F(a))

which is how much fresher the entry is than now until it is as old again: the marginal value of a refresh when it
competes with the others for the budget (the index of the restless bandit in which an entry is needed at random; for
continuous time it is the crawling rule of Azar et al., PNAS 2018). p(k) is 1 while the window certainly holds the
entry (k < L), then the share of evaluations that needed it so far. F comes from `ChangeRates`, whole distribution and
all, so that what is not known yet counts too.
"""

from __future__ import annotations

import numpy as np

from freshet.federation.candidates import Candidates, Flags, Ids, Numbers
from freshet.federation.change_rates import ChangeRates

_KEPT_USE = 0.998  # how much of the counts of use an evaluation leaves


class ExpectedGain:
    """Ranks by the expected number of solutions that a refresh makes right."""

    def __init__(self, count: int, start_ms: int, slide_ms: int, rates: ChangeRates | None = None) -> None:
        self.rates = ChangeRates(count) if rates is None else rates
        self._slide_ms = slide_ms
        self._refreshed_ms = np.full(count, start_ms, np.int64)
        self._used: Numbers = np.zeros(count)
        self._used_at: Numbers = np.zeros(count)
        self._evaluations = 0.0  # weighted as the uses are
        self._number = 0

    def grow(self, count: int, time_ms: int | None = None) -> None:
        added = count - len(self._refreshed_ms)
        loaded = self._refreshed_ms.max(initial=0) if time_ms is None else time_ms
        self._refreshed_ms = np.concatenate([self._refreshed_ms, np.full(added, loaded, np.int64)])
        self._used = np.concatenate([self._used, np.zeros(added)])
        self._used_at = np.concatenate([self._used_at, np.full(added, float(self._number))])
        self.rates.grow(count)

    def keep(self, entries: Ids) -> None:
        """Only these entries are left, numbered anew in their order."""
        self._refreshed_ms, self._used = self._refreshed_ms[entries], self._used[entries]
        self._used_at = self._used_at[entries]
        self.rates.keep(entries)

    def rank(self, candidates: Candidates) -> Ids:
        self.count_uses(candidates)
        gains = self.gains(candidates)
        return np.argsort(-gains, kind="stable")

    def gains(self, candidates: Candidates) -> Numbers:
        """The gain of each candidate."""
        ages, grid = self.ages(candidates.entries, candidates.time_ms)[:, None], self.rates.grid
        certain = np.minimum(self.lives(candidates)[:, None], ages)
        unchanged = np.exp(-ages * grid)
        step = -np.expm1(-grid)
        soon = -np.expm1(-certain * grid) / step - certain * unchanged
        later = (np.exp(-certain * grid) - unchanged) / step - (ages - certain) * unchanged
        gains = soon + self.use_chances(candidates.entries)[:, None] * later
        result: Numbers = (self.rates.weights(candidates.entries) * gains).sum(axis=1) * candidates.uses
        return result

    def lives(self, candidates: Candidates) -> Numbers:
        """How long entries are certainly needed, in the steps that ages are counted in: another query may have made
        the view, with a window of other steps."""
        result: Numbers = candidates.lives * np.float64(candidates.slide_ms / self._slide_ms)
        return result

    def ages(self, entries: Ids, time_ms: int | Ids) -> Numbers:
        """How many evaluations ago entries were refreshed."""
        return np.maximum(0, time_ms - self._refreshed_ms[entries]) / self._slide_ms

    def best_before_ms(self, entries: Ids) -> Numbers:
        """When each entry has most likely changed: as long after its refresh as it takes to change on average."""
        result: Numbers = self._refreshed_ms[entries] + self._slide_ms / self.rates.rates(entries)
        return result

    def fresh_chances(self, entries: Ids, time_ms: int) -> Numbers:
        """The chance that each entry is still what the endpoint would say."""
        return self.rates.fresh_chances(entries, self.ages(entries, time_ms))

    def use_chances(self, entries: Ids) -> Numbers:
        """The chance that an evaluation needs an entry; entries that are new to the window start at the mean."""
        used = self._used[entries] * _KEPT_USE ** (self._number - self._used_at[entries])
        mean = self._used.sum() / max(1.0, self._evaluations * len(self._used))
        result: Numbers = np.minimum(1.0, (used + mean) / (self._evaluations + 1))
        return result

    def record_refresh(self, entries: Ids, changed: Flags, time_ms: int | Ids) -> None:
        self.rates.observe(entries, self.ages(entries, time_ms), changed)
        self._refreshed_ms[entries] = time_ms

    def record_load(self, entries: Ids, time_ms: int | Ids) -> None:
        """Entries were fetched for the first time, which says nothing of their changes."""
        self._refreshed_ms[entries] = time_ms

    def count_uses(self, candidates: Candidates) -> None:
        """Count the candidates that have any life left as used by this evaluation."""
        entries = candidates.entries[candidates.lives > 0]
        self._number += 1
        self._evaluations = self._evaluations * _KEPT_USE + 1
        self._used[entries] = self._used[entries] * _KEPT_USE ** (self._number - self._used_at[entries]) + 1
        self._used_at[entries] = self._number
