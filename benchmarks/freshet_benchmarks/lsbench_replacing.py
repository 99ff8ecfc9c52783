"""LSBench's queries where a tenth of what streams bring replaces what came a batch before.

Two sessions have the same network, and play the same batches by turns; in one of them each stream also deletes, of the
batch before, a tenth as many elements as it brings. Times are those of the processor: with L1 to L6 a batch of all
streams with one query, from the first push to the last answer, and with S1 to S6 an answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from statistics import geometric_mean, median

import numpy as np

from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError
from freshet.results.report import Solutions
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.lsbench_play import Player
from freshet_benchmarks.lsbench_queries import NAMES
from freshet_benchmarks.social_queries import one_shot_queries
from freshet_benchmarks.social_streams import RATE
from freshet_benchmarks.social_triples import network_of

WARM_BATCHES = 12  # until windows are full
MOST_BATCHES = 40
TURNS = 30
LEAST_TRIPLES = 60_000  # in fewer, not every query has answers
_EVERY = 10


def replacing_figures(triples: int) -> Iterator[Figure]:
    """Over a network of at least this number of triples, at a quarter of the usual rate."""
    size, count = max(triples, LEAST_TRIPLES), max(2, min(triples // 3_000, MOST_BATCHES))
    players = [Player(network_of(size), RATE / 4, retracts=retracts) for retracts in (True, False)]
    for player in players:
        player.load()
    medians = {name: _continuous(name, players, count) for name in NAMES} | _one_shot(players)
    for name, (replacing, plain) in medians.items():
        unit = "ms a batch" if name in NAMES else "ms"
        yield Figure(f"{name}_replacing_ms", 1000 * replacing, unit, Baseline("nothing replaced", 1000 * plain))
    slowdown = geometric_mean([replacing / plain for replacing, plain in medians.values()])
    yield Figure("replacing_slowdown", slowdown, "times as long")


def _deletions(before: Mapping[str, Elements], batch: Mapping[str, Elements]) -> Mapping[str, Elements]:
    """Every tenth element of a batch, at the first time of the next."""
    tenths = {stream: Elements(*(column[::_EVERY] for column in elements)) for stream, elements in before.items()}
    return {
        stream: tenth._replace(times=np.full(len(tenth.times), batch[stream].times[0]))
        for stream, tenth in tenths.items()
        if len(batch[stream].times)
    }


def _continuous(name: str, players: list[Player], count: int) -> list[float]:
    """The median seconds of a batch with a query, for each player."""
    seconds: list[list[float]] = [[] for _ in players]
    batches = [player.batches(WARM_BATCHES + count) for player in players]
    with players[0].asking([name], answered=True), players[1].asking([name], answered=True):
        for number in range(WARM_BATCHES + count):
            for player, played, spent in zip(players, batches, seconds, strict=True):
                replaces = player.retracts and number
                deleted = _deletions(played[number - 1], played[number]) if replaces else {}
                began = time.process_time()
                player.play(played[number], deleted)
                spent.append(time.process_time() - began)
    return [median(spent[WARM_BATCHES:]) for spent in seconds]


def _one_shot(players: list[Player]) -> dict[str, list[float]]:
    """The median seconds of each query, for each player."""
    user = min(984, players[0].network.users - 1)
    found = {}
    for name, text in one_shot_queries(user, user).items():
        seconds: list[list[float]] = [[] for _ in players]
        prepared = [player.session.prepare(text) for player in players]
        for _ in range(TURNS + 1):
            for player, query, spent in zip(players, prepared, seconds, strict=True):
                began = time.process_time()
                answer = player.session.query(query)
                spent.append(time.process_time() - began)
                if not isinstance(answer, Solutions) or not len(answer.rows):
                    raise FreshetError(f"the query {name} had no answers, so that its time says nothing")
        found[name] = [median(spent[1:]) for spent in seconds]
    return found
