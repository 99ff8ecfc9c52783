"""`freshet serve PIPELINE.yaml`: Spark feeds, HTTP asks and subscribes."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from http_server import ServerProcess
from shared_data import ROOT
from waiting import wait_until

STREAM = "http://example.org/house/temperature"
_COUNT = """SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <w> ON <http://example.org/house/temperature>
[RANGE PT10S STEP PT10S] WHERE { WINDOW <w> { ?s <http://example.org/house/degrees> ?d } }"""

_VISITS = _COUNT.replace("house/temperature", "house/visits").replace("degrees", "visits")
_VISIT = "<http://example.org/ann> <http://example.org/house/visits> <http://example.org/kitchen> ."


def _taken(server, path):
    answer = server.send("GET", path, stream=True, Accept="application/x-ndjson")
    return [json.loads(line) for line in answer.read().splitlines() if line]  # an empty one is a sign of life


def _elements(derivations):
    for derivation in derivations:
        yield from derivation["elements"]
        for members in derivation.get("members", ()):
            yield from _elements(members["derivations"])


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
        why = json.loads(server.get(f"/queries/warmFloors/why?id={first[0]['id']}&row=0").data)
        elements = list(_elements(why["derivations"]))
        assert elements
        for each in elements:
            name, _, line = each["record"].removeprefix("file:").partition("#L")
            record = json.loads(Path(name).read_text().splitlines()[int(line) - 1])
            assert each["subject"]["value"].endswith(f"/{record['id']}")
        rooms = server.ask("SELECT ?room { ?room <http://example.org/house/floor> ?f }", Origin="http://app.example")
        assert len(json.loads(rooms.data)["results"]["bindings"]) > 2
        assert rooms.headers["access-control-allow-origin"] == "http://app.example"
        posted = server.send("POST", "/streams/temperature", "", Content_Type="text/turtle")
        assert posted.status == 409
        assert server.send("PUT", "/queries/count", _COUNT).status == 201
        assert server.send("PUT", "/queries/short", _COUNT).status == 201
        assert server.send("DELETE", "/queries/short").status == 204
        refused = server.send("DELETE", "/queries/warmFloors")
        assert (refused.status, "the pipeline file has" in refused.data.decode()) == (409, True)
        assert server.send("PUT", "/streams/visits?iri=http://example.org/house/visits").status == 201
        assert server.send("PUT", "/queries/visited", _VISITS).status == 201
        for second in (1, 12):
            posted = server.send("POST", f"/streams/visits?time={second}000", _VISIT, Content_Type="text/turtle")
            assert posted.status == 200
        [visited] = _taken(server, "/queries/visited/answers?after=start&limit=1")
        (folder / "in/temperature/8.json").write_text('{"id": "nonsense"\n')
        wait_until(lambda: json.loads(server.get("/rejects").data)["total"] == 1)
        [rejected] = json.loads(server.get("/rejects").data)["rejects"]
        assert (rejected["stream"], rejected["record"]) == (STREAM, '{"id": "nonsense"')
        assert rejected["source"] == f"{folder / 'in/temperature/8.json'}, line 1"
        assert json.loads(server.get("/streams/temperature").data)["rejected"] == 1
        shutil.copy(folder / "in/temperature/1.json", folder / "in/temperature/9.json")
        stream, _ = json.loads(server.get("/streams").data)["streams"]
        wait_until(lambda: json.loads(server.get("/streams").data)["streams"][0]["elements"] > stream["elements"])
        server.kill()
    with ServerProcess(file) as server:
        wait_until(lambda: b'"count"' in server.get("/queries").data)
        assert json.loads(server.get("/queries/count").data)["text"] == _COUNT
        assert _taken(server, "/queries/visited/answers?after=start&limit=1") == [visited]
        assert server.get("/queries/short").status == 404
        posted = server.send("POST", "/streams/visits?time=25000", _VISIT, Content_Type="text/turtle")
        assert posted.status == 200
        [later] = _taken(server, f"/queries/visited/answers?after={visited['id']}&limit=1")
        assert later["time"] == 20_000
        again = _taken(server, "/queries/warmFloors/answers?after=start&limit=3")
        assert again == first
        assert server.stop(signal.SIGINT) == 0
