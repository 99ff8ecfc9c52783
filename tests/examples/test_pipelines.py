"""The examples that run on Spark, all in one Spark session."""

from __future__ import annotations

import csv
import json
import runpy
from collections import defaultdict
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from example_folders import copy_of, reports

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CITY = "http://example.org/city/"
ROADS = {
    "s1": "Ring Road",
    "s2": "Ring Road",
    "s3": "Market Street",
    "s4": "Cathedral Street",
    "s5": "Harbour Road",
    "s6": "Harbour Road",
}


def run(spark: SparkSession, folder: Path) -> str:
    from pipeline_runs import run_to_the_end

    return run_to_the_end(folder / "pipeline.yaml", spark)


def milliseconds(text: str) -> int:
    return round(1000 * datetime.fromisoformat(text).timestamp())


def test_house_gives_the_answers_of_the_recording(spark: SparkSession, tmp_path: Path) -> None:
    house = copy_of("house", tmp_path)
    run(spark, house)
    found = reports(house, "warmFloors")
    assert [time for time, _ in found] == list(range(10_000, 80_000, 10_000))
    averages = [{row["floor"][-1]: round(float(row["average"]), 2) for row in rows} for _, rows in found]
    assert averages == [
        {"1": 19.25, "2": 21.0},
        {"1": 19.83, "2": 21.0},
        {"1": 19.75, "2": 21.5},
        {"1": 19.67, "2": 21.5},
        {"1": 20.83, "2": 22.0},
        {"1": 20.75, "2": 22.25},
        {"1": 19.5, "2": 22.5},
    ]


def records(folder: Path) -> list[dict[str, str]]:
    return [row for file in sorted(folder.iterdir()) for row in csv.DictReader(file.open(encoding="utf-8"))]


def test_city_answers_four_queries(spark: SparkSession, tmp_path: Path) -> None:
    city = copy_of("city", tmp_path)
    runpy.run_path(str(city / "generate.py"))["main"](city)
    run(spark, city)
    traffic, parking = records(city / "in" / "traffic"), records(city / "in" / "parking")
    assert (len(traffic), len(parking)) == (120, 60)

    slowest = [row for row in traffic if float(row["speed"]) < 15]
    jams = [(milliseconds(row["at"]), ROADS[row["sensor"]], row["speed"]) for row in slowest]
    found = [(time, row["name"], row["speed"]) for time, rows in reports(city, "jam") for row in rows]
    assert sorted(found) == sorted(jams)

    speeds: dict[tuple[int, str], list[Decimal]] = defaultdict(list)
    for row in traffic:
        time = milliseconds(row["at"])
        for close in (time - time % 60_000 + 60_000, time - time % 60_000 + 120_000):
            speeds[close, ROADS[row["sensor"]]].append(Decimal(row["speed"]))
    slow = {key: sum(values) / len(values) for key, values in speeds.items() if sum(values) / len(values) < 25}
    congested = {
        (time, row["name"]): Decimal(row["average"]) for time, rows in reports(city, "congestion") for row in rows
    }
    assert congested.keys() == slow.keys()
    assert all(abs(congested[key] - slow[key]) < Decimal("1e-12") for key in slow)

    most: dict[int, int] = {}
    for row in parking:
        if row["car_park"] == "market" and int(row["taken"]) > 108:
            time = milliseconds(row["at"])
            for close in (time - time % 60_000 + 60_000, time - time % 60_000 + 120_000):
                most[close] = max(most.get(close, 0), int(row["taken"]))
    full = {time: [(row["name"], int(row["most"])) for row in rows] for time, rows in reports(city, "nearlyFull")}
    assert full == {time: [("Market", taken)] for time, taken in most.items()}

    advice = [(row["road"], row["carPark"]) for _, rows in reports(city, "parkHere") for row in rows]
    assert set(advice) == {("Market Street", "Market"), ("Cathedral Street", "Station")}
    assert [row["carPark"] for row in reports(city, "parkHere")[-1][1]] == ["Station"]


def test_joined_streams_join_each_speed_with_its_flow(spark: SparkSession, tmp_path: Path) -> None:
    joined = copy_of("joined-streams", tmp_path)
    said = run(spark, joined)
    speeds, flows = (
        {(row["lane"], row["minute"]): row for row in map(json.loads, (joined / "in" / name / "1.json").open())}
        for name in ("speed", "flow")
    )
    dense = sorted(
        (lane, speed["kmh"], flows[lane, minute]["vehicles"])
        for (lane, minute), speed in speeds.items()
        if (lane, minute) in flows and flows[lane, minute]["vehicles"] / speed["kmh"] > 30
    )
    found = [row for _, rows in reports(joined, "dense") for row in rows]
    lanes = sorted((row["lane"].rsplit("/", 1)[1], int(row["kmh"]), int(row["vehicles"])) for row in found)
    assert lanes == dense
    assert len(dense) == 3
    assert "7 pairs of 8 and 7 records" in said
