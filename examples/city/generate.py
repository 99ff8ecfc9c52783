"""Write ten minutes of a small town's sensors as CSV: `python generate.py [FOLDER]`. The same data every time.

Traffic sensors count vehicles and measure their speed; car parks count the places that are taken. Both report every
thirty seconds. In the old town traffic slows down after four minutes, and the market's car park fills up.
"""

from __future__ import annotations

import csv
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from time import time

START = datetime(2024, 6, 3, 8, 0, tzinfo=UTC)
STEPS = 20  # of thirty seconds
SENSORS = {"s1": 55, "s2": 50, "s3": 42, "s4": 45, "s5": 70, "s6": 65}  # km/h in free traffic
OLD_TOWN = {"s3", "s4"}
CAR_PARKS = {"market": (120, 90), "station": (300, 140), "harbour": (80, 20)}  # places, and how many are taken first


def traffic(random: Random) -> list[list[object]]:
    """sensor, at, speed, vehicles"""
    rows: list[list[object]] = []
    for step in range(STEPS):
        for sensor, free in SENSORS.items():
            slow = max(0.25, 1 - 0.12 * max(0, step - 7)) if sensor in OLD_TOWN else 1.0
            speed = free * slow + random.randrange(-30, 31) / 10
            rows.append([sensor, time_of(step), f"{speed:.1f}", random.randrange(5, 40)])
    return rows


def parking(random: Random) -> list[list[object]]:
    """car_park, at, taken"""
    taken = {name: first for name, (_, first) in CAR_PARKS.items()}
    rows: list[list[object]] = []
    for step in range(STEPS):
        for name, (places, _) in CAR_PARKS.items():
            rows.append([name, time_of(step), taken[name]])
            more = random.randrange(0, 5) if name == "market" else random.randrange(-2, 3)
            taken[name] = min(places, max(0, taken[name] + more))
    return rows


def time_of(step: int) -> str:
    return (START + step * timedelta(seconds=30)).isoformat().replace("+00:00", "Z")


def write(folder: Path, header: list[str], rows: list[list[object]], files: int = 4) -> None:
    """Split the rows over some files. Freshet reads the oldest file of a folder first, so each has its own time."""
    folder.mkdir(parents=True, exist_ok=True)
    size, now = len(rows) // files, time()
    for number in range(files):
        file = folder / f"{number}.csv"
        with file.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([header, *rows[number * size : (number + 1) * size]])
        os.utime(file, (now - files + number,) * 2)


def main(folder: Path) -> None:
    random = Random(16)
    write(folder / "in" / "traffic", ["sensor", "at", "speed", "vehicles"], traffic(random))
    write(folder / "in" / "parking", ["car_park", "at", "taken"], parking(random))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
