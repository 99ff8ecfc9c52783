"""Standing queries over HTTP: registered, listed, explained, removed, subscribed to and gone on with."""

import json
import socket
from urllib.parse import quote, urlencode

import pytest

from freshet import Session
from freshet.server.settings import Limits
from http_server import server
from waiting import wait_until

_QUERY = """SELECT ?s (COUNT(*) AS ?n)
FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT1S STEP PT1S] WHERE { WINDOW <w> { ?s ?p ?o } } GROUP BY ?s"""
_POSTS = """SELECT ?user ?post
FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT1S STEP PT1S] WHERE { WINDOW <w> { ?user <http://e/posts> ?post } }"""


@pytest.fixture
def http():
    session = Session()
    session.stream("http://e/s")
    with server(session, limits=Limits(linger_seconds=0.2)) as running:
        yield running


def _push(http, first, end, text="<http://e/{0}> <http://e/p> 1 ."):
    for second in range(first, end):
        http.session.push("http://e/s", text.format(second), time_ms=second * 1000)


class Answers:
    """A subscription, read a report at a time."""

    def __init__(self, http, path, **headers):
        self.response = http.send("GET", path, stream=True, **{"Accept": "application/x-ndjson", **headers})
        self._lines = iter(self._read())

    def _read(self):
        rest = b""
        for piece in self.response.stream(65536):
            *lines, rest = (rest + piece).split(b"\n")
            yield from filter(None, lines)

    def take(self, count):
        return [json.loads(next(self._lines)) for _ in range(count)]

    def rest(self):
        return [json.loads(line) for line in self._lines]

    def close(self):
        self.response.close()


def test_graphs_that_are_not_loaded(http):
    text = (
        "SELECT * FROM <http://e/map.ttl> FROM NAMED WINDOW <w> ON <http://e/s> [RANGE 1s] { WINDOW <w> { ?s ?p ?o } }"
    )
    put = http.send("PUT", "/queries/mapped", text)
    assert put.status == 400
    assert b"the graph <http://e/map.ttl> is not loaded: no named graph is loaded" in put.data
    asked = http.get(f"/sparql?{urlencode({'query': 'ASK FROM <http://e/map.ttl> { ?s ?p ?o }'})}")
    assert asked.status == 400
    assert b"the graph <http://e/map.ttl> is not loaded" in asked.data
    http.session.update("INSERT DATA { GRAPH <http://e/map.ttl> { <http://e/a> <http://e/b> 1 } }")
    assert http.send("PUT", "/queries/mapped", text).status == 201


def test_a_query_is_put_listed_shown_and_removed(http):
    put = http.send("PUT", "/queries/counts", _QUERY)
    assert (put.status, put.headers["location"]) == (201, "/queries/counts")
    shown = json.loads(put.data)
    assert (shown["name"], shown["variables"], shown["state"]) == ("counts", ["s", "n"], "running")
    assert http.send("PUT", "/queries/counts", _QUERY).status == 200
    assert http.send("PUT", "/queries/counts", _QUERY.replace("PT1S", "PT2S")).status == 409
    assert [each["name"] for each in json.loads(http.get("/queries").data)["queries"]] == ["counts"]
    assert json.loads(http.get("/queries/counts").data) == shown
    assert http.send("DELETE", "/queries/counts").status == 204
    assert http.send("DELETE", "/queries/counts").status == 404
    assert http.get("/queries/counts").status == 404
    assert http.get("/queries/counts/answers").status == 404


def test_any_dialect_and_names_that_are_iris(http):
    cqels = "SELECT ?s WHERE { STREAM <http://e/s> [RANGE 1s] { ?s ?p ?o } }"
    csparql = "REGISTER QUERY third AS SELECT ?s FROM STREAM <http://e/s> [RANGE 1s STEP 1s] WHERE { ?s ?p ?o }"
    assert http.send("PUT", f"/queries/{quote('http://e/q', safe='')}?dialect=cqels", cqels).status == 201
    assert http.send("PUT", "/queries/third", csparql).status == 201
    assert http.send("PUT", "/queries/fourth", csparql).status == 400
    assert http.get("/queries/http%3A%2F%2Fe%2Fq").status == 200
    assert len(json.loads(http.get("/queries").data)["queries"]) == 2


