"""Live SPARQL over HTTP: a query at /sparql that stays, and what its clients see of changes and breaks."""

import json
import socket
import threading
from collections import Counter
from urllib.parse import urlencode

import pytest

from freshet import Session
from freshet.server.settings import Limits
from http_server import server
from waiting import wait_until

_EVENTS = "text/event-stream"
_COUNTS = "SELECT ?s (COUNT(*) AS ?n) { ?s <http://e/p> ?o } GROUP BY ?s"
_PAIRS = "SELECT * { ?s <http://e/p> ?o FILTER NOT EXISTS { ?o <http://e/closed> ?c } }"


@pytest.fixture
def http():
    session = Session()
    session.stream("http://e/s", absorb=True)
    with server(session) as running:
        yield running


def _push(http, text, time_ms=5):
    http.session.push("http://e/s", text, time_ms=time_ms)


class Live:
    """A live query, read an event at a time."""

    def __init__(self, http, query, **headers):
        path = f"/sparql?{urlencode({'query': query})}"
        self.response = http.send("GET", path, stream=True, **{"Accept": _EVENTS, **headers})
        self._events = iter(self._read())
        self.bag = Counter()
        self.id = ""

    def _read(self):
        rest = b""
        for piece in self.response.stream(65536):
            *events, rest = (rest + piece).split(b"\n\n")
            for event in events:
                lines = [line.partition(b": ") for line in event.split(b"\n")]
                fields = {name.decode(): value.decode() for name, _, value in lines}
                if "data" in fields:
                    yield fields

    def take_plain(self):
        """What the next event says."""
        return json.loads(next(self._events)["data"])

    def take(self):
        """The next event: its kind, and what it says."""
        fields = next(self._events)
        kind, data = fields["event"], json.loads(fields["data"])
        if kind == "end":
            return kind, data
        assert int(fields["id"]) > int(self.id or -1), "ids only grow"
        self.id = fields["id"]
        if kind == "answer":
            self.bag = _bag(data["results"]["bindings"])
        else:
            removed = _bag(data["removed"])
            assert removed <= self.bag
            self.bag = self.bag - removed + _bag(data["added"])
        return kind, data

    def take_until(self, bag):
        while self.bag != bag:
            self.take()

    def close(self):
        self.response.close()


def _bag(bindings):
    return Counter(tuple(sorted((name, term["value"]) for name, term in binding.items())) for binding in bindings)


def _now(http, query):
    return _bag(json.loads(http.ask(query).data)["results"]["bindings"])


def test_the_answer_comes_first_and_then_what_changes(http):
    _push(http, "<http://e/a> <http://e/p> 1 .")
    live = Live(http, _COUNTS)
    assert live.response.status == 200
    assert live.response.headers["content-type"] == _EVENTS
    kind, data = live.take()
    assert (kind, data["time"], data["head"]) == ("answer", 5, {"vars": ["s", "n"]})
    assert [row["n"]["value"] for row in data["results"]["bindings"]] == ["1"]
    http.send("POST", "/streams/s?time=9", "<http://e/a> <http://e/p> 2 .", Content_Type="text/turtle")
    kind, data = live.take()
    assert (kind, data["time"]) == ("change", 9)
    assert [row["n"]["value"] for row in data["added"]] == ["2"]
    assert [row["n"]["value"] for row in data["removed"]] == ["1"]
    live.close()


@pytest.mark.parametrize(
    ("media", "body"),
    [
        ("application/sparql-query", _COUNTS),
        ("application/x-www-form-urlencoded", urlencode({"query": _COUNTS})),
    ],
)
def test_a_query_may_be_posted(http, media, body):
    response = http.send("POST", "/sparql", body, stream=True, Accept=_EVENTS, Content_Type=media)
    assert response.status == 200
    assert next(response.stream(64)).startswith(b"event: answer\nid: ")
    response.close()


def test_other_media_types_are_answered_once(http):
    for accept in ("*/*", "application/sparql-results+json, text/event-stream;q=0.5"):
        assert json.loads(http.ask(_COUNTS, Accept=accept).data)["results"] == {"bindings": []}


def test_graphs_of_the_protocol_count(http, tmp_path):
    (tmp_path / "g.ttl").write_text("<http://e/x> <http://e/p> 1 .")
    http.session.load(tmp_path / "g.ttl", graph="http://e/g")
    graphs = urlencode({"query": _COUNTS, "default-graph-uri": "http://e/g"})
    response = http.send("GET", f"/sparql?{graphs}", stream=True, Accept=_EVENTS)
    assert b"http://e/x" in next(response.stream(4096))
    response.close()


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ("SELECT * { ?s ?p }", 400, "1:"),
        ("CONSTRUCT { [] ?p ?o } WHERE { ?s ?p ?o }", 501, "a blank node in the template"),
        ("SELECT * { ?s ?p ?o FILTER (?o > NOW()) }", 501, "NOW"),
        (
            "SELECT * FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT1S STEP PT1S] WHERE { WINDOW <w> { ?s ?p ?o } }",
            400,
            "has a window",
        ),
    ],
)
def test_refused(http, query, status, says):
    refused = http.ask(query, Accept=_EVENTS)
    assert refused.status == status
    assert says in json.loads(refused.data)["detail"]
    assert http.session.engine.names == []
    assert len(http.shared.standing.subscribers) == 0


