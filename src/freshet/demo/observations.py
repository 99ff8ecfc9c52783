"""The observations that a town's sensors make, as files: traffic and weather as JSON lines, parking as CSV.

Lines are put together by pyarrow from columns, so a million records take about a second.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.demo import rhythm
from freshet.demo.city import Ints, Town
from freshet.rdf.arrow import booleans, repeat, texts
from freshet.rdf.arrow import numbers as int_array

# A Monday, a quarter to seven: the town wakes up.
MORNING_MS = 1_772_433_900_000


@dataclass(frozen=True, slots=True)
class Rates:
    """Records a second of event time, by stream."""

    traffic: float
    parking: float
    weather: float

    @classmethod
    def of(cls, town: Town) -> Rates:
        """Each sensor every ten seconds, each car park every two minutes, each station every minute."""
        return cls(len(town.sensor_roads) / 10, len(town.capacities) / 120, town.stations / 60)


@dataclass(frozen=True, slots=True)
class Faults:
    """What is wrong with the records: the share that cannot be read, and how far behind its turn one may come."""

    malformed_rate: float = 0.0
    disorder_ms: int = 0


NO_FAULTS = Faults()


@dataclass(frozen=True, slots=True)
class Written:
    """What was written."""

    records: int = 0
    malformed: int = 0
    files: int = 0
    bytes: int = 0

    def __add__(self, other: Written) -> Written:
        return Written(
            self.records + other.records,
            self.malformed + other.malformed,
            self.files + other.files,
            self.bytes + other.bytes,
        )


def write_observations(
    folder: Path,
    town: Town,
    *,
    start_ms: int = MORNING_MS,
    seconds: float,
    rates: Rates | None = None,
    files: int = 1,
    faults: Faults = NO_FAULTS,
) -> dict[str, Written]:
    """Write `seconds` of event time into `folder`/traffic, /parking and /weather, `files` files each.

    Files follow one another in time. A stream whose rate is 0 gets its folder and no file.
    """
    writer = SlotWriter(folder, town, rates or Rates.of(town), start_ms, seconds / files, faults)
    return {stream: sum((writer.write(stream, slot) for slot in range(files)), Written()) for stream in STREAMS}


@dataclass(frozen=True, slots=True)
class SlotWriter:
    """Writes a town's observations in slots of event time, a file for each: slot 0 begins at `start_ms`."""

    folder: Path
    town: Town
    rates: Rates
    start_ms: int
    slot_seconds: float
    faults: Faults = NO_FAULTS

    def write(self, stream: str, slot: int) -> Written:
        """Write the file of a slot. It appears whole or not at all: written under a hidden name, then renamed."""
        form = STREAMS[stream]
        into = self.folder / stream
        into.mkdir(parents=True, exist_ok=True)
        rate = float(getattr(self.rates, stream))
        first, last = (math.ceil(number * self.slot_seconds * rate) for number in (slot, slot + 1))
        if last <= first:
            return Written()
        numbers = np.arange(first, last, dtype=np.int64)
        random = np.random.default_rng([self.town.seed, form.code, slot])
        lines = form.lines(self.town, random, numbers, self._times_ms(random, numbers, rate))
        lines, malformed = self._spoil_lines(random, lines, form.spoil)
        name = f"{stream}-{slot:06d}.{form.suffix}"
        hidden = into / f".{name}.part"
        with hidden.open("wb") as file:
            size = file.write(form.header) + file.write(_bytes(lines))
        os.replace(hidden, into / name)
        return Written(len(lines), malformed, 1, size)

    def _times_ms(self, random: np.random.Generator, numbers: Ints, rate: float) -> Ints:
        times_ms = self.start_ms + (numbers * (1000.0 / rate)).astype(np.int64)
        if self.faults.disorder_ms:
            times_ms -= random.integers(0, self.faults.disorder_ms, times_ms.size)
        return times_ms

    def _spoil_lines(
        self, random: np.random.Generator, lines: pa.Array, spoil: Callable[[pa.Array], pa.Array]
    ) -> tuple[pa.Array, int]:
        if not self.faults.malformed_rate:
            return lines, 0
        chosen = booleans(random.random(len(lines)) < self.faults.malformed_rate)
        bad = spoil(lines.filter(chosen))
        return pc.replace_with_mask(lines, chosen, bad), len(bad)


def traffic_lines(town: Town, random: np.random.Generator, numbers: Ints, times_ms: Ints) -> pa.Array:
    """`{"id":7,"sensor":"s7","at":"...","vehicles":12,"speed":43.2}`"""
    sensors = numbers % len(town.sensor_roads)
    roads = town.sensor_roads[sensors]
    vehicles = random.poisson(1.0 + 40.0 * rhythm.loads(town, roads, times_ms))
    speeds = rhythm.speeds(town, roads, times_ms) * random.normal(1.0, 0.06, numbers.size)
    return _joined(
        '{"id":',
        _text(numbers),
        ',"sensor":"s',
        _text(sensors),
        '","at":"',
        _iso(times_ms),
        '","vehicles":',
        _text(vehicles),
        ',"speed":',
        _tenths(np.maximum(speeds, 3.0)),
        "}\n",
    )


