"""Credentials come from the environment, go to their host only, and are never shown."""

from __future__ import annotations

import logging
import traceback
from dataclasses import replace

import pytest

from asking import ALL, QUICK, Asking
from freshet.federation.credentials import variable
from freshet.federation.errors import ServiceError
from sparql_endpoint import EndpointProcess


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
