"""The SERVICE client against endpoints that are not as they should be: each failure is named, and passes."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from asking import ALL, FOLLOWERS, IMPATIENT, QUICK, Asking, integer
from freshet.federation.errors import RejectedError, ServiceError
from sparql_endpoint import JSON, EndpointProcess, port_of, served
from waiting import wait_until


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
        ({"mode": "held"}, "no answer in time|too long"),
        ({"mode": "status", "status": 500}, "status 500"),
        ({"mode": "status", "status": 204}, "status 204"),
        ({"mode": "redirect", "location": "http://evil.example/"}, "may not ask <http://evil.example/>"),
        ({"mode": "redirect", "location": "/sparql"}, "redirects too often"),
        ({"mode": "redirect", "location": "file:///etc/passwd"}, "http and https"),
        ({"mode": "redirect", "location": "http://[x/"}, "redirects to what is no URL"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value["mode"]),
)
def test_failures_are_named(endpoint: EndpointProcess, behaviour: dict[str, object], words: str) -> None:
    endpoint.does(**behaviour)  # type: ignore[arg-type]
    in_time = "in time" in words
    asking = Asking(IMPATIENT if in_time else QUICK)
    start = time.monotonic()
    with pytest.raises(ServiceError, match=words):
        asking(endpoint.url)
    assert time.monotonic() - start < 30
    endpoint.does()
    wait_until(lambda: answers(asking, endpoint) == ALL)  # it recovers; who is impatient may have to ask again
    asking.client.close()


def answers(asking: Asking, endpoint: EndpointProcess) -> set[tuple[str, ...]] | None:
    with suppress(ServiceError):
        return asking(endpoint.url)
    return None


def test_endless_bodies_are_cut_off(endpoint: EndpointProcess) -> None:
    endpoint.does("endless")
    asking = Asking(replace(QUICK, most_bytes=1 << 20))
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
    asking = Asking(replace(QUICK, attempts=1, failures_to_open=2, open_seconds=1000))
    breaker = asking.client.endpoint(endpoint.url).breaker
    endpoint.does("status", status=500)
    for _ in range(5):
        with pytest.raises(ServiceError):
            asking(endpoint.url)
    assert len(endpoint.seen) == 2
    endpoint.does()
    with pytest.raises(ServiceError, match="left alone"):
        asking(endpoint.url)
    breaker._clock = lambda: time.monotonic() + 1000  # when it has been open for so long
    assert asking(endpoint.url) == ALL


def test_one_endpoint_that_hangs_does_not_hold_up_another(endpoint: EndpointProcess) -> None:
    other = EndpointProcess("<http://example.org/a> <http://example.org/followers> 1 .")
    try:
        asking = Asking()
        endpoint.does("held")
        slow = [asking.client.endpoint(endpoint.url).submit(FOLLOWERS.whole_query(), "s") for _ in range(8)]
        wait_until(lambda: bool(endpoint.seen))
        assert asking(other.url) == {("<a>", integer(1))}
        assert not any(each.done() for each in slow)
        endpoint.does()
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
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert (ended.returncode, ended.stdout) == (0, "at work\n"), ended.stderr


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
    with served(lambda path, query: (b"{}", JSON), context) as server:
        with pytest.raises(ServiceError, match="TLS failed"):
            asking(f"https://127.0.0.1:{port_of(server)}/sparql")
        assert server.seen == []