def parking_lines(town: Town, random: np.random.Generator, numbers: Ints, times_ms: Ints) -> pa.Array:
    """`7,p7,2026-03-02T06:45:00.000Z,120`"""
    car_parks = numbers % len(town.capacities)
    taken = rhythm.occupancies(town, car_parks, times_ms) + random.normal(0.0, 0.01, numbers.size)
    free = np.rint(town.capacities[car_parks] * (1.0 - np.clip(taken, 0.0, 1.0))).astype(np.int64)
    return _joined(_text(numbers), ",p", _text(car_parks), ",", _iso(times_ms), ",", _text(free), "\n")


def weather_lines(town: Town, random: np.random.Generator, numbers: Ints, times_ms: Ints) -> pa.Array:
    """`{"id":7,"station":"w3","at":"...","temperature":8.4,"rain":0}`"""
    stations = numbers % town.stations
    degrees = rhythm.temperatures(town, stations, times_ms) + random.normal(0.0, 0.2, numbers.size)
    return _joined(
        '{"id":',
        _text(numbers),
        ',"station":"w',
        _text(stations),
        '","at":"',
        _iso(times_ms),
        '","temperature":',
        _tenths(degrees),
        ',"rain":',
        _tenths(rhythm.rain_mm(town, stations, times_ms)),
        "}\n",
    )


def spoil_json(lines: pa.Array) -> pa.Array:
    """Lines that cannot be read: by turns cut short, with a time that is none, and no JSON at all."""
    return _by_turns(
        lines,
        _joined(pc.utf8_slice_codeunits(lines, 0, 24), "\n"),
        pc.replace_substring(lines, '"at":"', '"at":"about '),
        repeat("sensor not ready\n", len(lines)),
    )


def spoil_csv(lines: pa.Array) -> pa.Array:
    """Lines that cannot be read: by turns with a time that is none, and without a time at all."""
    return _by_turns(
        lines,
        pc.replace_substring_regex(lines, r"^([^,]*,[^,]*,)", r"\1about "),
        pc.replace_substring_regex(lines, r"^([^,]*,[^,]*),.*", r"\1,,"),
    )


def _by_turns(lines: pa.Array, *kinds: pa.Array) -> pa.Array:
    turns = int_array(np.arange(len(lines)) % len(kinds))
    return pc.choose(turns, *kinds)


def _joined(*parts: pa.Array | str) -> pa.Array:
    """Texts one after the other. Arrow would import pandas to make something of a `str`."""
    count = next(len(part) for part in parts if not isinstance(part, str))
    arrays = [repeat(part, count) if isinstance(part, str) else part for part in (*parts, "")]
    return pc.binary_join_element_wise(*arrays)


def _text(values: Ints) -> pa.Array:
    return int_array(values).cast(pa.string())


def _tenths(values: rhythm.Reals) -> pa.Array:
    """Numbers to a tenth, shortest form (43, not 43.0), looked up: there are few different ones."""
    tenths = np.rint(values * 10).astype(np.int64)
    lowest, highest = int(tenths.min()), int(tenths.max())
    written = texts([f"{value / 10:.1f}".removesuffix(".0") for value in range(lowest, highest + 1)])
    return written.take(int_array(tenths - lowest)).cast(pa.string())


def _iso(times_ms: Ints) -> pa.Array:
    written = int_array(times_ms).cast(pa.timestamp("ms")).cast(pa.string()).cast(pa.binary())
    return _joined(pc.binary_replace_slice(written, 10, 11, b"T").cast(pa.string()), "Z")


def _bytes(lines: pa.Array) -> pa.Buffer:
    """The text of all lines, which lies in one piece behind the array."""
    return lines.buffers()[2]


@dataclass(frozen=True, slots=True)
class _Form:
    """How a stream is written: `code` keeps the streams' random numbers apart."""

    code: int
    suffix: str
    header: bytes
    lines: Callable[[Town, np.random.Generator, Ints, Ints], pa.Array]
    spoil: Callable[[pa.Array], pa.Array]


STREAMS: Mapping[str, _Form] = {
    "traffic": _Form(10, "json", b"", traffic_lines, spoil_json),
    "parking": _Form(11, "csv", b"id,carPark,at,free\n", parking_lines, spoil_csv),
    "weather": _Form(12, "json", b"", weather_lines, spoil_json),
}
