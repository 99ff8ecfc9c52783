"""Limits of a token: they hold for its holder, and nobody else notices."""

import json

import pytest

from freshet import Session
from freshet.rdf.errors import InputError
from freshet.server.settings import Limits, parse_tokens
from http_server import ThreadServer, server
from waiting import wait_until

_SMALL = "small-token-of-a-client"
_LARGE = "large-token-of-a-client"
_SHORT = "short-token-of-a-client"
_LIMITS = "body=1k answer=2k queries=2 subscribers=2"
_QUERY = "SELECT ?s FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT1S STEP PT1S] WHERE { WINDOW <w> { ?s ?p ?o } }"
_HASHES = 24  # of each of 160,000 texts: seconds, with little memory
_TEXT = f"{'SHA512(' * _HASHES}CONCAT(STR(?a), STR(?c)){')' * _HASHES}"
_SLOW = f"SELECT (COUNT(*) AS ?n) {{ ?a ?p ?b . ?c ?q ?d . FILTER ({_TEXT} != '') }}"


@pytest.fixture
def http(tmp_path):
    data = tmp_path / "data.nt"
    data.write_text("".join(f"<http://e/{number}> <http://e/p> <http://e/o> .\n" for number in range(400)))
    session = Session()
    session.load(data)
    session.stream("http://e/s")
    tokens = parse_tokens(f"ask,register,feed {_SMALL} {_LIMITS}\nask,register,feed {_LARGE}\nask {_SHORT} time=1s\n")
    with server(session, tokens=tokens) as running:
        yield running


def _send(http: ThreadServer, token: str, method: str, path: str, body=None, **headers):
    return http.send(method, path, body, Authorization=f"Bearer {token}", **headers)


def _ask(http: ThreadServer, token: str, query: str, path: str = "/sparql", **headers):
    return _send(http, token, "POST", path, query, Content_Type="application/sparql-query", **headers)


def test_bodies(http):
    lines = "".join(f"{number}\t<http://e/a> <http://e/p> <http://e/b> .\n" for number in range(100))
    refused = _send(http, _SMALL, "POST", "/streams/s", lines, Content_Type="text/plain")
    assert (refused.status, "1,024 bytes" in json.loads(refused.data)["detail"]) == (413, True)
    pieces = (line.encode() for line in lines.splitlines(keepends=True))  # sent without a Content-Length
    assert _send(http, _SMALL, "POST", "/streams/s", pieces, Content_Type="text/plain").status == 413
    assert (
        _send(http, _SMALL, "POST", "/streams/s", lines[:500].rpartition("\n")[0], Content_Type="text/plain").status
        == 200
    )
    assert _send(http, _LARGE, "POST", "/streams/s", lines, Content_Type="text/plain").status == 200
    assert _send(http, _SMALL, "POST", "/graphs?default", lines, Content_Type="text/turtle").status == 413
    assert _ask(http, _SMALL, _QUERY + " " * 1024).status == 413


def test_time(http):
    stopped = _ask(http, _SHORT, _SLOW, "/sparql?timeout=50")
    assert (stopped.status, "1 s" in json.loads(stopped.data)["detail"]) == (503, True)
    assert _ask(http, _SHORT, "ASK {}").status == 200


@pytest.mark.parametrize("accept", ["text/csv", "text/event-stream"])
def test_answers(http, accept):
    everything = "SELECT * { ?s ?p ?o }"
    refused = _ask(http, _SMALL, everything, Accept=accept)
    assert (refused.status, "2,048 bytes" in json.loads(refused.data)["detail"]) == (403, True)
    assert _ask(http, _SMALL, f"{everything} LIMIT 5", Accept="text/csv").status == 200
    assert _ask(http, _LARGE, everything, Accept="text/csv").status == 200
    assert _send(http, _SMALL, "GET", "/graphs?default").status == 403


def test_long_answers_are_cut_off(tmp_path):
    data = tmp_path / "data.nt"
    data.write_text("".join(f"<http://e/{number}> <http://e/p> <http://e/o> .\n" for number in range(50_000)))
    session = Session()
    session.load(data)
    with server(session, tokens=parse_tokens(f"ask {_SMALL} answer=1m")) as http:
        answer = _ask(http, _SMALL, "SELECT * { ?s ?p ?o }", Accept="text/csv", stream=True)
        with pytest.raises(Exception, match=r"IncompleteRead|InvalidChunk|Connection broken"):
            answer.read()


def test_queries(http):
    for name in ("a", "b"):
        assert _send(http, _SMALL, "PUT", f"/queries/{name}", _QUERY).status == 201
    refused = _send(http, _SMALL, "PUT", "/queries/c", _QUERY)
    assert (refused.status, "2 queries" in json.loads(refused.data)["detail"]) == (429, True)
    assert _send(http, _SMALL, "PUT", "/queries/a", _QUERY).status == 200  # it is there already
    assert _send(http, _LARGE, "PUT", "/queries/d", _QUERY).status == 201
    assert _send(http, _LARGE, "DELETE", "/queries/b").status == 204
    assert _send(http, _SMALL, "PUT", "/queries/p?parameters=s", _QUERY).status == 201
    assert _send(http, _SMALL, "GET", "/queries/p/answers?s=http://e/a").status == 429


def test_subscribers(http):
    assert _send(http, _LARGE, "PUT", "/queries/q", _QUERY).status == 201
    paths = ["/queries/q/answers", "/sparql?query=SELECT * {}"]
    opened = [_send(http, _SMALL, "GET", path, stream=True, Accept="text/event-stream") for path in paths]
    assert [each.status for each in opened] == [200, 200]
    for path in paths:
        refused = _send(http, _SMALL, "GET", path, Accept="text/event-stream")
        assert (refused.status, "2 subscribers" in json.loads(refused.data)["detail"]) == (429, True)
    other = _send(http, _LARGE, "GET", paths[0], stream=True, Accept="text/event-stream")
    assert other.status == 200
    opened[0].close()

    def come_back():
        again = _send(http, _SMALL, "GET", paths[0], stream=True, Accept="text/event-stream")
        opened.append(again)
        return again.status == 200

    wait_until(come_back)
    for each in (other, *opened):
        each.close()


def test_the_server_has_limits_of_its_own():
    [token] = parse_tokens(f"admin {_SMALL} body=1g")
    with server(tokens=(token,), limits=Limits(body_bytes=100)) as http:
        assert _ask(http, _SMALL, "ASK {}" + " " * 100).status == 413


@pytest.mark.parametrize("limit", ["body=much", "time=5", "queries=-1", "subscribers", "rows=3"])
def test_a_mistake_in_a_limit_is_named(limit):
    with pytest.raises(InputError, match=r"tokens\.txt:2: .*'"):
        parse_tokens(f"# tokens\nask {_SMALL} {limit}", "tokens.txt")
