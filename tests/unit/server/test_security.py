"""Who may do what, and what clients that behave badly cost: the others do not notice."""

import itertools
import json
import socket
import ssl
import subprocess

import pytest
import urllib3

from freshet import InputError, Session
from freshet.server.settings import Limits, ServerSettings, Token, parse_listen, parse_tokens
from http_server import server

_QUERY = "SELECT ?s FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT1S STEP PT1S] WHERE { WINDOW <w> { ?s ?p ?o } }"
_SECRETS = {right: f"{right}-0123456789abcdef" for right in ("ask", "register", "feed", "admin")}


def _tokens() -> tuple[Token, ...]:
    return parse_tokens("".join(f"{right} {secret}\n" for right, secret in _SECRETS.items()))


@pytest.fixture
def guarded():
    session = Session()
    session.stream("http://e/s")
    with server(session, tokens=_tokens()) as running:
        yield running


@pytest.mark.parametrize(
    ("method", "path", "body", "right"),
    [
        ("GET", "/sparql?query=ASK%7B%7D", None, "ask"),
        ("GET", "/queries", None, "ask"),
        ("GET", "/streams", None, "ask"),
        ("PUT", "/queries/q", _QUERY, "register"),
        ("DELETE", "/queries/q", None, "register"),
        ("PUT", "/streams/t?iri=http://e/t", None, "register"),
        ("POST", "/streams/s", "<http://e/a> <http://e/p> 1 .", "feed"),
        ("GET", "/metrics", None, "admin"),
    ],
)
def test_each_right_allows_what_it_says(guarded, method, path, body, right):
    def status(secret):
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return guarded.send(method, path, body, Content_Type="text/turtle", **headers).status

    assert status(None) == 401
    assert status("wrong") == 401
    assert status(_SECRETS[right][:-1]) == 401
    for other in set(_SECRETS) - {right, "admin"}:
        assert status(_SECRETS[other]) == 403
    if right == "register" and method == "DELETE":
        assert status(_SECRETS["register"]) == 404
    else:
        assert status(_SECRETS[right]) in (200, 201)
        assert status(_SECRETS["admin"]) in (200, 201)


def test_health_needs_no_token(guarded):
    assert guarded.get("/health").status == 200
    answer = guarded.get("/queries")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_an_address_that_others_reach_needs_a_token():
    for host in ("0.0.0.0", "::", "192.168.1.7", "example.org"):
        with pytest.raises(InputError, match="no token"):
            ServerSettings(host).check()
        ServerSettings(host, tokens=_tokens()).check()
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.2"):
        ServerSettings(host).check()
    with pytest.raises(InputError, match="both"):
        ServerSettings(certificate="x").check()
    for wrong in ("ask short", "ask,fly 0123456789abcdef", "ask"):
        with pytest.raises(InputError):
            parse_tokens(wrong)
    for wrong in ("x:y", "127.0.0.1:99999", "h:-1"):
        with pytest.raises(InputError):
            parse_listen(wrong)
    assert "0123456789abcdef" not in repr(_tokens())


def test_a_made_up_host_is_refused():
    with server(Session()) as http:
        for host, status in (("evil.example", 421), ("localhost:1", 200), ("127.0.0.1", 200), ("[::1]:7022", 200)):
            assert http.get("/health", Host=host).status == status
        twice = b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", int(http.url.rpartition(":")[2]))) as connection:
            connection.sendall(twice)
            assert connection.recv(1000).startswith(b"HTTP/1.1 400 ")
    with server(Session(), hosts=("data.example",)) as http:
        assert http.get("/health", Host="data.example").status == 200


def test_pages_of_other_sites_can_change_nothing_and_read_nothing():
    with server(Session()) as http:
        own = http.url
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "file://"):
            for method, path in (("PUT", "/streams/t?iri=http://e/t"), ("POST", "/sparql"), ("DELETE", "/queries/q")):
                assert http.send(method, path, "", Origin=origin).status == 403
            read = http.get("/queries", Origin=origin)
            assert "access-control-allow-origin" not in read.headers
        assert http.send("PUT", "/streams/t?iri=http://e/t", Origin=own, Host=own.removeprefix("http://")).status == 201
        preflight = http.send("OPTIONS", "/sparql", Origin="http://evil.example", Access_Control_Request_Method="POST")
        assert "access-control-allow-origin" not in preflight.headers


