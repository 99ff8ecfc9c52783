"""Streams over HTTP: declared, listed, and fed in every format, once."""

import json
import time
from urllib.parse import quote, urlencode

import pytest

from freshet import Session
from freshet.server.settings import Limits
from http_server import server

_TIMED = "application/x-timed-n-triples"
_IRI = "http://e/house/temperature"
_S = f"/streams/{quote(_IRI, safe='')}"


@pytest.fixture
def http():
    session = Session()
    session.stream(_IRI, absorb=True, keep_ms=1_000_000)
    with server(session, limits=Limits(body_bytes=100_000)) as running:
        yield running


def _times(http):
    """Subjects and the times at which they came."""
    state = http.session.streams()[0]
    return state.elements, state.watermark_ms


def test_streams_are_declared_and_listed():
    with server(Session()) as http:
        assert json.loads(http.get("/streams").data) == {"streams": []}
        put = http.send("PUT", f"/streams/temperature?{urlencode({'iri': _IRI, 'lateness': '2s', 'absorb': 'all'})}")
        assert (put.status, put.headers["location"]) == (201, _S)
        shown = json.loads(put.data)
        assert (shown["iri"], shown["name"], shown["lateness"], shown["absorb"]) == (_IRI, "temperature", 2000, "all")
        assert shown["watermark"] is None
        assert json.loads(http.get("/streams").data) == {"streams": [shown]}
        assert json.loads(http.get("/streams/temperature").data) == shown
        assert json.loads(http.get(_S).data) == shown
        assert http.send("PUT", f"{_S}?lateness=2s&absorb=all").status == 200
        assert http.send("PUT", f"{_S}?lateness=3s&absorb=all").status == 409
        assert http.send("PUT", f"/streams/{_IRI}2?idle=5s&absorb=http://e/p").status == 201
        assert json.loads(http.get(f"{_S}2").data)["absorb"] == ["http://e/p"]
        assert http.send("PUT", f"/streams/{_IRI}9?absorb=latest").status == 201
        assert json.loads(http.get(f"{_S}9").data)["absorb"] == "latest"
        assert http.send("PUT", f"/streams/{_IRI}8?retracts=true").status == 201
        assert json.loads(http.get(f"{_S}8").data)["retracts"] is True
        assert http.send("PUT", f"/streams/{_IRI}-graphs?graphs=true").status == 201
        assert json.loads(http.get(f"{_S}-graphs").data)["graphs"] is True
        deletion = b"1500\t- <http://e/a> <http://e/p> <http://e/b> .\n"
        statuses = [http.send("POST", each, deletion, content_type=_TIMED).status for each in (f"{_S}8", f"{_S}2")]
        assert statuses == [200, 400]
        assert http.send("PUT", f"{_S}7?retracts=maybe").status == 400
        assert http.send("PUT", f"{_S}6?absorb=latest&absorb-keep=7d").status == 201
        assert json.loads(http.get(f"{_S}6").data)["absorb"] == {"latest": True, "keep": 604_800_000}
        assert http.send("PUT", f"{_S}5?absorb-keep=7d").status == 400
        for wrong in ("/streams/short", f"{_S}3?lateness=late", f"/streams/other?iri={_IRI}", f"{_S}4?idle=0s"):
            assert http.send("PUT", wrong).status == 400
        assert http.send("DELETE", _S).status == 405


@pytest.mark.parametrize(
    ("media", "body"),
    [
        (_TIMED, "1500\t<http://e/a> <http://e/p> <http://e/b> .\n"),
        ("text/plain; charset=utf-8", "1500\t<http://e/a> <http://e/p> <http://e/b> ."),
        ("application/n-triples", "<http://e/a> <http://e/p> <http://e/b> ."),
        ("application/n-quads", "<http://e/a> <http://e/p> <http://e/b> <http://e/g> ."),
        ("text/turtle", "@prefix : <http://e/> . :a :p :b ."),
        ("application/trig", "@prefix : <http://e/> . { :a :p :b }"),
        ("application/ld+json", '{"@id": "http://e/a", "http://e/p": {"@id": "http://e/b"}}'),
        ("application/ld+ndjson", '\n{"@id": "http://e/a", "http://e/p": {"@id": "http://e/b"}}\n'),
        ("text/n3", "@prefix : <http://e/> . :a :p :b ."),
        ("application/rdf-patch", "TX .\nA <http://e/a> <http://e/p> <http://e/b> .\nTC ."),
        ("text/turtle", 'VERSION "1.2-messages" MESSAGE PREFIX : <http://e/> :a :p :b . MESSAGE'),
    ],
)
def test_every_format(http, media, body):
    answer = http.send("POST", f"{_S}?time=1500", body, Content_Type=media)
    assert (answer.status, json.loads(answer.data)["elements"]) == (200, 1), answer.data
    assert _times(http) == (1, 1500)
    assert json.loads(http.ask("ASK { <http://e/a> <http://e/p> <http://e/b> }").data)["boolean"]


