"""The SERVICE client against a real endpoint that is well behaved."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from asking import ALL, FOLLOWERS, QUICK, Asking, integer, iri, service_query
from freshet.federation.client import ServiceClient
from freshet.federation.errors import ServiceError
from freshet.federation.settings import ServiceSettings
from freshet.rdf.terms import BlankNode, Literal
from sparql_endpoint import EndpointProcess
from waiting import wait_until


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
    endpoint.does("held")
    asking = Asking(replace(QUICK, batch=1, requests_at_once=4))
    bound = asking.bindings("user", *(iri(f"u{n}") for n in range(8)))
    asker = threading.Thread(target=asking, args=(endpoint.url, FOLLOWERS, bound), daemon=True)
    asker.start()
    wait_until(lambda: len(endpoint.seen) >= 4)
    time.sleep(0.2)  # a fifth would have come by now
    assert len(endpoint.seen) == 4
    endpoint.does()
    asker.join(60)
    assert not asker.is_alive()
    assert len(endpoint.seen) == 4  # and the other four


def test_what_is_closed_asks_nothing(endpoint: EndpointProcess) -> None:
    endpoint.does("held")
    asking = Asking(replace(QUICK, requests_at_once=1))
    asked = asking.client.endpoint(endpoint.url)
    begun, waiting = (asked.submit(FOLLOWERS.whole_query(), "s") for _ in range(2))
    wait_until(lambda: bool(endpoint.seen))
    asking.client.close()
    for each in (waiting, asked.submit(FOLLOWERS.whole_query(), "s")):
        assert isinstance(each.exception(0), ServiceError)
    endpoint.does()
    assert begun.result(60).count == 4
    with pytest.raises(ServiceError, match="closed"):
        asking(endpoint.url)


def test_a_check_can_stop_the_waiting(endpoint: EndpointProcess, asking: Asking) -> None:
    endpoint.does("held")

    def stop() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        asking.client.solutions(endpoint.url, FOLLOWERS, asking.dictionary, None, stop)


def test_endpoints_that_were_asked_long_ago_are_forgotten() -> None:
    """Data may name ever new ones. What is still in use is closed with the rest."""
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
        first.submit("SELECT * {}", "b").result(60)