@pytest.mark.parametrize(
    ("text", "status", "part"),
    [
        ("SELECT ?s\nFROM NAMED WINDOW <w> ON", 400, "line 2:25"),
        ("SELECT * { ?s ?p ?o }", 400, "no window"),
        (_QUERY.replace("http://e/s", "http://e/other"), 400, "http://e/other"),
        (_QUERY.replace("?s ?p ?o }", "?s ?p ?o } FILTER EXISTS { ?s ?q ?r FILTER (RAND() < 0.5) }"), 501, "RAND"),
    ],
)
def test_what_cannot_be_registered(http, text, status, part):
    answer = http.send("PUT", "/queries/q", text)
    assert answer.status == status
    assert part in json.loads(answer.data)["detail"]
    assert json.loads(http.get("/queries").data) == {"queries": []}


def test_answers_as_events_and_as_lines(http):
    http.send("PUT", "/queries/q", _QUERY)
    lines = Answers(http, "/queries/q/answers")
    events = http.send("GET", "/queries/q/answers", stream=True, Accept="text/event-stream")
    assert events.headers["content-type"] == "text/event-stream"
    _push(http, 0, 3)
    found = lines.take(2)
    assert [(report["time"], report["bindings"][0]["s"]["value"]) for report in found] == [
        (1000, "http://e/0"),
        (2000, "http://e/1"),
    ]
    text = b""
    while text.count(b"\n\n") < 2:
        text += events.read1()
    first, second, _ = text.decode().split("\n\n")
    assert first.splitlines()[0] == f"id: {found[0]['id']}"
    assert json.loads(second.splitlines()[1].removeprefix("data: ")) == found[1]


def test_a_subscription_goes_on_after_any_report(http):
    http.send("PUT", "/queries/q", _QUERY)
    _push(http, 0, 8)
    whole = Answers(http, "/queries/q/answers?after=start&limit=7").rest()
    assert [report["time"] for report in whole] == [1000 * second for second in range(1, 8)]
    for number, report in enumerate(whole[:-1]):
        rest = len(whole) - number - 1
        assert Answers(http, f"/queries/q/answers?limit={rest}&after={report['id']}").rest() == whole[number + 1 :]
        assert (
            Answers(http, f"/queries/q/answers?limit={rest}", Last_Event_ID=report["id"]).rest() == whole[number + 1 :]
        )
    live = Answers(http, f"/queries/q/answers?after={whole[-1]['id']}")
    _push(http, 8, 10)
    assert [report["time"] for report in live.take(2)] == [8000, 9000]
    assert http.get("/queries/q/answers?after=nonsense").status == 400
    assert http.get("/queries/q/answers?after=1-2").status == 410


def test_nothing_is_lost_or_repeated_while_reports_come(http):
    """Subscribers that come back all the time, while elements are pushed."""
    import threading

    http.send("PUT", "/queries/q", _QUERY)
    pushing = threading.Thread(target=_push, args=(http, 0, 400))
    pushing.start()
    seen, after = [], "start"
    while len(seen) < 399:
        part = Answers(http, f"/queries/q/answers?after={after}&limit={min(7, 399 - len(seen))}").rest()
        seen += [report["time"] for report in part]
        after = part[-1]["id"]
    pushing.join()
    assert seen == [1000 * second for second in range(1, 400)]


def test_subscribers_hear_why_it_ends(http):
    http.send("PUT", "/queries/q", _QUERY)
    lines = Answers(http, "/queries/q/answers")
    http.send("DELETE", "/queries/q")
    assert lines.rest() == [{"end": "it was removed"}]


