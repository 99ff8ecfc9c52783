"""Readings of sensors, and the rooms in which sensors are: as columns, and in every form that `Session.push` takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from freshet.rdf.elements import Elements
from freshet.rdf.terms import XSD
from freshet_benchmarks.social_columns import Encoder, Ints, joined, text, typed

BASE = "http://example.org/"
STREAM = BASE + "readings"
VALUE, ROOM = BASE + "value", BASE + "room"
SENSORS = 1_000
ROOMS = 50
BATCH_MS = 100
_MOST = 10**9  # values: hardly a triple comes twice, so the peers need no DISTINCT for what is a set here

WAYS = ("ids", "arrow_ids", "arrow_terms", "text")


@dataclass(frozen=True, slots=True)
class Readings:
    """Columns of all readings: when, of which sensor, and what."""

    times: Ints
    sensors: Ints
    values: Ints

    def batches(self) -> Iterator[slice]:
        """The rows of each 100 ms."""
        cuts = np.searchsorted(self.times, np.arange(0, int(self.times[-1]) + 2 * BATCH_MS, BATCH_MS))
        return (slice(first, last) for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))

    def window(self, open_ms: int, close_ms: int) -> slice:
        """The rows with open_ms <= time < close_ms."""
        first, last = np.searchsorted(self.times, [open_ms, close_ms])
        return slice(int(first), int(last))

    def pushed(self, rows: slice, way: str, encoder: Encoder) -> Any:
        """Some readings in one of the forms that can be pushed."""
        times, sensors, values = self.times[rows], self.sensors[rows], self.values[rows]
        if way in ("ids", "arrow_ids"):
            elements = Elements(
                times,
                encoder.numbered(f"<{BASE}sensor", ">", sensors),
                np.full(len(times), encoder.iri(VALUE)),
                encoder.dictionary.intern_arrow(typed(text(values), XSD + "integer")),
            )
            if way == "ids":
                return elements
            return pa.table(dict(zip(("time", "subject", "predicate", "object"), elements, strict=True)))
        subjects = joined(f"<{BASE}sensor", text(sensors), ">")
        objects = typed(text(values), XSD + "integer")
        if way == "arrow_terms":
            predicates = pa.repeat(f"<{VALUE}>", len(times))
            return pa.table({"time": times, "subject": subjects, "predicate": predicates, "object": objects})
        lines = joined(text(times), "\t", subjects, f" <{VALUE}> ", objects, " .\n")
        return "".join(lines.to_pylist()).encode()


def make_readings(rate: int, seconds: float) -> Readings:
    """Readings at an even rate."""
    random = np.random.default_rng(9)
    count = int(rate * seconds)
    times = np.arange(count, dtype=np.int64) * 1_000 // rate
    return Readings(times, random.integers(0, SENSORS, count), random.integers(0, _MOST, count))


def rooms() -> Ints:
    """The room of each sensor."""
    return np.arange(SENSORS) % ROOMS


def stored() -> str:
    """The rooms as N-Triples."""
    return "".join(
        f"<{BASE}sensor{sensor}> <{ROOM}> <{BASE}room{room}> .\n" for sensor, room in enumerate(rooms().tolist())
    )
