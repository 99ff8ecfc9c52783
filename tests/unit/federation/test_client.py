"""The SERVICE client against a real endpoint, well behaved and not."""

from __future__ import annotations

import logging
import shutil
import ssl
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from freshet.algebra.nodes import Project, Service
from freshet.federation.client import Bindings, Columns, ServiceClient
from freshet.federation.credentials import variable
from freshet.federation.errors import RefusedError, RejectedError, ServiceError
from freshet.federation.service_query import ServiceQuery
from freshet.federation.settings import ServiceSettings
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import BlankNode, Iri, Literal, Term
from freshet.syntax.parser import parse_query
from sparql_endpoint import JSON, EndpointProcess, port_of, served

PREFIX = "PREFIX : <http://example.org/> "
QUICK = ServiceSettings(
    hosts=("127.0.0.1",), timeout_seconds=0.6, connect_seconds=0.5, backoff_seconds=0.01, attempts=2
)


def service_query(pattern: str) -> ServiceQuery:
    query = parse_query(f"{PREFIX} SELECT * {{ SERVICE <http://remote/> {{ {pattern} }} }}")
    assert isinstance(query.root, Project)
    assert isinstance(query.root.child, Service)
    return ServiceQuery(query.root.child.child)


FOLLOWERS = service_query("?user :followers ?count")


class Asking:
    """A client with a dictionary, and answers as terms."""

    def __init__(self, settings: ServiceSettings = QUICK) -> None:
        self.client = ServiceClient(settings)
        self.dictionary = Dictionary()

    def bindings(self, name: str, *terms: Term) -> Bindings:
        return Bindings((name,), np.array([[self.dictionary.encode(term)] for term in terms], np.int64).reshape(-1, 1))

    def __call__(
        self, url: str, query: ServiceQuery = FOLLOWERS, bindings: Bindings | None = None
    ) -> set[tuple[str, ...]]:
        return self.rows(self.client.solutions(url, query, self.dictionary, bindings), query)

    def rows(self, found: Columns, query: ServiceQuery) -> set[tuple[str, ...]]:
        columns = [self.dictionary.decode_many(found.ids[name]) for name in query.variables]
        rows = list(zip(*columns, strict=True))
        assert len(rows) == found.count
        return {tuple(str(term).replace("http://example.org/", "") for term in row) for row in rows}


@pytest.fixture
def asking() -> Iterator[Asking]:
    made = Asking()
    yield made
    made.client.close()


def iri(name: str) -> Iri:
    return Iri(f"http://example.org/{name}")


def integer(number: int) -> str:
    return str(Literal(str(number), Iri("http://www.w3.org/2001/XMLSchema#integer")))


ALL = {(f"<{user}>", integer(count)) for user, count in zip("abcd", (10, 20, 30, 40), strict=True)}


# ---- well behaved


@pytest.mark.parametrize("path", ["", "/xml"])
def test_all_solutions(endpoint: EndpointProcess, asking: Asking, path: str) -> None:
    assert asking(endpoint.url + path) == ALL
    assert len(endpoint.seen) == 1


def test_terms_survive_the_way(endpoint: EndpointProcess, asking: Asking) -> None:
    names = service_query("?user :name ?name FILTER isIRI(?user)")
    assert asking(endpoint.url, names) == {("<a>", '"Ada"@en'), ("<b>", '"tab\tnew\\nline"')}


def test_blank_nodes_of_two_answers_differ(endpoint: EndpointProcess, asking: Asking) -> None:
    friends = service_query(":c :friend ?who")
    first, second = asking(endpoint.url, friends), asking(endpoint.url, friends)
    assert len(first) == len(second) == 1
    assert first != second


def test_bindings_go_in_bulk(endpoint: EndpointProcess, asking: Asking) -> None:
    small = Asking(replace(QUICK, batch=2))
    bound = small.bindings("user", iri("a"), iri("b"), iri("zz"), iri("d"), iri("y"))
    assert small(endpoint.url, FOLLOWERS, bound) == {row for row in ALL if row[0] != "<c>"}
    seen = [each["query"] for each in endpoint.seen]
    assert len(seen) == 3
    assert all("VALUES" in query for query in seen)