def test_a_subscriber_that_leaves_is_forgotten(http):
    http.send("PUT", "/queries/q", _QUERY)
    lines = Answers(http, "/queries/q/answers")
    assert json.loads(http.get("/queries/q").data)["subscribers"] == 1
    lines.close()
    wait_until(lambda: json.loads(http.get("/queries/q").data)["subscribers"] == 0)


def test_the_plan_has_measured_rows(http):
    http.send("PUT", "/queries/q", _QUERY)
    _push(http, 0, 5)
    assert "operators" in json.loads(http.get("/queries/q/plan").data)
    text = http.get("/queries/q/plan", Accept="text/plain").data.decode()
    assert "with what each operator did" in text


def test_parameters_are_bound_by_subscribers(http):
    put = http.send("PUT", "/queries/posts?parameters=user", _POSTS)
    assert put.status == 201
    assert json.loads(put.data)["parameters"] == ["user"]
    users = [f"http://e/u{number}" for number in range(30)]
    open_ = {user: Answers(http, f"/queries/posts/answers?{urlencode({'user': user})}") for user in users}
    shown = json.loads(http.get("/queries/posts").data)
    assert (shown["bound"], shown["subscribers"]) == (30, 30)
    assert len(json.loads(http.get("/queries").data)["queries"]) == 1
    engine = http.session.engine
    assert len({id(engine._queries[name]) for name in engine.names}) == 1  # one group, one plan
    for second in range(1, 4):
        text = "".join(f"<{user}> <http://e/posts> '{user} {second}' .\n" for user in users)
        http.session.push("http://e/s", text, time_ms=second * 1000)
    for user, lines in open_.items():
        [report] = lines.take(1)
        assert [(row["user"]["value"], row["post"]["value"]) for row in report["bindings"]] == [(user, f"{user} 1")]
    for lines in open_.values():
        lines.close()
    wait_until(lambda: not http.session.engine.names)
    assert http.get("/queries/posts/answers").status == 400
    assert http.get("/queries/posts/answers?user=not+a+term").status == 400
    assert http.get("/queries/posts/answers?user=http://e/u1&after=1-1").status == 410
    assert http.send("PUT", "/queries/others?parameters=nobody", _POSTS).status == 400
    assert http.send("DELETE", "/queries/posts").status == 204
    assert json.loads(http.get("/queries").data) == {"queries": []}


def test_a_subscriber_that_comes_back_soon_finds_its_bound_query():
    session = Session()
    session.stream("http://e/s")
    with server(session, limits=Limits(linger_seconds=60)) as http:
        http.send("PUT", "/queries/posts?parameters=user", _POSTS)
        path = "/queries/posts/answers?user=http://e/u"
        lines = Answers(http, path)
        _push(http, 0, 2, "<http://e/u> <http://e/posts> {0} .")
        [first] = lines.take(1)
        lines.close()
        _push(http, 2, 6, "<http://e/u> <http://e/posts> {0} .")
        rest = Answers(http, f"{path}&limit=4&after={first['id']}").rest()
        assert [report["time"] for report in rest] == [2000, 3000, 4000, 5000]


