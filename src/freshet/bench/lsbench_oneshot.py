"""S1 to S6 over LSBench's network: when nothing else happens, while streams flow into it, and while continuous queries
are answered over both."""

from __future__ import annotations

import time
from collections.abc import Mapping
from statistics import geometric_mean, median

from freshet.algebra.nodes import Query
from freshet.bench.lsbench_play import Length, Player, tell
from freshet.bench.lsbench_queries import NAMES
from freshet.bench.social_queries import one_shot_queries
from freshet.bench.social_streams import BATCH_MS
from freshet.rdf.errors import FreshetError
from freshet.results.report import Solutions

PHASES = ("off", "streams", "queries")
FULL_SECONDS = 1.5  # until all windows are full
MOST_TIMES = 30  # a round

Medians = Mapping[str, float]  # seconds by query


def one_shot_medians(player: Player, length: Length) -> dict[str, Medians]:
    """The median of each query in each phase. Phases take turns, so that what else the machine does meets all."""
    user = min(984, player.network.users - 1)
    queries = {name: player.session.prepare(text) for name, text in one_shot_queries(user, user).items()}
    _check(player, queries)
    found: dict[str, dict[str, list[float]]] = {phase: {name: [] for name in queries} for phase in PHASES}
    for number in range(length.rounds):
        for phase in PHASES:
            _ask(player, phase, length.seconds, queries, found[phase])
        tell(f"one-shot queries, round {number + 1} of {length.rounds}")
    return {phase: {name: median(times) for name, times in by_name.items()} for phase, by_name in found.items()}


def slowdown(medians: Mapping[str, Medians], phase: str) -> float:
    """How many times as long the queries take as when nothing else happens: the geometric mean."""
    return geometric_mean([medians[phase][name] / medians["off"][name] for name in medians["off"]])


def _ask(
    player: Player, phase: str, seconds: float, queries: Mapping[str, Query], times: Mapping[str, list[float]]
) -> None:
    if phase == "off":
        _answer(player, seconds, queries, times)
        return
    batches = player.batches(round((FULL_SECONDS + 2 * seconds) * 1000 / BATCH_MS))
    with player.asking(NAMES if phase == "queries" else ()), player.playing(batches) as streams:
        time.sleep(FULL_SECONDS)
        _answer(player, seconds, queries, times)
        if not streams.is_alive():
            tell("the streams were over before all one-shot queries were answered")
        if streams.behind > 1:
            tell(f"the streams are {streams.behind:.1f} s behind")


def _answer(player: Player, seconds: float, queries: Mapping[str, Query], times: Mapping[str, list[float]]) -> None:
    """Ask all queries in turn, as often as there is time for, and at least once."""
    end = time.perf_counter() + seconds
    for number in range(MOST_TIMES):
        for name, query in queries.items():
            if number and time.perf_counter() > end:
                return
            started = time.perf_counter()
            player.session.query(query)
            times[name].append(time.perf_counter() - started)


def _check(player: Player, queries: Mapping[str, Query]) -> None:
    """Ask once, which makes what is made once; all must have answers."""
    for name, query in queries.items():
        found = player.session.query(query)
        if not isinstance(found, Solutions) or not len(found.rows):
            raise FreshetError(f"the query {name} had no answers, so that its time says nothing")
