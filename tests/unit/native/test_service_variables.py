"""SERVICE ?variable in continuous queries: each row is joined with the endpoint that it names, over real HTTP."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from freshet.federation.settings import ServiceSettings
from freshet.rdf.errors import InputError
from freshet.results.report import Freshness, Report
from freshet.runtime.session import RegisteredQuery, Session
from sparql_endpoint import EndpointProcess

EX = "http://example.org/"
STREAM = EX + "sightings"
USERS = 8
QUICK = ServiceSettings(
    hosts=("127.0.0.1",), timeout_seconds=20, connect_seconds=5, backoff_seconds=0.01, attempts=1, open_seconds=0.01
)
FOLLOWERS = "{ ?user :followers ?n }"
Row = tuple[str, str, str]


@pytest.fixture(scope="module")
def processes() -> Iterator[tuple[EndpointProcess, EndpointProcess]]:
    made = EndpointProcess(), EndpointProcess()
    yield made
    for each in made:
        each.stop()


@pytest.fixture
def endpoints(processes: tuple[EndpointProcess, EndpointProcess]) -> tuple[EndpointProcess, EndpointProcess]:
    """The first says 10 n of user n, the second 100 n."""
    for process, times in zip(processes, (10, 100), strict=True):
        process.does()
        rows = " ".join(f"<{EX}u{n}> <{EX}followers> {n * times} ." for n in range(USERS))
        process.update(f"DELETE WHERE {{ ?s ?p ?o }}; INSERT DATA {{ {rows} }}")
    return processes


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(services=QUICK) as made:
        made.stream(STREAM)
        yield made


def query_text(pattern: str, name: str = "q") -> str:
    return f"""PREFIX : <{EX}> REGISTER RSTREAM <{name}> AS SELECT ?user ?where ?n
        FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE PT10S STEP PT10S] WHERE {{ {pattern} }}"""


def seen_at(service: str) -> str:
    """The window binds the endpoint."""
    return query_text(f"WINDOW <w> {{ ?user :seenAt ?where }} {service}")


def saw(session: Session, second: int, *rows: tuple[int, str]) -> None:
    """Users that were seen, and where: an IRI, a literal, or nowhere."""
    lines = [f"{second * 1000}\t<{EX}u{user}> <{EX}is> <{EX}User> ." for user, _ in rows]
    lines += [f"{second * 1000}\t<{EX}u{user}> <{EX}seenAt> {term(at)} ." for user, at in rows if at]
    session.push(STREAM, "\n".join(lines))


def term(at: str) -> str:
    return at if at.startswith('"') else f"<{at}>"


def closed(session: Session, query: RegisteredQuery, second: int) -> list[Report]:
    session.advance(STREAM, second * 1000)
    session.engine.drain()
    assert not session.failures
    return query.take()


def rows_of(session: Session, report: Report) -> list[tuple[str, str]]:
    return sorted((user, n) for user, _, n in full_rows(session.bindings(report)))


def full_rows(bindings: object) -> list[Row]:
    found = []
    for row in bindings:  # type: ignore[attr-defined]
        text = {name: str(term) for name, term in row.items()}
        n = text["n"].split('"')[1] if "n" in text else "-"
        found.append((text["user"][len(EX) + 1 : -1], text.get("where", "-"), n))
    return sorted(found)


def freshness(report: Report) -> Freshness:
    assert report.freshness is not None
    return report.freshness


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


# ---- endpoints that are not as they should be


def test_an_endpoint_that_fails_leaves_the_others(
    session: Session, endpoints: tuple[EndpointProcess, EndpointProcess]
) -> None:
    one, two = endpoints
    query = session.register(seen_at(f"SERVICE ?where {FOLLOWERS}"), accuracy=0.9)
    two.does("status", status=500)
    saw(session, 1, (1, one.url), (2, two.url))
    [report] = closed(session, query, 10)
    assert rows_of(session, report) == [("u1", "10")]
    assert "status 500" in str(freshness(report).failing)
    assert two.url in str(freshness(report).failing)
    assert freshness(report).accuracy == pytest.approx(0.5, abs=0.1)
    assert freshness(report).missed == ("accuracy",)
    two.does()
    saw(session, 11, (1, one.url), (2, two.url))
    [report] = closed(session, query, 20)
    assert rows_of(session, report) == [("u1", "10"), ("u2", "200")]
    assert freshness(report).failing is None


def test_a_slow_endpoint_does_not_take_the_time_of_others(
    session: Session, endpoints: tuple[EndpointProcess, EndpointProcess]
) -> None:
    one, two = endpoints
    query = session.register(seen_at(f"SERVICE SILENT ?where {FOLLOWERS}"), latency_ms=3000)
    one.does(delay_seconds=15)
    saw(session, 1, (1, one.url), (2, two.url))
    [report] = closed(session, query, 10)
    assert rows_of(session, report) == [("u1", "-"), ("u2", "200")]
    assert freshness(report).latency_ms < 14_000


def test_each_endpoint_needs_leave(endpoints: tuple[EndpointProcess, EndpointProcess]) -> None:
    one, two = endpoints
    with Session(services=replace(QUICK, hosts=(one.host,))) as session:
        session.stream(STREAM)
        strict = session.register(seen_at(f"SERVICE ?where {FOLLOWERS}").replace("<q>", "<a>"))
        silent = session.register(seen_at(f"SERVICE SILENT ?where {FOLLOWERS}").replace("<q>", "<b>"))
        saw(session, 1, (1, one.url), (2, two.url))
        [report] = closed(session, strict, 10)
        assert rows_of(session, report) == [("u1", "10")]
        assert freshness(report).failing == f"SERVICE may not ask <{two.url}>"
        assert freshness(report).accuracy == pytest.approx(1 / 2, abs=0.05)
        [report] = silent.take()
        assert rows_of(session, report) == [("u1", "10"), ("u2", "-")]
        others = [
            "file:///etc/passwd",
            f"ftp://{one.host}/x",
            f"http://user:s3cr3t@{one.host}/sparql",
            '"http://user:s3cr3t@example.org/"',
        ]
        saw(session, 11, (1, one.url), *((at + 2, url) for at, url in enumerate(others)))
        [report] = closed(session, strict, 20)
        assert rows_of(session, report) == [("u1", "10")]
        failing = str(freshness(report).failing)
        assert "asks http and https endpoints, not <ftp:" in failing
        assert "and 1 more" in failing
        assert "s3cr3t" not in failing
        [report] = silent.take()
        assert rows_of(session, report) == [("u1", "10"), *((f"u{at + 2}", "-") for at in range(4))]
        assert two.seen == []


def test_credentials_go_to_their_host_only(
    endpoints: tuple[EndpointProcess, EndpointProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = endpoints
    monkeypatch.setenv(f"FRESHET_SERVICE_127_0_0_1___{one.port}_TOKEN", "s3cr3t")
    with Session(services=replace(QUICK, hosts=(one.host, two.host))) as session:
        session.stream(STREAM)
        query = session.register(seen_at(f"SERVICE ?where {FOLLOWERS}"))
        saw(session, 1, (1, one.url), (2, two.url))
        assert len(closed(session, query, 10)) == 1
    assert [each["authorization"] for each in one.seen] == ["Bearer s3cr3t"]
    assert [each["authorization"] for each in two.seen] == [""]


def test_endpoints_at_once_are_limited(endpoints: tuple[EndpointProcess, EndpointProcess]) -> None:
    one, _ = endpoints
    with Session(services=replace(QUICK, most_endpoints=2)) as session:
        session.stream(STREAM)
        query = session.register(seen_at(f"SERVICE ?where {FOLLOWERS}"), accuracy=0.5)
        saw(
            session, 1, (1, f"{one.url}/a"), (2, f"{one.url}/a"), (3, f"{one.url}/b"), (4, f"{one.url}/b"), (5, one.url)
        )
        [report] = closed(session, query, 10)
        assert rows_of(session, report) == [("u1", "10"), ("u2", "20"), ("u3", "30"), ("u4", "40")]
        assert "more than 2 endpoints" in str(freshness(report).failing)
        for second in (11, 21, 31):  # others come, and those of before go
            saw(session, second, (second % USERS, f"{one.url}/{second}"))
            [report] = closed(session, query, second + 9)
            assert rows_of(session, report) == [(f"u{second % USERS}", str(second % USERS * 10))]


@pytest.mark.parametrize("asked", [f"SERVICE SILENT ?where {FOLLOWERS}", f"OPTIONAL {{ SERVICE ?where {FOLLOWERS} }}"])
def test_endpoints_beyond_the_limit_are_told_together(asked: str) -> None:
    """Those that most rows name are asked; how many are not is said once, whatever the data name."""
    with Session(services=replace(QUICK, hosts=("nobody.example",), most_endpoints=2)) as session:
        session.stream(STREAM)
        query = session.register(seen_at(asked))
        saw(session, 1, *((user, f"http://127.0.0.1:9/{user}") for user in range(3000)))
        [report] = closed(session, query, 10)
        assert rows_of(session, report) == sorted((f"u{user}", "-") for user in range(3000))
        told = str(freshness(report).failing)
        assert "more than 2 endpoints are needed at once, and no more are asked (2,998 are left out)" in told
        assert freshness(report).accuracy == 0


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