def test_one_who_does_not_read_is_cut_off_and_the_others_go_on():
    session = Session()
    session.stream("http://e/s")
    with server(session, limits=Limits(subscriber_bytes=100_000)) as http:
        http.send("PUT", "/queries/q", _QUERY)
        host, port = http.url.removeprefix("http://").split(":")
        silent = socket.create_connection((host, int(port)))
        silent.sendall(b"GET /queries/q/answers HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: json.loads(http.get("/queries/q").data)["subscribers"] == 1)
        reader = Answers(http, "/queries/q/answers")
        many = "".join(f"<http://e/{n}> <http://e/p> 1 .\n" for n in range(1000))
        second = 0
        while http.shared.standing.subscribers.cut_off == 0:
            second += 1
            assert second < 500
            session.push("http://e/s", many, time_ms=second * 1000)
            if second > 1:
                assert reader.take(1)[0]["time"] == second * 1000
        silent.settimeout(60)
        text = b""
        while piece := silent.recv(1 << 20):
            text += piece
            if b"event: end" in text:
                break
        assert b'event: end\ndata: {"end":"it reads too slowly"}' in text


def test_stopping_ends_subscriptions_cleanly():
    session = Session()
    session.stream("http://e/s")
    with server(session) as http:
        http.send("PUT", "/queries/q", _QUERY)
        lines = [Answers(http, "/queries/q/answers") for _ in range(5)]
    for each in lines:
        assert each.rest()[-1]["end"].startswith("the server stops")


def test_a_query_that_begins_in_the_past():
    with server(Session()) as http:
        assert http.send("PUT", "/streams/s?iri=http://e/s&keep=1h").status == 201
        text = "".join(f"{at}\t<http://e/{at}> <http://e/p> <http://e/b> .\n" for at in (500, 1500, 2500))
        assert http.send("POST", "/streams/s", text, content_type="application/x-timed-n-triples").status == 200
        assert http.send("PUT", "/queries/q?since=1000", _QUERY).status == 201
        found = Answers(http, "/queries/q/answers?after=start").take(1)
        assert [(each["time"], each["bindings"][0]["s"]["value"]) for each in found] == [(2000, "http://e/1500")]
        assert http.send("PUT", "/queries/late?since=soon", _QUERY).status == 400


def test_a_query_that_needs_too_much_is_removed_and_the_others_go_on():
    window = "FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT10S STEP PT10S]"
    much = f"SELECT (COUNT(*) AS ?n) {window} {{ WINDOW <w> {{ ?a <p:a> ?b . ?c <p:b> ?d . ?e <p:c> ?f }} }}"
    few = f"SELECT (MAX(?b) AS ?most) {window} {{ WINDOW <w> {{ ?a <p:a> ?b }} }}"
    elements = "".join(f"{at}\t<x:{at}> <p:{each}> <x:o> .\n" for at in range(1000) for each in "abc")
    with server(Session(), limits=Limits(query_bytes=1 << 20)) as http:
        http.send("PUT", "/streams/s?iri=http://e/s")
        assert http.send("PUT", "/queries/much", much).status == 201
        assert http.send("PUT", "/queries/few", few).status == 201
        assert http.send("POST", "/streams/s?watermark=20000", elements, Content_Type="text/plain").status == 200
        assert http.session.failures[0].query == "much"
        assert "more memory than its limit of 1.0 MiB" in http.session.failures[0].reason
        [report] = Answers(http, "/queries/few/answers?after=start&limit=1").take(1)
        assert report["bindings"] == [{"most": {"type": "uri", "value": "x:o"}}]


def test_bound_queries_that_need_too_much_are_removed_together():
    window = "FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT10S STEP PT10S]"
    much = f"SELECT (COUNT(*) AS ?n) {window} {{ WINDOW <w> {{ ?a <p:a> ?x . ?c <p:b> ?d . ?e <p:c> ?f }} }}"
    elements = "".join(f"{at}\t<x:{at}> <p:{each}> <x:o{at % 2}> .\n" for at in range(1000) for each in "abc")
    with server(Session(), limits=Limits(query_bytes=1 << 20)) as http:
        http.send("PUT", "/streams/s?iri=http://e/s")
        assert http.send("PUT", "/queries/much?parameters=x", much).status == 201
        subscribed = [Answers(http, f"/queries/much/answers?x=x:o{number}") for number in (0, 1)]
        assert http.send("POST", "/streams/s?watermark=20000", elements, Content_Type="text/plain").status == 200
        for each in subscribed:
            assert "more memory than its limit of 1.0 MiB" in each.rest()[-1]["end"]
        assert http.get("/health").status == 200
