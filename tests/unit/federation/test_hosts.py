"""Which hosts SERVICE may ask, and what is shown of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asking import ALL, QUICK, Asking
from freshet.federation.errors import RefusedError, ServiceError
from freshet.federation.settings import ServiceSettings
from sparql_endpoint import EndpointProcess


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
