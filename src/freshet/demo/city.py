"""A generated town: districts, roads with traffic sensors, car parks and weather stations, and its stored graph.

Everything comes from a seed, so the same arguments always give the same bytes. The observations that its sensors make
are in `observations`, and how its days go in `rhythm`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

TURTLE_PREFIXES = """\
@prefix city: <http://example.org/city#> .
@prefix district: <http://example.org/city/district/> .
@prefix road: <http://example.org/city/road/> .
@prefix sensor: <http://example.org/city/sensor/> .
@prefix carpark: <http://example.org/city/carpark/> .
@prefix station: <http://example.org/city/station/> .
@prefix sosa: <http://www.w3.org/ns/sosa/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix geo: <http://www.opengis.net/ont/geosparql#> .
"""

_DISTRICTS = (
    "Old Town",
    "Harbour",
    "Mill Hill",
    "Northgate",
    "Orchards",
    "Station Quarter",
    "Riverside",
    "University",
    "Saltmarsh",
    "Foundry",
    "Castle Park",
    "Weavers",
)
_ROAD_NAMES = ("Abbey", "Bridge", "Cooper", "Dyke", "Elm", "Ferry", "Garden", "Hope", "Iron", "Juniper", "King", "Lark")
_ROAD_KINDS = ("Street", "Road", "Lane", "Avenue", "Quay", "Way")
_CAR_PARK_KINDS = ("Garage", "Car Park", "Yard", "Deck")
_SPEED_LIMITS = (30, 50, 50, 50, 70)
NEAR_ROADS = 3


@dataclass(frozen=True)
class Town:
    """A town as arrays: row `i` of `road_districts` is the district of road `i`, and so on.

    `pulls` says how strongly each district draws people in (the first, the centre, most).
    """

    seed: int
    districts: int
    stations: int
    road_districts: Ints
    speed_limits: Ints
    sensor_roads: Ints
    car_park_districts: Ints
    capacities: Ints
    near_roads: Ints
    pulls: NDArray[np.float64]

    @property
    def district_stations(self) -> Ints:
        """The weather station that covers each district."""
        return np.arange(self.districts, dtype=np.int64) % self.stations


def make_town(
    seed: int = 7,
    *,
    districts: int = 8,
    roads: int = 48,
    sensors: int = 240,
    car_parks: int = 24,
    stations: int = 4,
) -> Town:
    """Lay out a town. Roads and car parks are dealt to the districts in turn, sensors to the roads."""
    random = np.random.default_rng([seed, 0])
    road_districts = np.arange(roads, dtype=np.int64) % districts
    car_park_districts = np.arange(car_parks, dtype=np.int64) % districts
    return Town(
        seed=seed,
        districts=districts,
        stations=min(stations, districts),
        road_districts=road_districts,
        speed_limits=random.choice(np.array(_SPEED_LIMITS, dtype=np.int64), roads),
        sensor_roads=random.permutation(np.arange(sensors, dtype=np.int64) % roads),
        car_park_districts=car_park_districts,
        capacities=random.integers(8, 60, car_parks) * 10,
        near_roads=_near_roads(random, car_park_districts, roads, districts),
        pulls=np.linspace(1.0, 0.45, districts),
    )


def _near_roads(random: np.random.Generator, car_park_districts: Ints, roads: int, districts: int) -> Ints:
    """Roads of its own district for each car park; fewer than NEAR_ROADS where the district has fewer."""
    per_district = max(1, roads // districts)
    count = min(NEAR_ROADS, per_district)
    picks = np.argsort(random.random((car_park_districts.size, per_district)), axis=1)[:, :count]
    return np.asarray((picks * districts + car_park_districts[:, None]) % roads, dtype=np.int64)


def write_city(folder: Path, **size: int) -> Town:
    """Make a town (see `make_town`) and write its stored graph as `city.ttl` in `folder`."""
    town = make_town(**size)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "city.ttl").write_text(turtle(town), encoding="utf-8")
    return town


def turtle(town: Town) -> str:
    """The stored graph of a town."""
    return TURTLE_PREFIXES + "\n" + "\n".join(_statements(town)) + "\n"


def district_names(town: Town) -> list[str]:
    """A name for each district, numbered once the names run out."""
    return [_numbered(_DISTRICTS, number) for number in range(town.districts)]


def road_names(town: Town) -> list[str]:
    """A name for each road."""
    names = [f"{name} {kind}" for kind in _ROAD_KINDS for name in _ROAD_NAMES]
    return [_numbered(names, number) for number in range(len(town.road_districts))]


def car_park_names(town: Town) -> list[str]:
    """A name for each car park, after its district."""
    districts = district_names(town)
    return [
        f"{districts[district]} {_numbered(_CAR_PARK_KINDS, number // town.districts)}"
        for number, district in enumerate(town.car_park_districts)
    ]


def car_park_places(town: Town) -> list[tuple[float, float]]:
    """Longitude and latitude of each car park: districts lie on a ring, their car parks on a small one each."""
    west, south = 5.12, 52.09
    found = []
    for number, district in enumerate(town.car_park_districts):
        about = 2 * math.pi * district / town.districts
        within = 2 * math.pi * (number // town.districts) / max(1, len(town.car_park_districts) // town.districts)
        longitude = west + 0.04 * math.cos(about) + 0.008 * math.cos(within + about)
        latitude = south + 0.025 * math.sin(about) + 0.005 * math.sin(within + about)
        found.append((round(longitude, 5), round(latitude, 5)))
    return found


def _numbered(names: tuple[str, ...] | list[str], number: int) -> str:
    again = number // len(names)
    return names[number % len(names)] + (f" {again + 1}" if again else "")


def _statements(town: Town) -> Iterator[str]:
    for number, name in enumerate(district_names(town)):
        yield f'district:{number} a city:District ; rdfs:label "{name}" .'
    for number, name in enumerate(road_names(town)):
        yield (
            f'road:{number} a city:Road ; rdfs:label "{name}" ; city:inDistrict district:{town.road_districts[number]}'
            f" ; city:speedLimit {town.speed_limits[number]} ."
        )
    for number, road in enumerate(town.sensor_roads):
        yield f"sensor:s{number} a sosa:Sensor ; city:onRoad road:{road} ."
    places = car_park_places(town)
    for number, name in enumerate(car_park_names(town)):
        longitude, latitude = places[number]
        near = ", ".join(f"road:{road}" for road in town.near_roads[number])
        yield (
            f'carpark:p{number} a city:CarPark ; rdfs:label "{name}" ; city:capacity {town.capacities[number]}'
            f" ; city:inDistrict district:{town.car_park_districts[number]} ; city:near {near}"
            f' ; geo:asWKT "POINT({longitude} {latitude})"^^geo:wktLiteral .'
        )
    for station in range(town.stations):
        covered = np.flatnonzero(town.district_stations == station)
        covers = ", ".join(f"district:{number}" for number in covered)
        yield f"station:w{station} a sosa:Sensor ; city:covers {covers} ."
