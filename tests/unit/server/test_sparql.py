"""SPARQL over HTTP: every way to send a query, every form of answer, and what is refused."""

import gc
import gzip
import json
import socket
import threading
from urllib.parse import urlencode

import pyoxigraph
import pytest
import urllib3

from freshet import Session
from freshet.server.settings import Limits
from http_server import server
from waiting import wait_until

_ALL = "SELECT ?s ?o { ?s <http://e/p> ?o } ORDER BY ?o"
_FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "data.ttl").write_text('<http://e/a> <http://e/p> 1, "zwei"@de, "drei <&>" .')
    (folder / "g.ttl").write_text("<http://e/g> <http://e/p> 4 .")
    session = Session()
    session.load(folder / "data.ttl")
    session.load(folder / "g.ttl", graph="http://e/graph")
    with server(session) as running:
        yield running


def _fill(session, count: int) -> None:
    """Push so many triples with a number each."""
    session.push("http://e/s", "".join(f"<http://e/{n}> <http://e/p> {n} .\n" for n in range(count)), time_ms=1)


def _objects(answer) -> list[str]:
    return [row["o"]["value"] for row in json.loads(answer.data)["results"]["bindings"]]


def test_the_same_answer_however_it_is_asked_for(http):
    direct = {"Content_Type": "application/sparql-query"}
    answers = [
        http.ask(_ALL),
        http.send("POST", "/sparql", urlencode({"query": _ALL}), Content_Type=_FORM),
        http.send("POST", "/sparql", _ALL, **direct),
        http.send("POST", "/sparql", _ALL, Content_Type="application/sparql-query; charset=UTF-8"),
        http.send("QUERY", "/sparql", _ALL, **direct),
        http.get(f"/sparql/?{urlencode({'query': _ALL})}"),
    ]
    assert [answer.status for answer in answers] == [200] * 6
    assert all(sorted(_objects(answer)) == ["1", "drei <&>", "zwei"] for answer in answers)


@pytest.mark.parametrize(
    ("accept", "media", "start"),
    [
        (None, "application/sparql-results+json", b'{"head"'),
        ("*/*", "application/sparql-results+json", b'{"head"'),
        ("application/json", "application/json", b'{"head"'),
        ("application/sparql-results+xml, */*;q=0.1", "application/sparql-results+xml", b"<?xml"),
        ("text/csv;q=0.2, text/tab-separated-values;q=0.3", "text/tab-separated-values; charset=utf-8", b"?s\t?o\n"),
        ("text/csv", "text/csv; charset=utf-8", b"s,o\r\n"),
        ("text/*", "text/xml; charset=utf-8", b"<?xml"),
        ("application/*;q=0.5, text/csv;q=0.4", "application/sparql-results+json", b'{"head"'),
        ("text/html, application/xhtml+xml, */*;q=0.8", "application/sparql-results+json", b'{"head"'),
    ],
)
def test_formats_of_solutions(http, accept, media, start):
    answer = http.ask(_ALL, **({} if accept is None else {"Accept": accept}))
    assert (answer.status, answer.headers["content-type"]) == (200, media)
    assert answer.data.startswith(start)
    assert "Accept" in answer.headers["vary"]


@pytest.mark.parametrize(
    ("accept", "media", "part"),
    [
        ("*/*", "text/turtle; charset=utf-8", b"<http://e/a> <http://e/p>"),
        ("application/n-triples", "application/n-triples", b'<http://e/a> <http://e/p> "zwei"@de .\n'),
        ("application/rdf+xml", "application/rdf+xml", b"<rdf:Description"),
        ("application/ld+json", "application/ld+json", b'"@id":"http://e/a"'),
    ],
)
def test_formats_of_graphs(http, accept, media, part):
    answer = http.ask("CONSTRUCT WHERE { ?s <http://e/p> ?o }", Accept=accept)
    assert (answer.status, answer.headers["content-type"]) == (200, media)
    assert part in answer.data.replace(b": ", b":") if b"ld+json" in media.encode() else part in answer.data


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("*/*", "application/trig"),
        ("application/n-quads", "application/n-quads"),
        ("text/turtle, application/trig;q=0.5", "application/trig"),
        ("application/ld+json", "application/ld+json"),
    ],
)
def test_formats_of_named_graphs(http, accept, media):
    query = "CONSTRUCT { GRAPH ?s { ?s <http://e/p> ?o } } { ?s <http://e/p> ?o }"
    answer = http.ask(query, Accept=accept)
    assert (answer.status, answer.headers["content-type"]) == (200, media)
    quads = list(pyoxigraph.parse(answer.data, pyoxigraph.RdfFormat.from_media_type(media)))
    assert quads
    assert all(quad.graph_name == quad.subject for quad in quads)
    assert http.ask(query, Accept="text/turtle").status == 406
    assert http.ask("CONSTRUCT WHERE { ?s ?p ?o }", Accept="application/trig").status == 200


