"""`freshet demo --web`: the town behind HTTP, in a browser."""

import json
import re
import signal
import subprocess
import sys

import pytest

from http_server import Client

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_the_town_is_served_until_it_is_stopped(tmp_path, page, screenshot):
    command = [sys.executable, "-m", "freshet", "demo", "--web", "--listen", "127.0.0.1:0"]
    town = subprocess.Popen(
        [*command, "--folder", str(tmp_path / "town")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        url = next(found[1] for line in town.stdout if (found := re.search(r"is at (http://[^/]+)/", line)))
        client = Client(url)
        answer = client.get("/queries/spaces/answers?after=start&limit=1", Accept="application/x-ndjson")
        report = json.loads(answer.data)
        assert report["stream"] == "rstream"
        assert {row["place"]["value"][:6] for row in report["bindings"]} == {"POINT("}
        names = {query["name"] for query in json.loads(client.get("/queries").data)["queries"]}
        assert names == {"congestion", "rain", "filling", "spaces"}
        page.goto(f"{url}/#/query/spaces")
        page.get_by_role("tab", name="Map").click()
        expect(page.locator("figure .mark circle")).to_have_count(24)
        screenshot("town-map")
        page.goto(f"{url}/#/query/congestion")
        page.get_by_role("tab", name="Chart").click()
        expect(page.locator("figure polyline").first).to_be_visible()
        screenshot("town-chart")
        page.get_by_role("link", name="Overview").click()
        expect(page.get_by_role("heading", name="http://example.org/city/parking")).to_be_visible()
        screenshot("town")
        town.send_signal(signal.SIGINT)
        assert town.wait(120) == 0
    finally:
        town.kill()
        town.wait()
