"""A pipeline whose streams clients feed by POST: no Spark, and nothing is lost by kills."""

import itertools
import json
import random

import pytest

from http_server import ServerProcess
from waiting import wait_until

_MAPPING = """@prefix rml: <http://w3id.org/rml/> . @base <http://e/> .
<R> rml:logicalSource [ rml:source "rooms" ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$" ] ;
  rml:subjectMap [ rml:template "http://e/room/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate <http://e/degrees> ; rml:objectMap [ rml:reference "degrees" ] ] .
"""
_PIPELINE = """
streams:
  visits: {iri: http://e/visits, post: true, absorb: all}
  rooms:
    iri: http://e/rooms
    post: true
    mapping: rooms.ttl
    time: {reference: $.at, as: epoch_ms}
    lateness: 1s
queries:
  visited:
    text: |
      SELECT ?who (COUNT(*) AS ?n) FROM NAMED WINDOW <w> ON <http://e/visits> [RANGE PT10S STEP PT1S]
      WHERE { WINDOW <w> { ?who <http://e/visits> ?room } } GROUP BY ?who
    sinks: [{files: out}]
  warm:
    text: |
      SELECT ?room ?d FROM NAMED WINDOW <w> ON <http://e/rooms> [RANGE PT1S STEP PT1S]
      WHERE { WINDOW <w> { ?room <http://e/degrees> ?d } }
    sinks: [{files: warm}]
checkpoint: {folder: checkpoint, every: 100ms}
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "rooms.ttl").write_text(_MAPPING)
    written = tmp_path / "pipeline.yaml"
    written.write_text(_PIPELINE)
    return written


def _visit(http, second, key=None):
    line = f"{second * 1000}\t<http://e/{second % 3}> <http://e/visits> <http://e/{second}> .\n"
    headers = {"Idempotency_Key": key} if key else {}
    answer = http.send("POST", "/streams/visits", line, Content_Type="text/plain", **headers)
    assert answer.status == 200, answer.data
    return json.loads(answer.data)


def _advance_rooms(http):
    """Bring the other stream far enough not to matter."""
    return http.send("POST", "/streams/rooms?watermark=100000000", "", Content_Type="text/plain")


def _reports(folder):
    lines = [line for part in sorted(folder.glob("part-*")) for line in part.read_text().splitlines()]
    return [json.loads(line) for line in lines]


def _counts(report):
    return {row["who"]["value"][-1]: int(row["n"]["value"]) for row in report["bindings"]}


def _expected(close):
    seconds = range(max(0, close - 10), close)
    return {str(who): len([each for each in seconds if each % 3 == who]) for who in {each % 3 for each in seconds}}


def test_records_and_rdf_are_posted_and_survive_a_kill(file):
    with ServerProcess(file) as http:
        for second in range(4):
            assert _visit(http, second, f"k{second}") == {"stream": "http://e/visits", "elements": 1, "repeated": False}
        records = "".join(json.dumps({"id": at, "degrees": at, "at": at * 1000}) + "\n" for at in (1, 2, 4))
        answer = http.send("POST", "/streams/rooms", records, Content_Type="application/x-ndjson")
        assert (answer.status, json.loads(answer.data)["records"]) == (200, 3)
        wait_until(lambda: len(_reports(file.parent / "warm")) == 2)  # without a batch that comes after
        mapped = json.loads(http.get("/streams/rooms").data)
        assert (mapped["records"], mapped["elements"], mapped["lateness"]) == (3, 3, 1000)
        assert mapped["mapping"]["time"] == "$.at"
        assert b'freshet_stream_records_total{stream="http://e/rooms"} 3.0' in http.get("/metrics").data
        assert (
            http.send(
                "PUT",
                "/queries/added",
                "SELECT ?s FROM NAMED WINDOW <w> ON <http://e/rooms> [RANGE PT1S STEP"
                " PT1S] WHERE { WINDOW <w> { ?s ?p ?o } }",
            ).status
            == 201
        )
        http.kill()
    with ServerProcess(file) as http:
        assert _visit(http, 3, "k3")["repeated"]
        assert [stream["elements"] for stream in json.loads(http.get("/streams").data)["streams"]] == [4, 3]
        assert [query["name"] for query in json.loads(http.get("/queries").data)["queries"]][-1] == "added"
        _visit(http, 4)
        rows = json.loads(http.ask("SELECT (COUNT(*) AS ?n) { ?s <http://e/visits> ?o }").data)["results"]["bindings"]
        assert rows[0]["n"]["value"] == "5"
        why = http.get("/queries/visited/answers?after=start&limit=4", Accept="application/x-ndjson").data
        last = json.loads(why.splitlines()[-1])
        assert (last["time"], _counts(last)) == (4000, _expected(4))
        assert http.stop() == 0
    assert [(each["time"], _counts(each)) for each in _reports(file.parent / "out")] == [
        (close * 1000, _expected(close)) for close in range(1, 5)
    ]
    assert [each["time"] for each in _reports(file.parent / "warm")] == [2000, 3000]


def test_kills_between_checkpoints(file):
    """Checkpoints are made though no batch of Spark ever comes; and each restart goes on from one."""
    chance, end = random.Random(3), 90
    second = 0
    while second < end:
        with ServerProcess(file) as http:
            until = end if second > 60 else second + chance.randrange(30, 45)
            while second < until:
                _visit(http, second, f"k{second}")
                second += 1
            http.kill()
    with ServerProcess(file) as http:
        assert _visit(http, end - 1, f"k{end - 1}")["repeated"]  # which waits for the start
        assert _advance_rooms(http).status == 200
        more = itertools.count(end)
        made = file.parent / "checkpoint/manifests"
        wait_until(lambda: _visit(http, next(more)) and any(made.iterdir()))
        end = next(more)
        assert json.loads(http.get("/streams/visits").data)["elements"] == end
        assert http.stop() == 0
    found = [(each["time"], _counts(each)) for each in _reports(file.parent / "out")]
    assert found == [(close * 1000, _expected(close)) for close in range(1, end)]