def test_literals_can_be_bound(endpoint: EndpointProcess, asking: Asking) -> None:
    names = service_query("?user :name ?name")
    bound = asking.bindings("name", Literal("tab\tnew\nline"), Literal("Ada", language="en"), Literal('q"\\'))
    assert asking(endpoint.url, names, bound) == {("<a>", '"Ada"@en'), ("<b>", '"tab\tnew\\nline"')}


def test_blank_nodes_are_not_sent(endpoint: EndpointProcess, asking: Asking) -> None:
    assert asking(endpoint.url, FOLLOWERS, asking.bindings("user", BlankNode("b0"))) == set()
    assert endpoint.seen == []


def test_more_bindings_than_make_sense_ask_for_everything(endpoint: EndpointProcess) -> None:
    asking = Asking(replace(QUICK, most_bindings=1))
    assert asking(endpoint.url, FOLLOWERS, asking.bindings("user", iri("a"), iri("b"))) == ALL


def test_old_endpoints_are_asked_for_single_bindings(endpoint: EndpointProcess, asking: Asking) -> None:
    endpoint.does("no_values")
    bound = asking.bindings("user", iri("a"), iri("d"), iri("zz"))
    expected = {("<a>", integer(10)), ("<d>", integer(40))}
    assert asking(endpoint.url, FOLLOWERS, bound) == expected
    assert len(endpoint.seen) == 4
    assert asking(endpoint.url, FOLLOWERS, bound) == expected  # what was found out is remembered
    assert len(endpoint.seen) == 7
    filtered = service_query("?user :followers ?count FILTER (?count > 15)")
    assert asking(endpoint.url, filtered, bound) == {("<d>", integer(40))}


def test_hosts_can_be_said_to_be_old(endpoint: EndpointProcess) -> None:
    asking = Asking(replace(QUICK, single_bindings=("127.0.0.1",)))
    assert asking(endpoint.url, FOLLOWERS, asking.bindings("user", iri("a"))) == {("<a>", integer(10))}
    assert "VALUES" not in endpoint.seen[0]["query"]


def test_requests_run_side_by_side_up_to_the_limit(endpoint: EndpointProcess) -> None:
    endpoint.does(delay_seconds=0.15)
    asking = Asking(replace(QUICK, batch=1, requests_at_once=4, timeout_seconds=5))
    start = time.monotonic()
    asking(endpoint.url, FOLLOWERS, asking.bindings("user", *(iri(f"u{n}") for n in range(8))))
    assert 0.3 <= time.monotonic() - start < 0.9  # two rounds of four, not eight


# ---- badly behaved


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ({"mode": "gone"}, "cannot be reached"),
        ({"mode": "wrong_type"}, "text/html"),
        ({"mode": "broken_json"}, "not JSON"),
        ({"mode": "drip"}, "no answer in time|too long"),
        ({"mode": "drip_headers"}, "no answer in time"),
        ({"mode": "continue"}, "no answer in time"),
        ({"mode": "continue", "pause_seconds": 0}, "no answer in time"),
        ({"mode": "drip_trailers"}, "no answer in time|too long"),
        ({"delay_seconds": 2}, "no answer in time|too long"),
        ({"mode": "status", "status": 500}, "status 500"),
        ({"mode": "status", "status": 204}, "status 204"),
        ({"mode": "redirect", "location": "http://evil.example/"}, "may not ask <http://evil.example/>"),
        ({"mode": "redirect", "location": "/sparql"}, "redirects too often"),
        ({"mode": "redirect", "location": "file:///etc/passwd"}, "http and https"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value.get("mode", "slow")),
)
def test_failures_are_named(
    endpoint: EndpointProcess, asking: Asking, behaviour: dict[str, object], words: str
) -> None:
    endpoint.does(**behaviour)  # type: ignore[arg-type]
    start = time.monotonic()
    with pytest.raises(ServiceError, match=words):
        asking(endpoint.url)
    assert time.monotonic() - start < 3
    endpoint.does()
    assert asking(endpoint.url) == ALL  # and it recovers


