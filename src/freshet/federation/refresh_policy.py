"""Which entries of a local view may be refreshed and in which order, by the names that settings have for it.

In any order, what is known of the entries' changes is `ExpectedGain`'s: accuracies are estimated with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.random import Generator

from freshet.federation.candidates import Candidates, Ids
from freshet.federation.expected_gain import ExpectedGain
from freshet.federation.proposers import propose_whole_view, window_service_join
from freshet.rdf.errors import InputError

Order = Callable[[ExpectedGain, Candidates, Generator], Ids]


def _by_gain(known: ExpectedGain, candidates: Candidates, random: Generator) -> Ids:
    return np.argsort(-known.gains(candidates), kind="stable")


def _by_window(known: ExpectedGain, candidates: Candidates, random: Generator) -> Ids:
    """WBM with the change intervals that were learnt, counted from the refresh; what is stale next comes last."""
    intervals = 1 / known.rates.rates(candidates.entries)
    left = known.best_before_ms(candidates.entries) - candidates.time_ms
    scores = np.minimum(known.lives(candidates), np.ceil(intervals)) * candidates.uses
    return np.lexsort((random.random(len(left)), np.where(left <= 0, -scores, left), left > 0))


def _by_age(known: ExpectedGain, candidates: Candidates, random: Generator) -> Ids:
    ages = known.ages(candidates.entries, candidates.time_ms)
    return np.lexsort((random.random(len(ages)), -ages))


def _at_random(known: ExpectedGain, candidates: Candidates, random: Generator) -> Ids:
    return random.permutation(len(candidates.entries))


PROPOSERS = ("wsj", "gnr")
RANKERS: Mapping[str, Order] = {"gain": _by_gain, "wbm": _by_window, "lru": _by_age, "rnd": _at_random}


def check_policy(proposer: str, ranker: str) -> None:
    """InputError where there is no such proposer or ranker."""
    for kind, name, names in (("proposer", proposer, PROPOSERS), ("ranker", ranker, tuple(RANKERS))):
        if name not in names:
            raise InputError(f"there is no {kind} named '{name}'", hint=f"one of {', '.join(names)}")


class RefreshPolicy:
    """A proposer and a ranker."""

    def __init__(self, proposer: str, ranker: str) -> None:
        check_policy(proposer, ranker)
        self._whole_view = proposer == "gnr"
        self._order = RANKERS[ranker]
        self._random = np.random.default_rng(0)

    def propose(self, candidates: Candidates, view_size: int) -> Candidates:
        """The entries that may be refreshed at an evaluation."""
        return propose_whole_view(candidates, view_size) if self._whole_view else window_service_join(candidates)

    def order(self, known: ExpectedGain, candidates: Candidates) -> Ids:
        """The places of candidates, the one to refresh first first."""
        known.count_uses(candidates)
        return self._order(known, candidates, self._random)
