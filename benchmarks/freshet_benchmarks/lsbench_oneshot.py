"""S1 to S6 over LSBench's network: when nothing else happens, while streams flow into it, and while continuous queries
are answered over both."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import fmean, geometric_mean, median

from freshet.algebra.nodes import Query
from freshet.rdf.errors import FreshetError
from freshet.results.report import Solutions
from freshet_benchmarks.lsbench_play import Length, Player, log_progress
from freshet_benchmarks.lsbench_queries import NAMES
from freshet_benchmarks.social_queries import one_shot_queries
from freshet_benchmarks.social_streams import BATCH_MS

PHASES = ("off", "streams", "queries")
ORDERS = tuple(permutations(PHASES))
FULL_SECONDS = 1.5  # until all windows are full

Seconds = Mapping[str, float]  # by query
Times = Mapping[str, list[float]]  # seconds, by query


@dataclass(frozen=True, slots=True)
class OneShot:
    """The times that queries took: for each round, each phase and each query all of them, in seconds."""

    rounds: Sequence[Mapping[str, Times]]
    behind: float  # seconds that the streams were late in the end, at most

    def medians(self, phase: str) -> Seconds:
        """The median of each query over all rounds."""
        names = self.rounds[0][phase]
        return {name: median([each for found in self.rounds for each in found[phase][name]]) for name in names}

    def slowdown(self, phase: str, usual: Callable[[list[float]], float] = median) -> float:
        """How many times as long the queries take as when nothing else happens: the geometric mean.

        Rounds are compared each with itself, as what else the machine does differs more between them than within.
        A median does not see what happens to fewer than half of all queries; the mean of a round does.
        """
        return geometric_mean(
            [
                median([usual(found[phase][name]) / usual(found["off"][name]) for found in self.rounds])
                for name in self.rounds[0]["off"]
            ]
        )

    def mean_slowdown(self, phase: str) -> float:
        """The same by the means of all times, which has also what only some queries have to wait for."""
        return self.slowdown(phase, fmean)


def one_shot(player: Player, length: Length) -> OneShot:
    """Ask each query in each phase. In each round phases come in another order, so that neither what they leave behind,
    nor the growth of the stored graph, nor what else the machine does is always that of the same phase."""
    user = min(984, player.network.users - 1)
    queries = {name: player.session.prepare(text) for name, text in one_shot_queries(user, user).items()}
    _check(player, queries)
    rounds, behind = [], 0.0
    for number in range(length.rounds):
        found: dict[str, Times] = {phase: {name: [] for name in queries} for phase in PHASES}
        for phase in ORDERS[number % len(ORDERS)]:
            behind = max(behind, _ask(player, phase, length.seconds, queries, found[phase]))
        rounds.append(found)
        slowdowns = ", ".join(f"{phase} {OneShot([found], 0.0).slowdown(phase):.2f}" for phase in PHASES[1:])
        log_progress(f"one-shot queries, round {number + 1} of {length.rounds}: {slowdowns}")
    return OneShot(rounds, behind)


def _ask(player: Player, phase: str, seconds: float, queries: Mapping[str, Query], times: Times) -> float:
    """Ask while a phase lasts; says how late the streams are then."""
    if phase == "off":
        _answer(player, seconds, queries, times)
        return 0.0
    batches = player.batches(round((FULL_SECONDS + 2 * seconds) * 1000 / BATCH_MS))
    with player.asking(NAMES if phase == "queries" else ()), player.play_in_background(batches) as streams:
        time.sleep(FULL_SECONDS)
        _answer(player, seconds, queries, times)
        if not streams.is_alive():
            log_progress("the streams were over before all one-shot queries were answered")
        return streams.behind


def _answer(player: Player, seconds: float, queries: Mapping[str, Query], times: Times) -> None:
    """Ask all queries in turn, first once without counting, then as often as there is time for, and at least once.

    It is whole turns, and as many batches as come in that time: a query meets a batch as often as it would.
    """
    for query in queries.values():
        player.session.query(query)
    end = time.perf_counter() + seconds
    while True:
        for name, query in queries.items():
            started = time.perf_counter()
            player.session.query(query)
            times[name].append(time.perf_counter() - started)
        if time.perf_counter() > end:
            return


def _check(player: Player, queries: Mapping[str, Query]) -> None:
    """Ask once, which makes what is made once; all must have answers."""
    for name, query in queries.items():
        found = player.session.query(query)
        if not isinstance(found, Solutions) or not len(found.rows):
            raise FreshetError(f"the query {name} had no answers, so that its time says nothing")