def test_endless_bodies_are_cut_off(endpoint: EndpointProcess) -> None:
    endpoint.does("endless")
    asking = Asking(replace(QUICK, most_bytes=1 << 20, timeout_seconds=20))
    with pytest.raises(ServiceError, match="more than 1048576 bytes"):
        asking(endpoint.url)


def test_passing_failures_are_tried_again(endpoint: EndpointProcess, asking: Asking) -> None:
    endpoint.does("status", status=503, only_first=1)
    assert asking(endpoint.url) == ALL
    assert len(endpoint.seen) == 2


def test_rejected_queries_are_not_tried_again(endpoint: EndpointProcess, asking: Asking) -> None:
    endpoint.does("status", status=400)
    with pytest.raises(RejectedError):
        asking(endpoint.url)
    assert len(endpoint.seen) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_within_the_allowed_hosts_are_followed(
    endpoint: EndpointProcess, asking: Asking, status: int
) -> None:
    endpoint.does("redirect", location="/elsewhere", status=status, only_first=1)
    assert asking(endpoint.url) == ALL


def test_tls_errors_are_named(endpoint: EndpointProcess, asking: Asking) -> None:
    with pytest.raises(ServiceError, match="TLS"):
        asking(endpoint.url.replace("http:", "https:"))


def test_no_endpoint_at_all(asking: Asking) -> None:
    with pytest.raises(ServiceError, match="no connection"):
        asking("http://127.0.0.1:9/sparql")


def test_the_circuit_breaker_opens_and_closes(endpoint: EndpointProcess) -> None:
    asking = Asking(replace(QUICK, attempts=1, failures_to_open=2, open_seconds=0.3))
    endpoint.does("status", status=500)
    for _ in range(5):
        with pytest.raises(ServiceError):
            asking(endpoint.url)
    assert len(endpoint.seen) == 2
    endpoint.does()
    with pytest.raises(ServiceError, match="left alone"):
        asking(endpoint.url)
    time.sleep(0.35)
    assert asking(endpoint.url) == ALL


def test_one_endpoint_that_hangs_does_not_hold_up_another(endpoint: EndpointProcess) -> None:
    other = EndpointProcess("<http://example.org/a> <http://example.org/followers> 1 .")
    try:
        asking = Asking(replace(QUICK, timeout_seconds=5))
        endpoint.does(delay_seconds=1)
        slow = [asking.client.endpoint(endpoint.url).submit(FOLLOWERS.whole(), "s") for _ in range(8)]
        start = time.monotonic()
        assert asking(other.url) == {("<a>", integer(1))}
        assert time.monotonic() - start < 0.5
        assert not all(each.done() for each in slow)
        asking.client.close()
    finally:
        other.stop()