def test_times_by_header_by_predicate_and_by_arrival(http):
    turtle = {"Content_Type": "text/turtle"}
    http.send("POST", _S, "<http://e/a> <http://e/p> 1 .", Event_Time="1970-01-01T00:00:02Z", **turtle)
    assert _times(http) == (1, 2000)
    two = """@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        :x :at "1970-01-01T00:00:03Z"^^xsd:dateTime ; :p 1 . :y :at 4000 ; :p 2 ."""
    path = f"{_S}?{urlencode({'time-predicate': 'http://e/at'})}"
    assert json.loads(http.send("POST", path, two, **turtle).data)["elements"] == 4
    assert _times(http) == (5, 4000)
    one = "@prefix : <http://e/> . :x :at 5000 ; :p [ :q 1 ] ."
    assert json.loads(http.send("POST", path, one, **turtle).data)["elements"] == 3
    assert _times(http) == (8, 5000)
    for wrong in (f"{two} :z :p 3 .", "<http://e/x> <http://e/p> 1 .", "<http://e/x> <http://e/at> 'now' ."):
        assert http.send("POST", path, wrong, **turtle).status == 400
    http.send("POST", _S, "<http://e/now> <http://e/p> 1 .", **turtle)
    assert _times(http)[1] > 1_700_000_000_000
    assert json.loads(http.get(_S).data)["rejected"] == 3


@pytest.mark.parametrize(
    ("path", "body", "media", "status", "part"),
    [
        ("/streams/other", "", "text/turtle", 404, "no stream"),
        (_S, "a,b", "text/csv", 415, "has no mapping"),
        (_S, "x", None, 415, "nothing"),
        (_S, "x" * 200_000, "text/turtle", 413, "100,000"),
        (_S, "5\t<http://e/a> <http://e/p> .", _TIMED, 400, "body:1:"),
        (_S, "<http://e/a> <http://e/p> <http://e/b> .", _TIMED, 400, "milliseconds TAB"),
        (_S, "\n\n<http://e/a> p .", "text/turtle", 400, "body:3:"),
        (_S, "[}", "application/ld+json", 400, "body"),
        (_S, b"\xff\xfe", "text/turtle", 400, "UTF-8"),
        (f"{_S}?time=noon", "<http://e/a> <http://e/p> 1 .", "text/turtle", 400, "noon"),
        (f"{_S}?time-predicate=at", "<http://e/a> <http://e/p> 1 .", "text/turtle", 400, "absolute"),
        (f"{_S}?time=99999999999999999999", "<http://e/a> <http://e/p> 1 .", "text/turtle", 400, "range"),
    ],
)
def test_what_is_refused(http, path, body, media, status, part):
    answer = http.send("POST", path, body, **({} if media is None else {"Content_Type": media}))
    assert answer.status == status, answer.data
    assert part in json.loads(answer.data)["detail"]
    assert http.session.streams()[0].elements == 0


def test_a_stream_of_answers_cannot_be_fed(http):
    text = f"""CONSTRUCT {{ ?s <http://e/q> ?o }} FROM NAMED WINDOW <w> ON <{_IRI}> [RANGE PT1S STEP PT1S]
        WHERE {{ WINDOW <w> {{ ?s ?p ?o }} }}"""
    assert http.send("PUT", "/queries/http%3A%2F%2Fe%2Fmade", text).status == 201
    answer = http.send("POST", "/streams/http%3A%2F%2Fe%2Fmade", "", Content_Type="text/turtle")
    assert answer.status == 409
    reader = text.replace(_IRI, "http://e/made")
    assert http.send("PUT", "/queries/reader", reader).status == 201
    assert http.send("DELETE", "/queries/http%3A%2F%2Fe%2Fmade").status == 409


