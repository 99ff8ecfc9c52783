"""How often each entry changes, learnt from refreshes (requirement R2 of the approximate-answers paper).

A refresh says only whether an entry has changed since the last one, not how often: counting changes underestimates
fast entries. So each entry has a distribution over change rates, on a grid of rates that grow by a constant factor,
and a refresh after a time d multiplies it by the chance of what was seen: 1 - exp(-rate d) for a change, exp(-rate d)
for none (changes as a Poisson process). What is known of all entries together is the prior of each: it is the mean of
their distributions, updated with every refresh (empirical Bayes, by incremental EM), so that an entry that was never
refreshed is judged by the others. With each refresh some of the others are looked at again too: what was made of few
observations under an early prior would else keep the prior as wide as it was at first. Old observations lose weight
with each new one, so that the estimate follows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.federation.candidates import Flags, Ids, Numbers

_LEAST, _MOST, _POINTS = 1e-6, 2.0, 42
_FASTER = 4.0  # some entries may change faster than the configured average by this factor
_USUAL = 1e-3  # slower rates than this are taken for as much less likely at first
_PRIOR_ENTRIES = 8.0  # how many entries the first prior counts for
_EXPECTED_SPREAD = 1.0  # the configured average rate is off by a factor of e for many entries
_LEAST_LIKELY = 80.0  # exponents of rates that are as unlikely as that do not matter
_SMALLEST = np.float32(1e-30)  # the least share, which distinguishes it from an absent one
_DOUBT = 0.02  # the chance that the configured rate is wrong altogether
_AGAIN = 512  # entries that are looked at again with each refresh
_KEPT = 0.99  # how much of what was known an observation leaves

Floats = NDArray[np.float32]


class ChangeRates:
    """Distributions over the rates of change of entries, in changes a unit of time (the slide, as a rule)."""

    def __init__(self, count: int = 0, *, usual: float | None = None, kept: float = _KEPT) -> None:
        """`usual` is the configured average rate of an entry; without, little is expected."""
        self.grid: Numbers = _grid(_MOST if usual is None else max(_MOST, _FASTER * usual))
        self._kept = kept
        self._count = count
        self._logs: Floats = np.zeros((count, len(self.grid)), np.float32)  # with room for more
        self._shares: Floats = np.zeros((count, len(self.grid)), np.float32)
        self._looked_at = 0  # from which entry on to look again
        first = _shares(np.minimum(1.0, self.grid / _USUAL))
        if usual is not None:
            first = _DOUBT * first + (1 - _DOUBT) * _shares(self._around(usual, _EXPECTED_SPREAD))
        self._total: Numbers = _PRIOR_ENTRIES * first

    @property
    def count(self) -> int:
        """How many entries there are."""
        return self._count

    @property
    def prior(self) -> Numbers:
        """What is expected of an entry that nothing is known of."""
        return _shares(self._total)

    def grow(self, count: int) -> None:
        """New entries, which the prior speaks for."""
        self._count = count
        if count > len(self._logs):
            added = np.zeros((max(count, 2 * len(self._logs)) - len(self._logs), len(self.grid)), np.float32)
            self._logs = np.concatenate([self._logs, added])
            self._shares = np.concatenate([self._shares, added])

    def keep(self, entries: Ids) -> None:
        """Only these entries are left; what was learnt from the others stays in the prior."""
        self._logs, self._shares = self._logs[entries], self._shares[entries]
        self._count = len(entries)
        self._looked_at = 0

    def expect(self, entries: Ids, rates: Numbers, spread: float = 0.6) -> None:
        """Start from configured rates, off by a factor of about exp(spread); the rest is learnt."""
        self._logs[entries] += np.log(self._around(rates[:, None], spread)).astype(np.float32)
        self._pool(entries)

    def observe(self, entries: Ids, elapsed: Numbers, changed: Flags) -> None:
        """Refreshes: how long after the refresh before, and whether the answer was another one."""
        expected = np.maximum(elapsed, 1e-9)[:, None] * self.grid
        seen = np.where(changed[:, None], np.log(-np.expm1(-expected)), -expected)
        self._logs[entries] = self._logs[entries] * self._kept + seen.astype(np.float32)
        self._pool(entries)

    def weights(self, entries: Ids) -> Numbers:
        """The distribution of each entry: a row of chances, one for each rate of the grid."""
        logs = self._logs[entries].astype(np.float64)
        chances = np.exp(logs - logs.max(axis=1, keepdims=True)) * self.prior
        result: Numbers = chances / chances.sum(axis=1, keepdims=True)
        return result

    def rates(self, entries: Ids) -> Numbers:
        """The expected rate of each entry."""
        result: Numbers = self.weights(entries) @ self.grid
        return result

    def fresh_chances(self, entries: Ids, ages: Numbers) -> Numbers:
        """The chance that an entry of an age has not changed."""
        unchanged = np.exp(-ages[:, None] * self.grid)
        result: Numbers = (self.weights(entries) * unchanged).sum(axis=1)
        return result

    def _around(self, rates: float | Numbers, spread: float) -> Numbers:
        """How much less likely than these rates those of the grid are."""
        off = np.log(self.grid / np.clip(rates, self.grid[0], self.grid[-1])) / spread
        result: Numbers = np.exp(-np.minimum(off * off / 2, _LEAST_LIKELY))
        return result

    def _pool(self, entries: Ids) -> None:
        """Each entry's distribution counts once in the prior: the new one takes the place of the old."""
        if not self.count:  # an endpoint that has nothing, loaded whole
            return
        self._replace_shares(entries)
        again = np.unique((self._looked_at + np.arange(_AGAIN)) % self.count)
        self._looked_at = (self._looked_at + _AGAIN) % self.count
        self._replace_shares(again[self._shares[again, 0] > 0])  # of those that were never refreshed there are none

    def _replace_shares(self, entries: Ids) -> None:
        weights = np.maximum(self.weights(entries).astype(np.float32), _SMALLEST)
        # in whole, as what float32 loses would add up
        self._total += weights.sum(axis=0, dtype=np.float64) - self._shares[entries].sum(axis=0, dtype=np.float64)
        self._shares[entries] = weights


def _grid(most: float) -> Numbers:
    """Rates up to the most, or the next that the constant factor gives."""
    factor = (_MOST / _LEAST) ** (1 / (_POINTS - 1))
    more = np.ceil(np.log(most / _MOST) / np.log(factor))
    result: Numbers = np.geomspace(_LEAST, _MOST * factor**more, _POINTS + int(more))
    return result


def _shares(numbers: Numbers) -> Numbers:
    result: Numbers = numbers / numbers.sum()
    return result