def test_a_process_can_end_while_a_request_hangs() -> None:
    """Nothing can end the look-up of a name; here it is a request that sleeps."""
    script = """
import time
from freshet.federation.http import Requests
Requests.ask = lambda *given: time.sleep(600)
from freshet.federation.client import ServiceClient
from freshet.federation.settings import ServiceSettings
future = ServiceClient(ServiceSettings(("127.0.0.1",))).endpoint("http://127.0.0.1/").submit("ASK {}", "s")
while not future.running():
    time.sleep(0.01)
print("at work")
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout) == (0, "at work\n"), ended.stderr


def test_what_is_closed_asks_nothing(endpoint: EndpointProcess) -> None:
    endpoint.does(delay_seconds=0.3)
    asking = Asking(replace(QUICK, requests_at_once=1))
    asked = asking.client.endpoint(endpoint.url)
    begun, waiting = (asked.submit(FOLLOWERS.whole(), "s") for _ in range(2))
    while not begun.running():
        time.sleep(0.01)
    asking.client.close()
    for each in (waiting, asked.submit(FOLLOWERS.whole(), "s")):
        assert isinstance(each.exception(0), ServiceError)
    assert begun.result(2).count == 4
    with pytest.raises(ServiceError, match="closed"):
        asking(endpoint.url)


def test_a_check_can_stop_the_waiting(endpoint: EndpointProcess, asking: Asking) -> None:
    endpoint.does(delay_seconds=0.5)

    def stop() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        asking.client.solutions(endpoint.url, FOLLOWERS, asking.dictionary, None, stop)


# ---- who may be asked


@pytest.mark.parametrize("hosts", [(), ("example.org",), ("127.0.0.1:1",), ("127.0.0.10",)])
def test_only_allowed_hosts_are_asked(endpoint: EndpointProcess, hosts: tuple[str, ...]) -> None:
    with pytest.raises(RefusedError, match="may not ask"):
        Asking(replace(QUICK, hosts=hosts))(endpoint.url)
    assert endpoint.seen == []


def test_hosts_with_ports_and_every_host(endpoint: EndpointProcess) -> None:
    assert Asking(replace(QUICK, hosts=(endpoint.host,)))(endpoint.url) == ALL
    assert Asking(replace(QUICK, hosts=("*",)))(endpoint.url) == ALL


@pytest.mark.parametrize("entry", ["[::1]:3030", "[::1]", "::1", "[0:0::1]:3030", "[0:0:0:0:0:0:0:1]"])
def test_ipv6_addresses_are_hosts(entry: str) -> None:
    settings = ServiceSettings((entry,))
    settings.check("http://[::1]:3030/sparql")
    for other in ("http://[::2]:3030/", "http://[::1:3030]/", "http://localhost:3030/"):
        with pytest.raises(RefusedError, match="may not ask"):
            settings.check(other)
    if entry.endswith(":3030"):
        with pytest.raises(RefusedError, match=r"--service \[::1\]"):
            settings.check("http://[::1]/")


def test_of_other_urls_scheme_and_host_are_shown(asking: Asking) -> None:
    for url, words in (
        ("ftp://ada:s3@h/p?key=s3", "<ftp://h>"),
        ("urn:s3?key=s3", "<urn:>"),
        ("http:///s3", "no host"),
    ):
        with pytest.raises(ServiceError, match=words) as raised:
            asking(url)
        assert "s3" not in str(raised.value)


def test_aliases_stand_for_endpoints(endpoint: EndpointProcess) -> None:
    asking = Asking(replace(QUICK, aliases={"http://example.org/sparql": endpoint.url}))
    assert asking("http://example.org/sparql") == ALL
    with pytest.raises(RefusedError):
        asking("http://example.org/other")


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "http:///x", "urn:x", "http://127.0.0.1:99999/"])
def test_other_urls_are_errors(asking: Asking, url: str) -> None:
    with pytest.raises(ServiceError):
        asking(url)


# ---- credentials


def variables(endpoint: EndpointProcess) -> str:
    return f"FRESHET_SERVICE_127_0_0_1___{endpoint.port}"


def test_credentials_come_from_the_environment(
    endpoint: EndpointProcess, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{variables(endpoint)}_USER", "ada")
    monkeypatch.setenv(f"{variables(endpoint)}_PASSWORD", "secret-word")
    asking(endpoint.url)
    assert endpoint.seen[0]["authorization"] == "Basic YWRhOnNlY3JldC13b3Jk"
    monkeypatch.setenv(f"{variables(endpoint)}_TOKEN", "secret-token")
    asking(endpoint.url)
    assert endpoint.seen[1]["authorization"] == "Bearer secret-token"


def test_credentials_are_never_shown(
    endpoint: EndpointProcess, asking: Asking, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(f"{variables(endpoint)}_TOKEN", "secret-token")
    endpoint.does("status", status=401)
    with pytest.raises(ServiceError) as raised:
        asking(f"{endpoint.url}?key=secret-key")
    assert "secret" not in str(raised.value)
    assert "secret-token" not in caplog.text
    with pytest.raises(ServiceError) as raised:
        asking("http://ada:secret@127.0.0.1/")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "sent"),
    [({"TOKEN": "s3cr3t\n"}, "Bearer s3cr3t"), ({"USER": "ada\n", "PASSWORD": "pw\r\n"}, "Basic YWRhOnB3")],
    ids=["token", "user"],
)
def test_the_end_of_a_line_is_no_part_of_credentials(
    endpoint: EndpointProcess,
    asking: Asking,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, str],
    sent: str,
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(f"{variables(endpoint)}_{name}", value)
    asking(endpoint.url)
    assert endpoint.seen[0]["authorization"] == sent


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKEN", "s3cr3t\r\nX-Other: 1"),
        ("TOKEN", "s3cr3t\u00fc"),
        ("TOKEN", "s3cr3t\udcff"),
        ("USER", "s3cr3t\udcff"),
        ("USER", "s3cr3t:x"),
    ],
)
def test_credentials_that_cannot_be_sent_are_named_not_shown(
    endpoint: EndpointProcess, asking: Asking, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"{variables(endpoint)}_{name}", value)
    with pytest.raises(ServiceError, match=f"{variables(endpoint)}_{name}") as raised:
        asking(endpoint.url)
    assert "s3cr3t" not in str(raised.value)
    assert endpoint.seen == []


def test_of_errors_that_nobody_expects_only_the_kind_is_told(
    endpoint: EndpointProcess, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("Invalid header value b'Bearer s3cr3t'")

    monkeypatch.setattr("freshet.federation.http.authorization", fail)
    with pytest.raises(ServiceError, match="ValueError") as raised:
        asking(endpoint.url)
    assert "s3cr3t" not in "".join(traceback.format_exception(raised.value))
    assert "s3cr3t" not in str(asking.client.endpoint(endpoint.url).last_error)


def test_credentials_are_not_sent_unencrypted(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRESHET_SERVICE_EXAMPLE_INVALID_TOKEN", "secret")
    with pytest.raises(ServiceError, match="unencrypted"):
        Asking(replace(QUICK, hosts=("example.invalid",)))("http://example.invalid/sparql")


def test_hosts_that_are_not_named_get_no_credentials(
    endpoint: EndpointProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{variables(endpoint)}_TOKEN", "secret")
    assert Asking(replace(QUICK, hosts=("*",)))(endpoint.url) == ALL
    assert Asking(replace(QUICK, hosts=("*", endpoint.host)))(endpoint.url) == ALL
    assert [each["authorization"] for each in endpoint.seen] == ["", "Bearer secret"]


def test_no_two_hosts_share_a_variable() -> None:
    urls = [
        "https://data.example.org/",
        "https://data-example.org/",
        "https://data.example-org/",
        "https://data--example.org/",
        "https://data.example.org:8443/",
        "https://data.example.org.8443/",
        "https://data-.example.org/",
        "https://data.-example.org/",
        "https://data_example.org/",
        "https://[::1]/",
        "https://[::1]:8443/",
        "https://[1::1]/",
        "https://[::1:8443]/",
        "https://[fe80::1%25eth0]/",
        "http://localhost:3030/",
    ]
    names = [variable(url) for url in urls]
    found = [name for name in names if name is not None]
    assert len(set(found)) == len(found) == len(urls) - 4  # four of them are no names of hosts
    assert names[0] == variable("https://DATA.example.org:443/x?y") == "FRESHET_SERVICE_DATA_EXAMPLE_ORG"
    assert names[1] == "FRESHET_SERVICE_DATA__EXAMPLE_ORG"
    assert names[-1] == "FRESHET_SERVICE_LOCALHOST___3030"
    assert variable("https://[0:0::1]/") == variable("https://[::1]/")


def test_certificates_that_nobody_trusts(tmp_path: Path, asking: Asking) -> None:
    """A server with a certificate of its own making; openssl makes it."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-days", "1"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, *subject]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with served(lambda path, query: (b"{}", JSON)) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        with pytest.raises(ServiceError, match="TLS failed"):
            asking(f"https://127.0.0.1:{port_of(server)}/sparql")
        assert server.seen == []


def test_endpoints_that_were_asked_long_ago_are_forgotten() -> None:
    """Data may name ever new ones. What somebody still has is closed with the rest."""
    client = ServiceClient(ServiceSettings(hosts=("127.0.0.1",)))
    first = client.endpoint("http://127.0.0.1:9/first")
    for number in range(1500):
        client.endpoint(f"http://127.0.0.1:9/{number}")
        client.endpoint("http://127.0.0.1:9/often")
    assert len(client.endpoints) == 1000
    assert client.endpoint("http://127.0.0.1:9/often") in client.endpoints.values()
    assert first not in client.endpoints.values()
    client.close()
    with pytest.raises(ServiceError, match="closed"):
        first.submit("SELECT * {}", "b").result(5)