def test_what_is_not_acceptable_is_refused_with_what_there_is(http):
    for query, accept in (
        (_ALL, "text/turtle"),
        ("ASK {}", "text/csv"),
        ("DESCRIBE <http://e/a>", "text/csv"),
        (_ALL, "application/json;q=0, text/csv;q=0"),
    ):
        answer = http.ask(query, Accept=accept)
        assert answer.status == 406
        assert "media types" in json.loads(answer.data)["detail"]


def test_ask(http):
    assert json.loads(http.ask("ASK { ?s ?p 1 }").data) == {"head": {}, "boolean": True}


def test_protocol_graphs_replace_those_of_the_query(http):
    def objects(query, *graphs):
        return _objects(http.get(f"/sparql?{urlencode([('query', query), *graphs])}"))

    default = ("default-graph-uri", "http://e/graph")
    named = ("named-graph-uri", "http://e/graph")
    assert objects("SELECT ?o { ?s ?p ?o }", default) == ["4"]
    assert objects("SELECT ?o FROM <http://e/other> { ?s ?p ?o }", default) == ["4"]
    assert objects("SELECT ?o { ?s ?p ?o }", named) == []
    assert objects("SELECT ?o { GRAPH ?g { ?s ?p ?o } }", named) == ["4"]
    assert http.get(f"/sparql?{urlencode([('query', 'ASK {}'), ('default-graph-uri', 'x')])}").status == 400


def test_a_mistake_is_shown_with_its_place(http):
    answer = http.ask("SELECT * {\n  ?s ?p }")
    problem = json.loads(answer.data)
    assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
    assert (problem["line"], problem["column"]) == (2, 9)
    assert "line 2:9" in problem["detail"]


@pytest.mark.parametrize(
    ("method", "path", "body", "media", "status"),
    [
        ("GET", "/sparql?default-graph-uri=http://e/g", None, None, 400),
        ("GET", "/sparql?query=ASK%7B%7D&query=ASK%7B%7D", None, None, 400),
        ("GET", "/sparql?update=CLEAR+ALL", None, None, 400),
        ("POST", "/sparql", "query=ASK%7B%7D", None, 415),
        ("POST", "/sparql", "query=ASK%7B%7D", "text/plain", 415),
        ("POST", "/sparql", "query=ASK%7B%7D&update=CLEAR+ALL", _FORM, 400),
        ("POST", "/sparql", "update=CLEAR+ALL&update=CLEAR+ALL", _FORM, 400),
        ("POST", "/sparql", "query=%FF", _FORM, 400),
        ("POST", "/sparql", b"ASK { ?s ?p '\xff' }", "application/sparql-query", 400),
        ("POST", "/sparql", "ASK {}", "application/sparql-query; charset=utf-16", 415),
        ("PUT", "/sparql", "ASK {}", "application/sparql-query", 405),
        ("DELETE", "/sparql", None, None, 405),
        ("GET", "/sparql?query=ASK%7B%7D&timeout=soon", None, None, 400),
        ("GET", "/nowhere", None, None, 404),
        ("GET", "/sparql?query=SELECT*%7BSERVICE%3Chttp://e/%3E%7B?s?p?o%7D%7D", None, None, 502),
    ],
)
def test_refused_requests(http, method, path, body, media, status):
    answer = http.send(method, path, body, **({} if media is None else {"Content_Type": media}))
    assert answer.status == status, answer.data
    assert json.loads(answer.data)["detail"]


def test_a_service_description(http):
    answer = http.get("/sparql")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/turtle; charset=utf-8")
    assert f"sd:endpoint <{http.url}/sparql>".encode() in answer.data
    assert b"sd:SPARQL11Query" in answer.data
    assert http.get("/sparql", Accept="application/rdf+xml").data.startswith(b"<?xml")


def test_head_and_options(http):
    head = http.send("HEAD", f"/sparql?{urlencode({'query': _ALL})}")
    assert (head.status, head.data) == (200, b"")
    assert int(head.headers["content-length"]) == len(http.ask(_ALL).data)
    options = http.send("OPTIONS", "/sparql")
    assert (options.status, options.headers["allow"]) == (204, "GET, POST, QUERY, HEAD, OPTIONS")