def test_the_lag_is_the_wall_clock_less_the_watermark(http):
    assert json.loads(http.get(_S).data)["lag"] is None
    http.send("POST", f"{_S}?time=2000", "<http://e/a> <http://e/p> 1 .", Content_Type="text/turtle")
    before = time.time_ns() // 1_000_000
    shown = json.loads(http.get(_S).data)
    assert before - shown["watermark"] <= shown["lag"] <= time.time_ns() // 1_000_000 - shown["watermark"]


def test_a_post_can_move_the_watermark(http):
    text = f"SELECT ?s WHERE {{ STREAM <{_IRI}> [NOW] {{ ?s ?p ?o }} }}"
    assert http.send("PUT", "/queries/q?dialect=cqels", text).status == 201
    line = "5\t<http://e/a> <http://e/p> <http://e/b> .\n"
    assert http.send("POST", f"{_S}?watermark=6", line, Content_Type=_TIMED).status == 200
    assert json.loads(http.get("/queries/q").data)["last"].endswith("-11")
    assert http.send("POST", f"{_S}?watermark=1970-01-01T00:00:10Z", "", Content_Type=_TIMED).status == 200
    assert json.loads(http.get(_S).data)["watermark"] == 10_000
    assert http.send("POST", f"{_S}?watermark=soon", "", Content_Type=_TIMED).status == 400


def test_a_post_that_is_sent_again_counts_once(http):
    def post(body, key):
        return http.send("POST", _S, body, Content_Type=_TIMED, Idempotency_Key=key)

    line = "5\t<http://e/a> <http://e/p> <http://e/b> .\n"
    assert json.loads(post(line, "k").data) == {"stream": _IRI, "elements": 1, "repeated": False}
    assert json.loads(post(line, "k").data) == {"stream": _IRI, "elements": 0, "repeated": True}
    assert post(line * 2, "k").status == 422
    assert post(line, "x" * 300).status == 400
    assert json.loads(post(line, "other").data)["elements"] == 1
    assert _times(http)[0] == 2


def test_no_room_in_windows_is_said():
    session = Session(window_bytes=200_000)
    session.stream("http://e/s")
    session.register(
        "SELECT ?s FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT1H STEP PT1H] WHERE { WINDOW <w> { ?s ?p ?o } }",
        name="q",
    )
    with server(session) as http:
        many = "".join(f"<http://e/{n}> <http://e/p> 1 .\n" for n in range(20_000))
        answer = http.send("POST", "/streams/s?time=1", many, Content_Type="text/turtle")
        assert answer.status == 429
        assert answer.headers["retry-after"] == "1"
        assert session.streams()[0].elements == 0


def test_documents_that_parsers_cannot_cope_with_are_refused():
    terms = ",".join(f'"a{number}":"a{number + 1}:x"' for number in range(8000))
    with server() as http:
        http.send("PUT", "/streams/s?iri=http://e/s")
        for document, says in (
            (f'{{"@context":{{{terms}}},"a1":"x"}}', "defined by others"),
            ('{"@graph":' * 20000 + "[]" + "}" * 20000, "nested more than 256 deep"),
        ):
            answer = http.send("POST", "/streams/s?time=1", document, Content_Type="application/ld+json")
            assert answer.status == 400
            assert says in answer.data.decode()


def test_reading_a_body_has_a_time_limit():
    xml = "<rdf:Description><p xmlns='x:'>" * 20000 + "</p></rdf:Description>" * 20000
    document = f"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>{xml}</rdf:RDF>"
    with server(limits=Limits(query_seconds=0.001)) as http:
        http.send("PUT", "/streams/s?iri=http://e/s")
        for method, path in (("POST", "/streams/s?time=1"), ("POST", "/graphs?graph=x:g"), ("PUT", "/graphs?default")):
            answer = http.send(method, path, document, Content_Type="application/rdf+xml")
            assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
            assert "reading the body took longer than its time limit of 0.001 s" in answer.data.decode()
        answer = http.send("POST", "/explain", f"ASK {{ VALUES ?x {{ {'1 ' * 200_000}}} }}")
        assert answer.status == 503
        assert json.loads(http.get("/streams/s").data)["elements"] == 0
