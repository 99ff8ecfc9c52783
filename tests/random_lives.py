"""Queries that are registered and removed between the pushes of a schedule, and what each of them should report.

A query sees the elements that are pushed after it was registered (docs/reference/windows.md). So what it should report
is what the reference reports for streams that begin with the watermark of that moment, up to what the watermarks
allowed when the query was removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pyoxigraph as ox

from comparing import reports_of
from random_continuous import RandomQuery
from random_streams import Lines
from reference.evaluator import evaluate
from reference.rewriting import rewrite
from reference.streams import receive

Schedule = Sequence[tuple[str, Lines]]
Report = Mapping[str, Any]


@dataclass(frozen=True)
class Life:
    """A query from before one push of a schedule until before another; None: to the end of the streams."""

    query: RandomQuery
    first: int
    last: int | None

    def __str__(self) -> str:
        return f"pushes {self.first} to {'the end' if self.last is None else self.last}\n{self.query.text}"


def random_lives(dice: Random, queries: Sequence[RandomQuery], pushes: int) -> list[Life]:
    """Half of the queries come while elements do, and half go before the end."""
    lives = []
    for query in queries:
        first = dice.choice([0, dice.randint(0, pushes)])
        lives.append(Life(query, first, dice.choice([None, dice.randint(first, pushes)])))
    return lives


def lines_of(schedule: Schedule, iri: str) -> Lines:
    """What a schedule pushes into a stream."""
    return tuple(line for pushed, lines in schedule if pushed == iri for line in lines)


def watermark_ms(schedule: Schedule, iri: str, lateness_ms: int) -> float:
    """How far a stream has come after these pushes."""
    return receive(lines_of(schedule, iri), lateness_ms).watermark_ms


def expected_of(
    life: Life, schedule: Schedule, lateness_ms: Mapping[str, int], stored: Sequence[str]
) -> tuple[list[Report], list[Report]]:
    """What a query must have reported when it goes, and what it may have reported besides, in this order: what is at
    the very time of the watermark, where a close has happened and an instant has not."""
    streams: dict[str, Lines] = {}
    for iri, lateness in lateness_ms.items():
        come_ms = watermark_ms(schedule[: life.first], iri, lateness)
        begin: Lines = () if come_ms == float("-inf") else ((int(come_ms), None),)
        streams[iri] = (*begin, *lines_of(schedule[life.first :], iri))
    quads = list(ox.parse("\n".join(stored), ox.RdfFormat.N_QUADS, rename_blank_nodes=True))
    answers = evaluate(life.query.text, streams, lateness_ms=lateness_ms, stored=quads, report=life.query.report)
    asked = rewrite(life.query.text, streams)
    reports = reports_of(answers, asked.name or life.query.name, asked.output, ordered=asked.ordered)
    if life.last is None:
        return reports, []
    read = {clause.window.stream for clause in asked.windows}
    passed_ms = min(watermark_ms(schedule[: life.last], iri, lateness_ms[iri]) for iri in read)
    return [each for each in reports if each["time"] < passed_ms], [
        each for each in reports if each["time"] == passed_ms
    ]