def test_pages_of_allowed_sites_can():
    with server(Session(), origins=("http://app.example",)) as http:
        asked = http.ask("ASK {}", Origin="http://app.example")
        assert asked.headers["access-control-allow-origin"] == "http://app.example"
        assert "Origin" in asked.headers["vary"]
        preflight = http.send(
            "OPTIONS",
            "/queries/q",
            Origin="http://app.example",
            Access_Control_Request_Method="PUT",
            Access_Control_Request_Headers="authorization",
        )
        assert preflight.status == 204
        assert "PUT" in preflight.headers["access-control-allow-methods"]
        assert preflight.headers["access-control-allow-headers"] == "authorization"
        wrong = http.ask("ASK {", Origin="http://app.example")
        assert (wrong.status, wrong.headers["access-control-allow-origin"]) == (400, "http://app.example")
    with server(Session(), origins=("*",)) as http:
        assert http.ask("ASK {}", Origin="http://any.example").headers["access-control-allow-origin"]


def test_tls(tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(certificate), "-keyout", str(key)]
    subprocess.run([*make, *names], check=True, capture_output=True)
    with server(Session(), certificate=certificate, key=key) as http:
        assert http.url.startswith("https://")
        trusting = urllib3.PoolManager(ssl_context=ssl.create_default_context(cafile=str(certificate)))
        assert trusting.request("GET", f"{http.url}/health").status == 200


def test_an_error_inside_shows_no_traceback(monkeypatch):
    with server(Session()) as http:
        monkeypatch.setattr(http.session, "query", lambda *_, **__: 1 / 0)
        answer = http.ask("ASK {}")
        assert answer.status == 500
        assert "log" in json.loads(answer.data)["detail"]
        assert b"ZeroDivision" not in answer.data


def test_limits_on_queries_and_subscribers():
    session = Session()
    session.stream("http://e/s")
    with server(session, limits=Limits(queries=2, subscribers=2)) as http:
        for number in range(2):
            assert http.send("PUT", f"/queries/q{number}", _QUERY).status == 201
        assert http.send("PUT", "/queries/q2", _QUERY).status == 429
        kept = [http.send("GET", "/queries/q0/answers", stream=True) for _ in range(2)]
        assert http.get("/queries/q0/answers").status == 503
        assert len(kept) == 2


def test_files_and_addresses_in_queries_are_not_opened(tmp_path):
    secret = tmp_path / "secret.ttl"
    secret.write_text("<http://e/a> <http://e/p> 'secret' .")
    with server(Session()) as http:
        for graph in (secret.as_uri(), str(secret), f"{http.url}/metrics"):
            answer = http.ask(f"SELECT * FROM <{graph}> {{ ?s ?p ?o }}")
            assert answer.status in (200, 400)
            assert b"secret" not in answer.data.replace(b"secret.ttl", b"")
        assert http.ask(f"SELECT * {{ SERVICE <{http.url}/sparql> {{ ?s ?p ?o }} }}").status == 502


def _connect(http) -> socket.socket:
    host, port = http.url.removeprefix("http://").split(":")
    made = socket.create_connection((host, int(port)))
    made.settimeout(60)
    return made


def _headers_sent(connection: socket.socket) -> int:
    """How many headers a server takes before it hangs up."""
    for number in range(1_000_000):
        try:
            connection.sendall(b"X-%d: y\r\n" % number)
        except OSError:
            return number
    return 1_000_000


_HALF = (
    b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-query\r\n"
    b"Content-Length: 1000\r\n\r\nASK {"
)
_CHUNKED = (
    b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    b"Content-Type: application/sparql-query\r\n\r\n"
)


@pytest.mark.parametrize("sent", [b"", b"GET /health HTT", _HALF], ids=["nothing", "half a line", "half a body"])
def test_a_slow_client_is_cut_off(sent):
    with server(Session(), limits=Limits(header_seconds=0.5, body_seconds=0.5)) as http:
        slow = _connect(http)
        slow.sendall(sent)
        assert slow.recv(1000).startswith(b"HTTP/1.1 408")
        assert http.ask("ASK {}").status == 200


def test_endless_clients_are_cut_off():
    with server(Session(), limits=Limits(header_bytes=10_000, body_bytes=50_000)) as http:
        endless, large = _connect(http), _connect(http)
        endless.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        assert _headers_sent(endless) < 1_000_000
        large.sendall(_CHUNKED + b"".join(b"2710\r\n" + b" " * 10_000 + b"\r\n" for _ in range(6)))
        assert large.recv(1000).startswith(b"HTTP/1.1 413")
        assert http.ask("ASK {}").status == 200


def test_open_connections_that_say_little_disturb_nobody():
    with server(Session(), limits=Limits(header_seconds=600, body_seconds=600)) as http:  # no timeout in the test
        silent = [_connect(http) for _ in range(300)]
        for each, sent in zip(silent, itertools.cycle([b"", b"GET /health HTT", _HALF]), strict=False):
            each.sendall(sent)
        assert http.ask("ASK {}").status == 200
        for each in silent:
            each.close()
