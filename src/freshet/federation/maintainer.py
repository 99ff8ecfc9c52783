"""The maintainer: takes the ranker's first candidates, as many as the refresh budget has."""

from __future__ import annotations

from freshet.federation.moment import Ids, Moment
from freshet.federation.rankers import Ranker


def elected(ranker: Ranker, moment: Moment, budget: int) -> Ids:
    """The entries to refresh at an evaluation."""
    return moment.entries[ranker.rank(moment)[: max(0, budget)]]
