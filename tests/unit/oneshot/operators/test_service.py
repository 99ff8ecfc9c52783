"""SERVICE in one-shot queries, against a real endpoint in a second process."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from freshet.federation.errors import RefusedError, ServiceError
from freshet.rdf.errors import FreshetError, InputError, UnsupportedError
from freshet.runtime.session import Session
from sparql_endpoint import EndpointProcess

PREFIX = "PREFIX : <http://example.org/> "
REMOTE = "@prefix : <http://example.org/> . " + " ".join(f":u{n} :followers {n * 10} ." for n in range(300))


def session_with(tmp_path_data: str, *hosts: str, tmp: str) -> Session:
    session = Session(services=hosts)
    with open(tmp, "w", encoding="utf-8") as file:
        file.write(f"@prefix : <http://example.org/> . {tmp_path_data}")
    session.load(tmp)
    return session


def rows(session: Session, text: str) -> list[dict[str, str]]:
    found = session.query(PREFIX + text)
    shown = [{name: str(term) for name, term in each.items()} for each in session.bindings(found)]
    plain = [
        {name: text.replace("http://example.org/", "").split("^^")[0] for name, text in each.items()} for each in shown
    ]
    return sorted(plain, key=lambda row: sorted(row.items()))


@pytest.fixture
def session(endpoint: EndpointProcess, tmp_path: object) -> Session:
    local = ":u1 :at :x . :u2 :at :y . :u999 :at :x . [] :at :x ."
    return session_with(local, "127.0.0.1", tmp=f"{tmp_path}/local.ttl")


def test_only_what_is_needed_is_asked_for(session: Session, endpoint: EndpointProcess) -> None:
    found = rows(session, f"SELECT * {{ ?user :at ?place SERVICE <{endpoint.url}> {{ ?user :followers ?n }} }}")
    assert found == [
        {"user": "<u1>", "place": "<x>", "n": '"10"'},
        {"user": "<u2>", "place": "<y>", "n": '"20"'},
    ]
    [seen] = endpoint.seen
    assert "VALUES" in seen["query"]
    assert "u2" in seen["query"]


def test_whichever_order_they_are_written_in(session: Session, endpoint: EndpointProcess) -> None:
    found = rows(session, f"SELECT * {{ SERVICE <{endpoint.url}> {{ ?user :followers ?n }} ?user :at ?place }}")
    assert len(found) == 2
    assert "VALUES" in endpoint.seen[0]["query"]


def test_optional_and_minus(session: Session, endpoint: EndpointProcess) -> None:
    optional = f"SELECT ?user ?n {{ ?user :at :x OPTIONAL {{ SERVICE <{endpoint.url}> {{ ?user :followers ?n }} }} }}"
    assert [row.get("n") for row in rows(session, optional) if "u" in row["user"]] == ['"10"', None]
    minus = f"SELECT ?user {{ ?user :at ?p MINUS {{ SERVICE <{endpoint.url}> {{ ?user :followers ?n }} }} }}"
    assert [row["user"] for row in rows(session, minus) if "u" in row["user"]] == ["<u999>"]


def test_exists(session: Session, endpoint: EndpointProcess) -> None:
    text = f"SELECT ?user {{ ?user :at ?p FILTER EXISTS {{ SERVICE <{endpoint.url}> {{ ?user :followers ?n }} }} }}"
    assert [row["user"] for row in rows(session, text)] == ["<u1>", "<u2>"]
    inner = f"SERVICE <{endpoint.url}> {{ ?user :followers ?n FILTER (?p != :x) }}"
    with pytest.raises(UnsupportedError, match="EXISTS"):
        rows(session, f"SELECT ?user {{ ?user :at ?p FILTER EXISTS {{ {inner} }} }}")


def test_what_may_be_unbound_remotely_is_joined_here(session: Session, endpoint: EndpointProcess) -> None:
    """A variable that the remote pattern leaves unbound fits every row, blank nodes too."""
    inner = "{ :u7 :followers ?n } UNION { ?user :followers ?n FILTER (?n = 20) }"
    found = rows(session, f"SELECT ?user ?n {{ ?user :at ?p SERVICE <{endpoint.url}> {{ {inner} }} }}")
    assert sum(row["n"] == '"70"' for row in found) == 4
    assert sum(row["n"] == '"20"' for row in found) == 1


def test_the_endpoint_can_be_a_variable(session: Session, endpoint: EndpointProcess) -> None:
    text = f"""SELECT ?user ?n {{ VALUES (?user ?where) {{ (:u1 <{endpoint.url}>) (:u3 <{endpoint.url}/xml>) }}
               SERVICE ?where {{ ?user :followers ?n }} }}"""
    assert rows(session, text) == [{"user": "<u1>", "n": '"10"'}, {"user": "<u3>", "n": '"30"'}]
    assert len(endpoint.seen) == 2
    with pytest.raises(InputError, match="nothing binds"):
        rows(session, "SELECT * { SERVICE ?where { ?user :followers ?n } }")
    with pytest.raises(ServiceError, match="no endpoint"):
        rows(session, 'SELECT * { VALUES ?where { "x" } SERVICE ?where { ?user :followers ?n } }')


def test_rows_that_leave_the_endpoint_unbound(session: Session, endpoint: EndpointProcess) -> None:
    values = f"VALUES (?user ?where) {{ (:u1 <{endpoint.url}>) (:u3 UNDEF) (:u4 UNDEF) }}"
    silent = f"{values} SERVICE SILENT ?where {{ ?user :followers ?n }}"
    expected = [{"user": "<u1>", "n": '"10"'}, {"user": "<u3>"}, {"user": "<u4>"}]
    assert rows(session, f"SELECT ?user ?n {{ {silent} }}") == sorted(expected, key=lambda row: sorted(row.items()))
    optional = f"{values} OPTIONAL {{ SERVICE SILENT ?where {{ ?user :followers ?n }} }}"
    assert rows(session, f"SELECT ?user ?n {{ {optional} }}") == rows(session, f"SELECT ?user ?n {{ {silent} }}")
    nobody = "VALUES (?user ?where) { (:u3 UNDEF) } SERVICE SILENT ?where { ?user :followers ?n }"
    assert rows(session, f"SELECT ?user ?n {{ {nobody} }}") == [{"user": "<u3>"}]
    for text in (silent, optional):
        with pytest.raises(InputError, match=r"some solutions leave \?where.*unbound"):
            rows(session, f"SELECT * {{ {text.replace('SILENT', '')} }}")


@pytest.mark.parametrize(
    ("form", "users"),
    [
        ("FILTER EXISTS { SILENT }", ["<u1>", "<u3>"]),
        ("FILTER NOT EXISTS { SILENT }", ["<u999>"]),
        ("FILTER EXISTS { SILENT FILTER (?n > 1) }", ["<u1>"]),
        ("FILTER NOT EXISTS { SILENT FILTER (?n > 1) }", ["<u3>", "<u999>"]),
        ("FILTER EXISTS { SILENT FILTER (?user = :u3) }", ["<u3>"]),
        ("FILTER (?user = :u999 || EXISTS { SILENT })", ["<u1>", "<u3>", "<u999>"]),
        ("MINUS { SILENT }", ["<u3>", "<u999>"]),
    ],
)
def test_exists_and_minus_for_rows_that_leave_the_endpoint_unbound(
    session: Session, endpoint: EndpointProcess, form: str, users: list[str]
) -> None:
    values = f"VALUES (?user ?where) {{ (:u1 <{endpoint.url}>) (:u3 UNDEF) (:u999 <{endpoint.url}>) }}"
    asked = form.replace("SILENT", "SERVICE SILENT ?where { ?user :followers ?n }")
    assert [row["user"] for row in rows(session, f"SELECT ?user {{ {values} {asked} }}")] == users
    if "?user =" not in form:
        with pytest.raises(InputError, match=r"\?where, the endpoint of SERVICE"):
            rows(session, f"SELECT ?user {{ {values} {asked.replace('SILENT', '')} }}")


def test_many_bindings_in_batches(session: Session, endpoint: EndpointProcess) -> None:
    users = " ".join(f":u{n}" for n in range(250))
    text = f"SELECT * {{ VALUES ?user {{ {users} }} SERVICE <{endpoint.url}> {{ ?user :followers ?n }} }}"
    assert len(rows(session, text)) == 250
    assert len(endpoint.seen) == 3


def test_sub_selects_aggregates_and_paths(session: Session, endpoint: EndpointProcess) -> None:
    text = f"SELECT ?most {{ SERVICE <{endpoint.url}> {{ SELECT (MAX(?n) AS ?most) {{ ?user :followers ?n }} }} }}"
    assert rows(session, text) == [{"most": '"2990"'}]
    path = f"SELECT ?n {{ SERVICE <{endpoint.url}> {{ :u5 :followers|^:nothing ?n }} }}"
    assert rows(session, path) == [{"n": '"50"'}]


def test_ask_and_construct(session: Session, endpoint: EndpointProcess) -> None:
    ask = session.query(f"{PREFIX} ASK {{ SERVICE <{endpoint.url}> {{ :u1 :followers 10 }} }}")
    assert ask.value is True  # type: ignore[union-attr]
    no = session.query(f"{PREFIX} ASK {{ SERVICE <{endpoint.url}> {{ :u1 :followers 11 }} }}")
    assert no.value is False  # type: ignore[union-attr]


def test_a_failure_is_an_error_unless_silent(session: Session, endpoint: EndpointProcess) -> None:
    endpoint.does("wrong_type")
    pattern = f"<{endpoint.url}> {{ ?user :followers ?n }}"
    with pytest.raises(ServiceError, match="text/html"):
        rows(session, f"SELECT * {{ ?user :at :y SERVICE {pattern} }}")
    assert rows(session, f"SELECT * {{ ?user :at :y SERVICE SILENT {pattern} }}") == [{"user": "<u2>"}]


def test_nothing_is_asked_without_leave(endpoint: EndpointProcess) -> None:
    session = Session()
    with pytest.raises(RefusedError, match="--service"):
        rows(session, f"SELECT * {{ SERVICE <{endpoint.url}> {{ ?user :followers ?n }} }}")
    assert rows(session, f"SELECT * {{ SERVICE SILENT <{endpoint.url}> {{ ?user :followers ?n }} }}") == [{}]
    assert endpoint.seen == []


def test_no_bindings_no_request(session: Session, endpoint: EndpointProcess) -> None:
    assert rows(session, f"SELECT * {{ ?user :nowhere ?p SERVICE <{endpoint.url}> {{ ?user :followers ?n }} }}") == []
    assert endpoint.seen == []


@pytest.mark.parametrize(
    "behaviour", [{"mode": "held"}, {"mode": "drip_headers", "pause_seconds": 0.3}], ids=["slow", "dripping"]
)
def test_the_time_limit_of_a_query_is_that_of_its_requests(
    session: Session, endpoint: EndpointProcess, behaviour: dict[str, Any]
) -> None:
    endpoint.does(**behaviour)
    others = set(threading.enumerate())
    start = time.monotonic()
    with pytest.raises(FreshetError, match=r"time limit|no answer in time"):
        session.query(f"SELECT * {{ SERVICE <{endpoint.url}> {{ ?s ?p ?o }} }}", timeout_seconds=0.5)
    session.services.close()
    for thread in set(threading.enumerate()) - others:
        thread.join(20)  # what is left at work ends in time too
    assert time.monotonic() - start < 15  # far from the thirty seconds that a request may take


def test_one_host_needs_no_list(endpoint: EndpointProcess) -> None:
    session = Session(services="127.0.0.1")
    assert len(rows(session, f"SELECT * {{ SERVICE <{endpoint.url}> {{ :u1 :followers ?n }} }}")) == 1


@pytest.mark.parametrize(
    ("condition", "stays"), [("?n > 5", False), ("!BOUND(?n) || ?n > 5", True), ("COALESCE(?n, 1) > 5", False)]
)
def test_filters_on_what_silent_passes_over(
    session: Session, endpoint: EndpointProcess, condition: str, stays: bool
) -> None:
    """Rewriting puts filters and projections next to SERVICE, which is to make no difference."""
    values = f"VALUES (?user ?where) {{ (:u1 <{endpoint.url}>) (:u3 UNDEF) }}"
    service = "SERVICE SILENT ?where { ?user :followers ?n ; ?p ?o }"
    joined = rows(session, f"SELECT DISTINCT ?user {{ {values} {service} FILTER ({condition}) }}")
    assert joined == [{"user": "<u1>"}, {"user": "<u3>"}][: 2 if stays else 1]
    optional = f"SELECT DISTINCT ?user {{ {values} OPTIONAL {{ {service} FILTER ({condition}) }} }}"
    assert rows(session, optional) == [{"user": "<u1>"}, {"user": "<u3>"}]