def test_a_query_has_a_time_limit():
    slow = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h FILTER (?b + ?d + ?f + ?h < 0) }"
    session = Session()
    session.stream("http://e/s", absorb=True)
    _fill(session, 200)
    with server(session) as http:
        answer = http.get(f"/sparql?{urlencode({'query': slow, 'timeout': 0.2})}")
        assert answer.status == 503
        assert "0.2 s" in json.loads(answer.data)["detail"]
        assert http.ask("ASK {}").status == 200


def test_a_query_stops_when_its_client_hangs_up(capfd):
    slow = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h FILTER (?b + ?d + ?f + ?h < 0) }"
    session = Session()
    session.stream("http://e/s", absorb=True)
    _fill(session, 200)
    with server(session) as http:
        host, port = http.url.removeprefix("http://").split(":")
        client = socket.create_connection((host, int(port)))
        client.sendall(f"GET /sparql?{urlencode({'query': slow})} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_until(lambda: http.shared.asking.busy == 1)
        client.close()
        wait_until(lambda: http.shared.asking.busy == 0)
    gc.collect()
    assert "never retrieved" not in capfd.readouterr().err


def test_long_answers_come_in_pieces_and_compressed():
    session = Session()
    session.stream("http://e/s", absorb=True)
    count = 45_000
    _fill(session, count)
    with server(session) as http:
        for accept, lines in (("text/csv", count + 1), ("application/sparql-results+json", 1)):
            answer = http.ask("SELECT * { ?s ?p ?o }", Accept=accept)
            assert answer.headers["transfer-encoding"] == "chunked"
            assert answer.data.count(b"\n") == lines
        assert len(json.loads(answer.data)["results"]["bindings"]) == count
        whole = http.ask("CONSTRUCT WHERE { ?s ?p ?o }", Accept="application/n-triples").data
        assert whole.count(b"\n") == count
        packed = urllib3.request(
            "GET",
            f"{http.url}/sparql?{urlencode({'query': 'SELECT * { ?s ?p ?o }'})}",
            headers={"Accept-Encoding": "gzip", "Accept": "text/csv"},
            decode_content=False,
        )
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(packed.data).count(b"\n") == count + 1


def test_an_answer_that_is_too_large_is_cut_off():
    session = Session()
    session.stream("http://e/s", absorb=True)
    _fill(session, 45_000)
    with server(session, limits=Limits(answer_bytes=500_000)) as http:
        with pytest.raises(urllib3.exceptions.ProtocolError):
            _ = http.ask("SELECT * { ?s ?p ?o }", Accept="text/csv").data
        assert http.ask("ASK {}").status == 200


def test_a_query_sees_one_snapshot_while_streams_are_pushed():
    session = Session()
    session.stream("http://e/s", absorb=True)
    with server(session) as http:
        done = threading.Event()

        def push() -> None:
            for number in range(200):
                both = f"<http://e/{number}> <http://e/p> 1 . <http://e/{number}> <http://e/q> 1 ."
                session.push("http://e/s", both, time_ms=number)
            done.set()

        threading.Thread(target=push).start()
        odd = "ASK { ?s ?p 1 FILTER (NOT EXISTS { ?s <http://e/p> 1 } || NOT EXISTS { ?s <http://e/q> 1 }) }"
        while not done.is_set():
            assert json.loads(http.ask(odd).data)["boolean"] is False


def test_a_time_of_the_past():
    session = Session(history=1000)
    session.stream("http://e/s", absorb="latest")
    for at in (1000, 2000):
        session.push("http://e/s", f'{at}\t<http://e/a> <http://e/p> "{at}" .')
    query = "SELECT ?o { ?s ?p ?o }"
    with server(session) as http:
        for at, expected in (("2000", b"1000"), ("1970-01-01T00:00:02.001Z", b"2000"), ("1001", b"1000"), ("1", None)):
            answer = http.get(f"/sparql?{urlencode({'query': query, 'at': at})}", accept="text/csv")
            assert answer.status == 200
            assert answer.data.split()[1:] == ([] if expected is None else [expected])
        session.push("http://e/s", '9000\t<http://e/a> <http://e/p> "9000" .')
        session.push("http://e/s", '9001\t<http://e/a> <http://e/p> "9001" .')
        assert http.get(f"/sparql?{urlencode({'query': query, 'at': '1500'})}").status == 400
        assert http.get(f"/sparql?{urlencode({'query': query, 'at': 'soon'})}").status == 400
        assert http.get(f"/sparql?{urlencode({'query': query, 'at': 9001})}", accept="text/event-stream").status == 400
