"""The generated town: the same for the same seed, well formed, and alive."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest

from freshet.demo.city import make_town, turtle, write_city
from freshet.demo.folder import write_demo
from freshet.demo.live import write_live
from freshet.demo.observations import MORNING_MS, STREAMS, Faults, Rates, Written, write_observations
from freshet.demo.rhythm import bustle, occupancies, rain_mm, speeds
from freshet.syntax.parser import parse_query

DEMO = Path(write_demo.__code__.co_filename).parent / "files"
CITY = "http://example.org/city#"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def json_records(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for path in sorted(folder.glob("*.json")) for line in path.read_text().splitlines()]


def milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        town = write_city(tmp_path / name, seed=seed)
        write_observations(tmp_path / name, town, seconds=120, files=3, faults=Faults(0.1, 500))
    a, b, c = (contents(tmp_path / name) for name in "abc")
    assert a == b
    assert a.keys() == c.keys()
    assert all(a[name] != c[name] for name in a)


def test_traffic_is_json_lines(tmp_path: Path) -> None:
    town = make_town(sensors=20)
    written = write_observations(tmp_path, town, seconds=60, files=4)
    records = json_records(tmp_path / "traffic")
    assert written["traffic"].records == len(records) == 120
    assert written["traffic"].files == 4
    assert written["traffic"].bytes == sum(path.stat().st_size for path in (tmp_path / "traffic").iterdir())
    assert [record["id"] for record in records] == list(range(120))
    times_ms = [milliseconds(str(record["at"])) for record in records]
    assert times_ms == sorted(times_ms)
    assert (times_ms[0], times_ms[-1]) == (MORNING_MS, MORNING_MS + 59_500)
    assert {record["sensor"] for record in records} == {f"s{number}" for number in range(20)}
    assert all(set(record) == {"id", "sensor", "at", "vehicles", "speed"} for record in records)


def test_parking_is_csv(tmp_path: Path) -> None:
    town = make_town(car_parks=6)
    write_observations(tmp_path, town, seconds=600, files=2)
    rows = [
        row
        for path in sorted((tmp_path / "parking").glob("*.csv"))
        for row in csv.DictReader(path.read_text().splitlines())
    ]
    assert [row["id"] for row in rows] == [str(number) for number in range(30)]
    assert {row["carPark"] for row in rows} == {f"p{number}" for number in range(6)}
    assert all(0 <= int(row["free"]) <= town.capacities[int(row["carPark"][1:])] for row in rows)


def test_weather_is_json_lines(tmp_path: Path) -> None:
    write_observations(tmp_path, make_town(stations=3), seconds=600)
    records = json_records(tmp_path / "weather")
    assert len(records) == 30
    assert all(set(record) == {"id", "station", "at", "temperature", "rain"} for record in records)


def test_numbers_are_in_shortest_form(tmp_path: Path) -> None:
    write_observations(tmp_path, make_town(), seconds=60)
    text = next((tmp_path / "traffic").iterdir()).read_text()
    assert ".0}" not in text
    assert '"speed":' in text


def test_the_malformed_rate(tmp_path: Path) -> None:
    written = write_observations(
        tmp_path, make_town(), seconds=100, rates=Rates(200, 50, 20), files=2, faults=Faults(malformed_rate=0.05)
    )
    for stream in ("traffic", "weather"):
        bad = sum(not _readable_json(line) for line in _lines(tmp_path / stream))
        assert bad == written[stream].malformed
    bad = sum(not _readable_csv(line) for line in _lines(tmp_path / "parking") if not line.startswith("id,"))
    assert bad == written["parking"].malformed
    assert written["traffic"].malformed / written["traffic"].records == pytest.approx(0.05, rel=0.15)


def _lines(folder: Path) -> list[str]:
    return [line for path in sorted(folder.iterdir()) for line in path.read_text().splitlines()]


def _readable_json(line: str) -> bool:
    try:
        datetime.fromisoformat(json.loads(line)["at"])
    except ValueError:
        return False
    return True


def _readable_csv(line: str) -> bool:
    try:
        datetime.fromisoformat(line.split(",")[2])
    except ValueError:
        return False
    return True


def test_disorder_is_bounded(tmp_path: Path) -> None:
    write_observations(tmp_path, make_town(), seconds=300, faults=Faults(disorder_ms=2_000))
    times_ms = np.array([milliseconds(str(record["at"])) for record in json_records(tmp_path / "traffic")])
    behind_ms = np.maximum.accumulate(times_ms) - times_ms
    assert 1_000 < behind_ms.max() <= 2_000


def test_a_rate_of_nought_gives_no_file(tmp_path: Path) -> None:
    written = write_observations(tmp_path, make_town(), seconds=10, rates=Rates(1, 0, 0))
    assert written["parking"] == Written()
    assert [path.name for path in (tmp_path / "parking").iterdir()] == []


def test_the_stored_graph() -> None:
    town = make_town(districts=3, roads=7, sensors=10, car_parks=5, stations=2)
    store = ox.Store()
    store.load(turtle(town), ox.RdfFormat.TURTLE)

    def count(pattern: str) -> int:
        prefixes = f"PREFIX city: <{CITY}> PREFIX sosa: <http://www.w3.org/ns/sosa/>"
        rows = store.query(f"{prefixes} SELECT (COUNT(*) AS ?n) {{ {pattern} }}")
        return int(next(iter(rows))["n"].value)

    assert count("?x a city:District") == 3
    assert count("?x a city:Road ; city:inDistrict ?d ; city:speedLimit ?l . ?d a city:District") == 7
    assert count("?x a sosa:Sensor ; city:onRoad ?r . ?r a city:Road") == 10
    assert count("?x a city:CarPark ; city:capacity ?c ; city:inDistrict ?d") == 5
    assert count("?x a city:CarPark ; <http://www.opengis.net/ont/geosparql#asWKT> ?place") == 5
    assert count("?x city:covers ?d") == 3
    assert count("?x a city:CarPark ; city:near ?r") == 5 * 2
    assert count("?x city:near ?r ; city:inDistrict ?d FILTER NOT EXISTS { ?r city:inDistrict ?d }") == 0


def test_a_town_of_any_size() -> None:
    for districts in (1, 2, 30):
        for many in (1, 2, 100):
            town = make_town(districts=districts, roads=many, sensors=many, car_parks=many, stations=5)
            list(ox.parse(turtle(town), ox.RdfFormat.TURTLE))


def test_the_town_is_alive() -> None:
    town = make_town()
    midnight_ms = MORNING_MS - MORNING_MS % 86_400_000
    every_minute = midnight_ms + np.arange(0, 86_400_000, 60_000)
    busy = bustle(every_minute)
    assert busy[8 * 60 + 15] > 4 * busy[3 * 60], "the rush hour is busier than the night"
    assert busy[8 * 60 + 15] > 1.5 * bustle(every_minute - 86_400_000)[8 * 60 + 15], "Sunday is quiet"
    first = np.zeros(every_minute.size, dtype=np.int64)
    free = occupancies(town, first, every_minute)
    assert free[12 * 60] > 2 * free[5 * 60], "car parks fill"
    rain = rain_mm(town, first, every_minute)
    assert 0.1 < (rain > 0).mean() < 0.6, "it rains now and then"
    roads = np.flatnonzero(town.road_districts % town.stations == 0)
    night = np.full(roads.size, midnight_ms + 3 * 3_600_000)
    rush = np.full(roads.size, midnight_ms + 8 * 3_600_000 + 900_000)
    assert speeds(town, roads, rush).mean() < 0.75 * speeds(town, roads, night).mean()


def test_live_writing_keeps_pace_and_is_the_same_at_any(tmp_path: Path) -> None:
    town = make_town()

    class Clock:
        """Sleeping moves it; a slow machine is late for every third tick."""

        def __init__(self, slow: bool) -> None:
            self.now, self.slow, self.naps = 100.0, slow, list[float]()

        def __call__(self) -> float:
            self.now += 0.2 if self.slow else 0.0
            return self.now

        def sleep(self, seconds: float) -> None:
            self.naps.append(seconds)
            self.now += seconds

    for name, slow in (("a", False), ("b", True)):
        clock = Clock(slow)
        written = write_live(tmp_path / name, town, seconds=3, speed=60, clock=clock, sleep=clock.sleep)
        assert written["traffic"] == Written(24 * 180, 0, 6, written["traffic"].bytes)
        if not slow:
            assert clock.naps == pytest.approx([0.5] + [0.5 / 3] * 17)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_live_writing_stops(tmp_path: Path) -> None:
    answers = iter([False] * 3 + [True])
    written = write_live(
        tmp_path, make_town(), seconds=3, stopped=lambda: next(answers), clock=lambda: 0.0, sleep=lambda _: None
    )
    assert written["traffic"].files == 1


def test_no_half_written_file_is_left(tmp_path: Path) -> None:
    write_observations(tmp_path, make_town(), seconds=60, files=3)
    assert list(tmp_path.rglob(".*")) == []


def test_the_demo_is_laid_out_whole(tmp_path: Path) -> None:
    write_demo(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"city.ttl", "in", *(path.name for path in DEMO.iterdir())}
    assert {path.name for path in (tmp_path / "in").iterdir()} == set(STREAMS)


def test_the_demo_pipeline_is_sound(tmp_path: Path) -> None:
    from freshet.runtime.pipeline_file import read_pipeline

    write_demo(tmp_path)
    pipeline = read_pipeline(tmp_path / "pipeline.yaml")
    assert set(pipeline.streams) == set(STREAMS)
    assert set(pipeline.queries) == {"congestion", "rain", "filling"}


@pytest.mark.parametrize("name", ["congestion", "rain", "filling"])
def test_the_demo_queries(name: str) -> None:
    query = parse_query((DEMO / f"{name}.rq").read_text())
    assert query.name == name
    assert len(query.windows) == 2