def test_construct_describe_and_ask(http):
    made = Live(http, "CONSTRUCT { ?o <http://e/of> ?s } WHERE { ?s <http://e/p> ?o }")
    described = Live(http, "DESCRIBE <http://e/a>")
    asked = Live(http, "ASK { <http://e/a> <http://e/p> ?o }")
    assert [each.take_plain()["triples"] for each in (made, described)] == ["", ""]
    assert asked.take_plain() == {"time": 0, "head": {}, "boolean": False}
    _push(http, "<http://e/a> <http://e/p> <http://e/b> .")
    assert made.take_plain() == {"time": 5, "added": "<http://e/b> <http://e/of> <http://e/a> .\n", "removed": ""}
    assert described.take_plain()["added"] == "<http://e/a> <http://e/p> <http://e/b> .\n"
    assert asked.take_plain() == {"time": 5, "boolean": True}
    http.session.update("DELETE DATA { <http://e/a> <http://e/p> <http://e/b> }")
    assert made.take_plain()["removed"] == "<http://e/b> <http://e/of> <http://e/a> .\n"
    assert described.take_plain()["removed"] == "<http://e/a> <http://e/p> <http://e/b> .\n"
    assert asked.take_plain()["boolean"] is False
    for each in (made, described, asked):
        each.close()


def test_a_first_answer_has_a_deadline(http):
    _push(http, "".join(f"<http://e/{n}> <http://e/p> {n} .\n" for n in range(3000)))
    path = urlencode({"query": "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", "timeout": "0.2"})
    assert http.get(f"/sparql?{path}", Accept=_EVENTS).status == 503
    wait_until(lambda: http.session.engine.names == [])


def test_the_query_goes_with_its_client(http):
    one, two = Live(http, _COUNTS), Live(http, _COUNTS)
    one.take(), two.take()
    live = http.session.engine.live
    assert (len(live), live.plans) == (2, 1), "equal queries share a plan"
    one.close()
    wait_until(lambda: len(live) == 1)
    _push(http, "<http://e/a> <http://e/p> 1 .")
    assert two.take()[0] == "change"
    two.close()
    wait_until(lambda: len(live) == 0)
    assert len(http.shared.standing.subscribers) == 0


def test_one_who_comes_back_gets_the_whole_answer_again(http):
    first = Live(http, _COUNTS)
    first.take()
    _push(http, "<http://e/a> <http://e/p> 1 .")
    first.take()
    first.close()
    again = Live(http, _COUNTS, Last_Event_ID=first.id)
    assert again.take()[0] == "answer"
    assert again.bag == first.bag == _now(http, _COUNTS)
    again.close()


def test_clients_agree_while_others_post(http):
    """Posts come in several threads while clients come and go; each client has what a query asked at the end has."""
    early = [Live(http, query) for query in (_COUNTS, _PAIRS)]
    late = []

    def post(thread):
        for number in range(30):
            triple = f"<http://e/a{number % 7}> <http://e/p> <http://e/o{thread}x{number}> ."
            if number % 5 == 4:
                triple += f" <http://e/o{thread}x{number - 2}> <http://e/closed> 1 ."
            answer = http.send("POST", "/streams/s?time=7", triple, Content_Type="text/turtle")
            assert answer.status == 200, answer.data

    threads = [threading.Thread(target=post, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        late += [Live(http, query) for query in (_COUNTS, _PAIRS)]
    for thread in threads:
        thread.join()
    expected = {query: _now(http, query) for query in (_COUNTS, _PAIRS)}
    for at, live in enumerate([*early, *late]):
        live.take_until(expected[(_COUNTS, _PAIRS)[at % 2]])
        live.close()
    assert http.session.failures == []


def test_one_who_does_not_read_is_cut_off_and_the_others_go_on():
    session = Session()
    session.stream("http://e/s", absorb=True)
    with server(session, limits=Limits(subscriber_bytes=100_000)) as http:
        host, port = http.url.removeprefix("http://").split(":")
        silent = socket.create_connection((host, int(port)))
        path = f"/sparql?{urlencode({'query': 'SELECT * { ?s ?p ?o }'})}"
        silent.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {_EVENTS}\r\n\r\n".encode())
        wait_until(lambda: len(session.engine.live) == 1)
        reader = Live(http, "SELECT * { ?s ?p ?o }")
        assert reader.take()[0] == "answer"
        number = 0
        while http.shared.standing.subscribers.cut_off == 0:
            number += 1
            assert number < 500
            _push(http, "".join(f"<http://e/{number}x{n}> <http://e/p> {n} .\n" for n in range(1000)))
            assert reader.take()[0] == "change"
        silent.settimeout(60)
        text = b""
        while b"event: end" not in text and (piece := silent.recv(1 << 20)):
            text += piece
        assert b'event: end\ndata: {"end":"it reads too slowly"}' in text
        reader.close()


def test_a_change_that_takes_too_long_ends_the_query_for_its_clients():
    session = Session()
    session.stream("http://e/s", absorb=True)
    with server(session, limits=Limits(live_seconds=0.05)) as http:
        _push(http, "".join(f"<http://e/{n}> <http://e/p> {n} .\n" for n in range(3000)))
        live = Live(http, "SELECT * { ?a <http://e/p> ?b . ?c <http://e/p> ?d . ?e <http://e/q> ?f }")
        assert live.take()[0] == "answer"
        _push(http, "<http://e/x> <http://e/q> 1 .")
        kind, data = live.take()
        assert kind == "end"
        assert "longer than its time limit" in data["end"]
        assert session.engine.names == []


def test_a_server_that_stops_says_so(http):
    live = Live(http, _COUNTS)
    live.take()
    http.shared.end()
    kind, data = live.take()
    assert (kind, "the server stops" in data["end"]) == ("end", True)
