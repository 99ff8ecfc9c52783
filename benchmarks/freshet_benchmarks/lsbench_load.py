"""How much the engine bears: the highest multiple of the streams' rate, and the most queries, that it keeps up with."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from statistics import median
from typing import Any

import numpy as np

from freshet.algebra.nodes import Node, Query, TriplePattern
from freshet.rdf.errors import FreshetError
from freshet.rdf.terms import Iri
from freshet.syntax.parser import parse_query
from freshet_benchmarks.lsbench_play import Batches, Length, Player, Reports, log_progress
from freshet_benchmarks.lsbench_queries import NAMES, RANGE_MS, STEP_MS, continuous_query
from freshet_benchmarks.social_streams import BATCH_MS
from freshet_benchmarks.social_vocabulary import PERSON, USER

WARM_BATCHES = RANGE_MS // BATCH_MS + 1  # until the windows are full
BATCHES = 12
BISECTIONS = 2

_NO_USER = -1
_LEAST_MORE, _MOST_MORE = 1.2, 1.6  # times as many queries in the next step
_PARTS = (Node, TriplePattern, Query)


@dataclass(frozen=True, slots=True)
class Mixed:
    """What a mixed load came to."""

    queries: int  # the most that kept up
    saturated: bool  # else there was no time to register more
    batch_seconds: float  # with that number of queries
    register_seconds: float  # a query
    rows: int

    @property
    def executions_per_second(self) -> float:
        return self.queries * 1000 / STEP_MS


class Form:
    """A query that is asked about many users."""

    def __init__(self, kind: str) -> None:
        self._query = parse_query(continuous_query(kind, _NO_USER))

    def about(self, user: int) -> Query:
        """The query about a user."""
        query = _put(self._query, {f"{start}{_NO_USER}": Iri(f"{start}{user}") for start in (USER, PERSON)})
        assert isinstance(query, Query)
        return query


def _put(node: object, users: Mapping[str, Iri]) -> object:
    """A part of a query, with users in place of `_NO_USER`."""
    if isinstance(node, Iri):
        return users.get(node.value, node)
    if type(node) is tuple:
        parts = tuple([_put(part, users) for part in node])
        return node if all(part is other for part, other in zip(parts, node, strict=True)) else parts
    if not isinstance(node, _PARTS):
        return node
    changed: dict[str, Any] = {}
    for field in fields(node):
        part = getattr(node, field.name)
        new = _put(part, users)
        if new is not part:
            changed[field.name] = new
    return replace(node, **changed) if changed else node


def keeps_up(player: Player, batches: Batches) -> tuple[bool, float]:
    """Whether batches take less time than they last, and how many seconds they take: the median."""
    seconds = [player.play(batch).whole for batch in batches]
    player.raise_failures()
    usual = median(seconds[WARM_BATCHES:])
    return usual < BATCH_MS / 1000, usual


def sustained_multiple(player: Player, length: Length) -> float:
    """The highest multiple of the rate at which a batch of all streams, with all six queries, takes less than 100 ms.

    It is doubled until it is too much, and then halved in between.
    """
    borne, refused, multiple = 0.0, float("inf"), 1.0
    with player.asking(NAMES):
        for _ in range(length.most_multiple.bit_length() + BISECTIONS):
            player.at_rate(player.rate * multiple)
            kept_up, seconds = keeps_up(player, player.batches(WARM_BATCHES + BATCHES))
            log_progress(f"{multiple:g} times the rate: {1000 * seconds:.1f} ms a batch")
            borne, refused = (multiple, refused) if kept_up else (borne, multiple)
            if borne >= length.most_multiple or refused - borne <= borne / 4:
                break
            multiple = 2 * borne if refused == float("inf") else (borne + refused) / 2
    player.at_rate(player.rate)
    return borne


def mixed_load(player: Player, latencies: Mapping[str, float], length: Length, *, seed: int = 5) -> Mixed:
    """Register queries about users drawn at random, one by one while the streams go on, until a batch takes too long.

    Of each kind there are the more the less its latency is, as in the paper. Users are drawn from all; few of them do
    anything in a given second. A query is read once, and the users are put in then. In the end they are removed.
    """
    random = np.random.default_rng(seed)
    kinds = list(latencies)
    forms = {kind: Form(kind) for kind in kinds}
    shares = np.array([1 / latencies[kind] for kind in kinds])
    reports, registered, spent = Reports(), 0, 0.0
    best, best_seconds, saturated = 0, 0.0, False
    wanted = length.first_queries
    while not saturated and (not registered or spent < length.registering_seconds):
        since_batch = 0.0
        for kind in random.choice(kinds, wanted - registered, p=shares / shares.sum()):
            query = forms[kind].about(int(random.integers(player.network.users)))
            started = time.perf_counter()
            player.session.engine.register(f"mixed{registered}", query, reports)
            since_batch += time.perf_counter() - started
            registered += 1
            if since_batch >= BATCH_MS / 1000:  # as much has come meanwhile
                spent, since_batch = spent + since_batch, 0.0
                player.play(player.batches(1)[0])
        spent += since_batch
        kept_up, seconds = keeps_up(player, player.batches(WARM_BATCHES + BATCHES))
        log_progress(
            f"{registered:,} queries: {1000 * seconds:.1f} ms a batch, {spent / registered * 1000:.2f} ms to register"
        )
        saturated = not kept_up
        best, best_seconds = (registered, seconds) if kept_up else (best, best_seconds)
        wanted = round(registered * min(_MOST_MORE, max(_LEAST_MORE, 0.8 * BATCH_MS / 1000 / seconds)))
    for number in range(registered):
        player.session.engine.unregister(f"mixed{number}")
    if not reports.rows:
        raise FreshetError("no query of the mixed load had answers, so that its figure says nothing")
    return Mixed(best, saturated, best_seconds, spent / registered, reports.rows)
