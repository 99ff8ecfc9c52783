"""`freshet serve PIPELINE.yaml`: Spark feeds, HTTP asks and subscribes."""

import json
import shutil
import signal

import pytest

from http_server import ServerProcess
from shared_data import ROOT
from waiting import wait_until

_COUNT = """SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <w> ON <http://example.org/house/temperature>
[RANGE PT10S STEP PT10S] WHERE { WINDOW <w> { ?s <http://example.org/house/degrees> ?d } }"""


def _taken(server, path):
    answer = server.send("GET", path, stream=True, Accept="application/x-ndjson")
    return [json.loads(line) for line in answer.read().splitlines() if line]  # an empty one is a sign of life


@pytest.mark.slow
@pytest.mark.spark
def test_a_pipeline_is_served_and_goes_on_after_a_kill(tmp_path):
    folder = tmp_path / "house"
    shutil.copytree(ROOT / "examples" / "house", folder)
    file = folder / "pipeline.yaml"
    text = file.read_text()
    if "checkpoint:" not in text:
        text += "checkpoint: checkpoint\n"
    file.write_text(f"{text}\nserver: {{origins: ['http://app.example']}}\n")
    with ServerProcess(file) as server:
        assert [query["name"] for query in json.loads(server.get("/queries").data)["queries"]] == ["warmFloors"]
        first = _taken(server, "/queries/warmFloors/answers?after=start&limit=3")
        assert [report["time"] for report in first] == sorted({report["time"] for report in first})
        rooms = server.ask("SELECT ?room { ?room <http://example.org/house/floor> ?f }", Origin="http://app.example")
        assert len(json.loads(rooms.data)["results"]["bindings"]) > 2
        assert rooms.headers["access-control-allow-origin"] == "http://app.example"
        posted = server.send("POST", "/streams/temperature", "", Content_Type="text/turtle")
        assert posted.status == 409
        assert server.send("PUT", "/queries/count", _COUNT).status == 201
        shutil.copy(folder / "in/temperature/1.json", folder / "in/temperature/9.json")
        [stream] = json.loads(server.get("/streams").data)["streams"]
        wait_until(lambda: json.loads(server.get("/streams").data)["streams"][0]["elements"] > stream["elements"])
        server.kill()
    with ServerProcess(file) as server:
        again = _taken(server, "/queries/warmFloors/answers?after=start&limit=3")
        assert again == first
        assert server.stop(signal.SIGINT) == 0
