"""SERVICE ?variable in continuous queries: each row is joined with the endpoint that it names, over real HTTP."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from freshet.rdf.errors import InputError
from freshet.runtime.session import Session
from sightings import (
    EX,
    FOLLOWERS,
    QUICK,
    USERS,
    closed,
    freshness,
    full_rows,
    query_text,
    rows_of,
    saw,
    seen_at,
    term,
)
from sparql_endpoint import EndpointProcess

# ---- what binds the endpoint


def test_each_row_is_joined_with_its_endpoint(
    session: Session, endpoints: tuple[EndpointProcess, EndpointProcess]
) -> None:
    one, two = endpoints
    query = session.register(seen_at(f"SERVICE ?where {FOLLOWERS}"))
    saw(session, 1, (1, one.url), (2, two.url), (3, two.url), (99, one.url))
    [report] = closed(session, query, 10)
    assert rows_of(session, report) == [("u1", "10"), ("u2", "200"), ("u3", "300")]
    assert freshness(report).failing is None
    assert freshness(report).refreshes == 4
    [asked] = one.seen
    assert f"<{EX}u1>" in asked["query"]
    assert f"<{EX}u2>" not in asked["query"]  # which is somewhere else
    saw(session, 11, (2, one.url))
    assert rows_of(session, closed(session, query, 20)[0]) == [("u2", "20")]


FROM_WINDOW = "WINDOW <w> { ?user :is :User }"
ASKED = "SERVICE ?where { ?user :followers ?n }"


@pytest.mark.parametrize(
    "pattern",
    [
        f"{FROM_WINDOW} ?user :livesAt ?where {ASKED}",
        f"{FROM_WINDOW} VALUES ?where {{ <ONE> <TWO> }} {ASKED}",
        f"{FROM_WINDOW} BIND (IF(?user = :u1, <ONE>, <TWO>) AS ?where) {ASKED}",
        f"{ASKED} SERVICE <ONE> {{ ?user :home ?where }} {FROM_WINDOW}",
        f"{FROM_WINDOW} {ASKED} SERVICE <ONE> {{ :all :home ?where }}",
        f"{FROM_WINDOW} OPTIONAL {{ SERVICE <ONE> {{ ?user :home ?where }} {ASKED} }}",
    ],
    ids=["stored", "values", "bind", "service", "service-alone", "optional"],
)
def test_what_can_bind_the_endpoint(
    session: Session, endpoints: tuple[EndpointProcess, EndpointProcess], tmp_path: Path, pattern: str
) -> None:
    one, two = endpoints
    homes = f"<{EX}u1> <{EX}HOW> <{one.url}> . <{EX}u2> <{EX}HOW> <{two.url}> ."
    one.update(f"INSERT DATA {{ {homes.replace('HOW', 'home')} <{EX}all> <{EX}home> <{one.url}>, <{two.url}> }}")
    (tmp_path / "homes.ttl").write_text(homes.replace("HOW", "livesAt"), encoding="utf-8")
    session.load(tmp_path / "homes.ttl")
    query = session.register(query_text(pattern.replace("ONE", one.url).replace("TWO", two.url)))
    saw(session, 1, (1, ""), (2, ""))
    [report] = closed(session, query, 10)
    both = [("u1", "10"), ("u1", "100"), ("u2", "20"), ("u2", "200")]
    everywhere = "VALUES" in pattern or ":all" in pattern
    assert rows_of(session, report) == (both if everywhere else [("u1", "10"), ("u2", "200")])


def test_something_must_be_able_to_bind_the_endpoint(session: Session) -> None:
    for pattern in (
        f"WINDOW <w> {{ ?user :is :User }} SERVICE ?where {FOLLOWERS}",
        f"WINDOW <w> {{ ?user :seenAt ?where }} OPTIONAL {{ ?user :is :User SERVICE ?where {FOLLOWERS} }}",
        f"WINDOW <w> {{ ?user :seenAt ?where }} {{ SELECT ?user ?n {{ SERVICE ?where {FOLLOWERS} }} }}",
        "WINDOW <w> { ?user :is :User } SERVICE ?where { ?user :at ?there } SERVICE ?there { ?user :at ?where }",
    ):
        with pytest.raises(InputError, match=r"nothing binds \?where"):
            session.register(query_text(pattern))
    assert session.engine.names == []


def test_the_pattern_may_bind_the_endpoint_too(
    session: Session, endpoints: tuple[EndpointProcess, EndpointProcess]
) -> None:
    """What it binds has to agree with where it was asked."""
    one, two = endpoints
    homes = f"<{EX}u1> <{EX}home> <{one.url}> . <{EX}u2> <{EX}home> <{two.url}> ."
    for each in endpoints:
        each.update(f"INSERT DATA {{ {homes} }}")
    sure = session.register(seen_at("SERVICE ?where { ?user :followers ?n ; :home ?where }").replace("<q>", "<a>"))
    perhaps = session.register(
        seen_at("SERVICE ?where { ?user :followers ?n OPTIONAL { ?user :home ?where } }").replace("<q>", "<b>")
    )
    saw(session, 1, (1, one.url), (2, one.url), (3, one.url))
    [report] = closed(session, sure, 10)
    assert rows_of(session, report) == [("u1", "10")]
    [report] = perhaps.take()
    assert rows_of(session, report) == [("u1", "10"), ("u3", "30")]


# ---- rows that name no endpoint


def test_rows_that_leave_the_endpoint_unbound(
    session: Session, endpoints: tuple[EndpointProcess, EndpointProcess]
) -> None:
    one, two = endpoints
    window = "WINDOW <w> { ?user :is :User OPTIONAL { ?user :seenAt ?where } }"
    silent = session.register(query_text(f"{window} SERVICE SILENT ?where {FOLLOWERS}", "silent"))
    optional = session.register(query_text(f"{window} OPTIONAL {{ SERVICE SILENT ?where {FOLLOWERS} }}", "optional"))
    minus = session.register(query_text(f"{window} MINUS {{ SERVICE SILENT ?where {FOLLOWERS} }}", "minus"))
    two_of_them = session.register(
        query_text(f"{window} SERVICE SILENT ?where {FOLLOWERS} SERVICE <{one.url}> {{ ?user :followers ?m }}", "more")
    )
    filtered = session.register(
        query_text(f"{window} SERVICE SILENT ?where {FOLLOWERS} FILTER (!BOUND(?n) || ?n > 20)", "filtered")
    )
    saw(session, 1, (1, one.url), (2, two.url), (3, ""), (4, ""))
    expected = [("u1", "10"), ("u2", "200"), ("u3", "-"), ("u4", "-")]
    assert rows_of(session, closed(session, silent, 10)[0]) == expected
    assert rows_of(session, optional.take()[0]) == expected
    assert rows_of(session, minus.take()[0]) == [("u3", "-"), ("u4", "-")]
    assert rows_of(session, two_of_them.take()[0]) == expected
    assert rows_of(session, filtered.take()[0]) == expected[1:]


@pytest.mark.parametrize(
    ("condition", "with_match"),
    [
        ("", {"u1", "u2", "u3", "u4"}),
        ("FILTER (?n > 20)", {"u2"}),  # without an endpoint ?n is unbound, and nothing exists
        ("FILTER (!BOUND(?n) || ?n > 20)", {"u2", "u3", "u4"}),
        ("FILTER (?user = :u3 || ?n = 10)", {"u1", "u3"}),
        ("FILTER (1 = 2)", set()),
    ],
)
def test_a_condition_on_what_is_passed_over(
    session: Session, endpoints: tuple[EndpointProcess, EndpointProcess], condition: str, with_match: set[str]
) -> None:
    one, two = endpoints
    window = "WINDOW <w> { ?user :is :User OPTIONAL { ?user :seenAt ?where } }"
    inside = f"EXISTS {{ SERVICE SILENT ?where {FOLLOWERS} {condition} }}"
    some = session.register(query_text(f"{window} FILTER {inside}", "some"))
    none = session.register(query_text(f"{window} FILTER NOT {inside}", "none"))
    saw(session, 1, (1, one.url), (2, two.url), (3, ""), (4, ""))
    reports = closed(session, some, 10), none.take()
    found, rest = ({user for each in kind for user, _ in rows_of(session, each)} for kind in reports)
    assert found == with_match
    assert rest == {"u1", "u2", "u3", "u4"} - with_match


@pytest.mark.parametrize("service", ["SERVICE ?where", "OPTIONAL { SERVICE ?where"])
def test_without_silent_they_are_an_error(
    session: Session, endpoints: tuple[EndpointProcess, EndpointProcess], service: str
) -> None:
    one, _ = endpoints
    window = "WINDOW <w> { ?user :is :User OPTIONAL { ?user :seenAt ?where } }"
    end = "}" if "{" in service else ""
    query = session.register(query_text(f"{window} {service} {FOLLOWERS} {end}"))
    saw(session, 1, (1, one.url))
    [report] = closed(session, query, 10)
    assert rows_of(session, report) == [("u1", "10")]
    saw(session, 11, (1, one.url), (2, ""))
    session.finish()
    [failure] = session.failures
    assert "some solutions leave ?where, the endpoint of SERVICE, unbound" in failure.reason


# ---- the same as one-shot queries


FORMS = (
    "PATTERN SERVICE SILENT ?where { ?user :followers ?n }",
    "PATTERN OPTIONAL { SERVICE SILENT ?where { ?user :followers ?n } }",
    "PATTERN OPTIONAL { SERVICE SILENT ?where { ?user :followers ?n } FILTER (?n > 25) }",
    "SERVICE SILENT ?where { ?user :followers ?n OPTIONAL { ?user :home ?where } } PATTERN",
    "PATTERN SERVICE SILENT ?where { :u1 :followers ?n }",
    "PATTERN SERVICE SILENT ?where { ?user :followers ?n } SERVICE SILENT ?where { ?user :home ?home }",
    "PATTERN SERVICE SILENT ?where { ?user :followers ?n } FILTER (?n > 25)",
    "PATTERN FILTER EXISTS { SERVICE SILENT ?where { ?user :followers ?n } FILTER (?n > 25) }",
    "PATTERN FILTER NOT EXISTS { SERVICE SILENT ?where { ?user :followers ?n } FILTER (?n > 25) }",
    "PATTERN FILTER (?user = :u1 || NOT EXISTS { SERVICE SILENT ?where { ?user :followers ?n } FILTER (?n > 25) })",
    "PATTERN MINUS { SERVICE SILENT ?where { ?user :followers ?n } }",
    "PATTERN { SERVICE <ONE> { ?user :followers ?n } } UNION { BIND (<ONE> AS ?x) SERVICE ?x { ?user :followers ?n } }",
)


@pytest.mark.parametrize("form", FORMS)
def test_answers_are_those_of_one_shot_queries(
    session: Session, endpoints: tuple[EndpointProcess, EndpointProcess], form: str, tmp_path: Path
) -> None:
    one, two = endpoints
    chance = random.Random(form)
    for each in endpoints:
        homes = " ".join(f"<{EX}u{user}> <{EX}home> <{chance.choice(endpoints).url}> ." for user in range(0, USERS, 2))
        each.update(f"INSERT DATA {{ {homes} }}")
    form = form.replace("ONE", one.url)
    pattern = "?user :is :User OPTIONAL { ?user :seenAt ?where }"
    query = session.register(query_text(form.replace("PATTERN", f"WINDOW <w> {{ {pattern} }}")))
    places = [one.url, two.url, f"{one.url}/b", "http://elsewhere.example/", '"nowhere"', ""]
    once = f"PREFIX : <{EX}> SELECT ?user ?where ?n {{ {form.replace('PATTERN', f'{{ {pattern} }}')} }}"
    for second in (1, 11, 21, 31):
        rows = [(user, chance.choice(places)) for user in chance.sample(range(USERS), 4)]
        file = tmp_path / f"{second}.ttl"
        file.write_text(
            "\n".join(
                f"<{EX}u{user}> <{EX}is> <{EX}User> . " + (f"<{EX}u{user}> <{EX}seenAt> {term(at)} ." if at else "")
                for user, at in rows
            ),
            encoding="utf-8",
        )
        with Session(services=QUICK) as other:
            other.load(file)
            expected = full_rows(other.bindings(other.query(once)))  # type: ignore[arg-type]
        saw(session, second, *rows)
        reports = closed(session, query, second + 9)
        assert [row for report in reports for row in full_rows(session.bindings(report))] == expected
