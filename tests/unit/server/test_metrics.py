"""Metrics, health and logs."""

import json
import logging

from prometheus_client.parser import text_string_to_metric_families

from freshet import Session
from freshet.server.logs import JsonLines, TextLines, log_fields
from http_server import server

_QUERY = """SELECT ?s FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT1S STEP PT1S] WHERE { WINDOW <w> { ?s ?p ?o } }"""


def _samples(http) -> dict[tuple[str, tuple[str, ...]], float]:
    answer = http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    found = {}
    for family in text_string_to_metric_families(answer.data.decode()):
        for sample in family.samples:
            found[sample.name, tuple(sample.labels.values())] = sample.value
    return found


def test_metrics_count_what_happens():
    with server(Session()) as http:
        http.send("PUT", "/streams/s?iri=http://e/s&absorb=all")
        http.send("PUT", "/queries/q", _QUERY)
        for time_ms in (100, 1100, 2100, 50):
            http.send("POST", f"/streams/s?time={time_ms}", "<http://e/a> <http://e/p> 1 .", Content_Type="text/turtle")
        http.send("POST", "/streams/s", "nonsense", Content_Type="text/turtle")
        http.ask("SELECT * {")
        found = _samples(http)
    assert found["freshet_stream_records_total", ("http://e/s",)] == 5
    assert found["freshet_stream_elements_total", ("http://e/s",)] == 4
    assert found["freshet_stream_late_total", ("http://e/s",)] == 1
    assert found["freshet_stream_rejected_total", ("http://e/s",)] == 1
    assert found["freshet_stream_watermark_seconds", ("http://e/s",)] == 2.1
    assert found["freshet_stream_lag_seconds", ("http://e/s",)] > 1e9
    assert found["freshet_query_reports_total", ("q",)] == 2
    assert found["freshet_query_moment_seconds", ("q",)] == 2.1
    assert found["freshet_report_seconds_count", ("q",)] == 2
    assert found["freshet_http_requests_total", ("GET", "/sparql", "400")] == 1
    assert found["freshet_http_requests_total", ("POST", "/streams/{name:path}", "200")] == 4
    assert found["freshet_http_request_seconds_count", ("/sparql",)] == 1
    assert found["freshet_bytes", ("windows",)] > 0
    assert found["freshet_bytes", ("dictionary",)] > 0
    assert ("process_resident_memory_bytes", ()) in found


def test_bound_queries_and_unknown_paths_have_no_labels_of_their_own():
    session = Session()
    session.stream("http://e/s")
    with server(session) as http:
        http.send("PUT", "/queries/q?parameters=s", _QUERY)
        for number in range(5):
            assert http.send("GET", f"/queries/q/answers?s=http://e/{number}", stream=True).status == 200
            http.get(f"/nowhere/{number}")
        names = set(_samples(http))
    assert ("freshet_query_subscribers", ("q",)) in names
    assert not [labels for _, labels in names if any("http://e/1" in each or "nowhere" in each for each in labels)]


def test_health_says_what_is_the_trouble(tmp_path, monkeypatch):
    with Session(checkpoint=tmp_path) as session, server(session) as http:
        answer = http.get("/health")
        assert (answer.status, json.loads(answer.data)["status"]) == (200, "ok")
        monkeypatch.setattr(session._durable._checkpoint, "trouble", "the disk is full")
        answer = http.get("/health")
        assert (answer.status, json.loads(answer.data)["detail"]) == (503, "the disk is full")


def test_log_lines():
    record = logging.LogRecord("freshet.server", logging.INFO, "", 0, "stream %s", ("s",), None)
    record.__dict__.update(log_fields(stream="http://e/s"))
    line = json.loads(JsonLines().format(record))
    assert (line["level"], line["logger"], line["message"]) == ("info", "freshet.server", "stream s")
    assert line["stream"] == "http://e/s"
    assert line["time"].endswith("Z")
    assert TextLines().format(record) == "freshet: stream s stream=http://e/s"
