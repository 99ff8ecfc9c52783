"""How a town's days go, as functions of event time over arrays: rush hours, showers, incidents, car parks.

All are smooth functions of time and the town's seed without any state, so any stretch of time can be generated alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.demo.city import Ints, Town

Reals = NDArray[np.float64]

_DAY_MS = 86_400_000
_MINUTE_MS = 60_000
_THURSDAY = 3  # 1970-01-01, counting from Monday


def hours_of_day(times_ms: Ints) -> Reals:
    """Hours since midnight, UTC."""
    return np.asarray((times_ms % _DAY_MS) / 3_600_000.0)


def bustle(times_ms: Ints) -> Reals:
    """How busy the town is, 0 to 1: peaks at a quarter past eight and half past five, half of it at the weekend."""
    hours = hours_of_day(times_ms)
    level = 0.08 + 0.85 * _peak(hours, 8.25, 0.8) + 0.8 * _peak(hours, 17.5, 1.1) + 0.3 * _peak(hours, 13.0, 2.5)
    weekend = (times_ms // _DAY_MS + _THURSDAY) % 7 >= 5
    return np.asarray(np.where(weekend, 0.5, 1.0) * np.minimum(level, 1.0))


def rain_mm(town: Town, stations: Ints, times_ms: Ints) -> Reals:
    """Rain in millimetres an hour. Showers of some twenty minutes drift over the stations one after the other."""
    phases = np.random.default_rng([town.seed, 1]).uniform(0, 2 * np.pi, 3)
    minutes = times_ms / _MINUTE_MS - 9.0 * stations
    wave = np.zeros(minutes.shape)
    for period, height, phase in zip((97.0, 41.0, 223.0), (1.0, 0.8, 0.5), phases, strict=True):
        wave += height * np.sin(2 * np.pi * minutes / period + phase)
    return np.asarray(np.maximum(0.0, wave - 0.4) * 5.0)


def temperatures(town: Town, stations: Ints, times_ms: Ints) -> Reals:
    """Degrees Celsius: coldest before dawn, and three degrees less in the rain."""
    warmth = 9.0 - 6.0 * np.cos(2 * np.pi * (hours_of_day(times_ms) - 4.0) / 24.0)
    return np.asarray(warmth - np.minimum(3.0, rain_mm(town, stations, times_ms)) + 0.3 * stations)


def incidents(town: Town, roads: Ints, times_ms: Ints) -> NDArray[np.bool_]:
    """Whether a road is blocked: some ten minutes, every few hours, each road at its own times."""
    random = np.random.default_rng([town.seed, 2])
    count = len(town.road_districts)
    periods, phases = random.uniform(150, 400, count), random.uniform(0, 2 * np.pi, count)
    return np.asarray(np.sin(2 * np.pi * times_ms / _MINUTE_MS / periods[roads] + phases[roads]) > 0.99)


def loads(town: Town, roads: Ints, times_ms: Ints) -> Reals:
    """How full each road is, 0 to 1."""
    habits = np.random.default_rng([town.seed, 3]).uniform(0.6, 1.25, len(town.road_districts))
    return np.asarray(
        np.minimum(1.0, bustle(times_ms) * habits[roads] * (0.4 + 0.6 * town.pulls[town.road_districts[roads]]))
    )


def speeds(town: Town, roads: Ints, times_ms: Ints) -> Reals:
    """Average speed on a road in km/h: less where it is full, in the rain, and much less in an incident."""
    stations = town.district_stations[town.road_districts[roads]]
    free_flow = 1.0 - 0.75 * loads(town, roads, times_ms) ** 2
    wet = 1.0 - 0.3 * np.minimum(1.0, rain_mm(town, stations, times_ms) / 4.0)
    blocked = np.where(incidents(town, roads, times_ms), 0.3, 1.0)
    return np.asarray(town.speed_limits[roads] * free_flow * wet * blocked)


def occupancies(town: Town, car_parks: Ints, times_ms: Ints) -> Reals:
    """How full each car park is, 0 to 1: fills in the morning, empties in the evening, each at its own hour."""
    random = np.random.default_rng([town.seed, 4])
    count = len(town.capacities)
    fills, leaves = random.uniform(7.0, 8.8, count)[car_parks], random.uniform(16.5, 18.5, count)[car_parks]
    hours = hours_of_day(times_ms)
    taken = _rise((hours - fills) * 3.5) * (1.0 - _rise((hours - leaves) * 2.5))
    return np.asarray(0.1 + 0.88 * taken * (0.5 + 0.5 * town.pulls[town.car_park_districts[car_parks]]))


def _peak(hours: Reals, centre: float, width: float) -> Reals:
    return np.asarray(np.exp(-(((hours - centre) / width) ** 2)))


def _rise(values: Reals) -> Reals:
    return np.asarray(1.0 / (1.0 + np.exp(-values)))
