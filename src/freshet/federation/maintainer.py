"""The maintainer: takes the ranker's first candidates, as many as the refresh budget has."""

from __future__ import annotations

from freshet.federation.candidates import Candidates, Ids
from freshet.federation.rankers import Ranker


def elect(ranker: Ranker, candidates: Candidates, budget: int) -> Ids:
    """The entries to refresh at an evaluation."""
    return candidates.entries[ranker.rank(candidates)[: max(0, budget)]]
