"""A feed of server-sent events through a real server: every ship is where the feed says."""

from __future__ import annotations

import importlib
import json
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

from example_folders import EXAMPLES
from http_server import ServerProcess

FOLDER: Path = EXAMPLES / "ships"
SECONDS = 25


@pytest.fixture
def ships(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("feed"), importlib.import_module("forward")


def reports(server: ServerProcess, query: str, count: int) -> list[dict]:
    path = f"/queries/{query}/answers?after=start&limit={count}"
    answer = server.send("GET", path, stream=True, Accept="application/x-ndjson")
    return [json.loads(line) for line in answer.read().splitlines() if line]


@pytest.mark.slow
def test_the_ships_are_where_the_feed_says(ships: tuple[ModuleType, ModuleType]) -> None:
    feed, forward = ships
    start_ms = int(feed.START.timestamp() * 1000)
    with ServerProcess("-d", FOLDER / "ships.ttl") as server:
        forward.prepare(server.url)
        forward.prepare(server.url)  # again: nothing changes
        running = feed.Feed(pace=0.01, seconds=SECONDS).start()
        assert forward.forward(running.url, server.url) == SECONDS * len(feed.SHIPS)
        assert forward.forward(running.url, server.url) == SECONDS * len(feed.SHIPS)  # each post counts once
        running.shutdown()
        running.server_close()
        for number, report in enumerate(reports(server, "where", SECONDS - 2)):
            assert report["time"] == start_ms + (number + 1) * 1000
            found = {(float(row["lat"]["value"]), float(row["long"]["value"])) for row in report["bindings"]}
            now = [feed.position(mmsi, number) for mmsi in feed.SHIPS]
            assert found == {(each["lat"], each["lon"]) for each in now}
        speeds = reports(server, "speeds", 4)[-1]
        expected = defaultdict(list)
        for number, mmsi in enumerate(feed.SHIPS):
            kind = ("ferry", "cargo", "tanker", "fishing")[number % 4]
            expected[kind] += [feed.position(mmsi, second)["sog"] for second in range(20)]
        averages = {row["kind"]["value"]: float(row["average"]["value"]) for row in speeds["bindings"]}
        assert averages == {kind: pytest.approx(sum(knots) / len(knots)) for kind, knots in expected.items()}
        [anchored] = reports(server, "anchored", 1)
        assert {row["name"]["value"] for row in anchored["bindings"]} == {"Delphin", "Havel", "Luna"}
