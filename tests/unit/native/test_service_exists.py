"""SERVICE inside EXISTS, NOT EXISTS, MINUS and OPTIONAL of continuous queries, against a real endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from freshet.federation.errors import RefusedError
from freshet.federation.settings import ServiceSettings
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.results.report import Solutions
from freshet.runtime.explaining import explain
from freshet.runtime.session import Session
from sparql_endpoint import EndpointProcess

EX = "http://example.org/"
STREAM = EX + "seen"
QUICK = ServiceSettings(hosts=("127.0.0.1",), timeout_seconds=20, backoff_seconds=0.01, attempts=1)
STORED = f"""PREFIX : <{EX}> :u1 :knows :u2 . :u2 :knows :u3 . :u5 :knows :u1, :u6 . :u7 :knows :u8 ."""
REMOTE = f"""@prefix : <{EX}> . :u1 :likes :tea . :u2 :likes :tea, :milk . :u4 :likes :milk . :u6 :likes :tea .
             :u8 :age 8 . :u1 :age 1 . :u2 :age 2 . :u3 :age 3 ."""
FORMS = (
    "PATTERN FILTER EXISTS { SERVICE <ONE> { ?user :likes ?what } }",
    "PATTERN FILTER NOT EXISTS { SERVICE <ONE> { ?user :likes ?what } }",
    "PATTERN FILTER NOT EXISTS { SERVICE <ONE> { ?user :likes ?what } FILTER (?what = ?drinks) }",
    "PATTERN FILTER EXISTS { SERVICE <ONE> { ?user :likes ?drinks } }",
    "PATTERN FILTER EXISTS { ?user :knows ?other SERVICE <ONE> { ?other :likes ?what } }",
    "PATTERN FILTER NOT EXISTS { ?user :knows ?other SERVICE <ONE> { ?other :likes ?what } }",
    "PATTERN FILTER EXISTS { SERVICE <ONE> { ?user :age ?age FILTER (?age > 1) } }",
    "PATTERN FILTER EXISTS { SERVICE <ONE> { :u1 :likes ?what } }",
    "PATTERN FILTER EXISTS { SERVICE <ONE> { :nobody :likes ?what } }",
    "PATTERN FILTER EXISTS { SERVICE ?where { ?user :likes ?what } }",
    "PATTERN FILTER NOT EXISTS { SERVICE ?where { ?user :likes ?what } }",
    "PATTERN FILTER EXISTS { ?user :knows ?other SERVICE ?where { ?other :likes ?what } }",
    "PATTERN FILTER NOT EXISTS { SERVICE SILENT <http://127.0.0.1:9/> { ?user :likes ?what } }",
    "PATTERN FILTER EXISTS { SERVICE SILENT <http://127.0.0.1:9/> { ?user :likes ?what } }",
    "PATTERN MINUS { SERVICE <ONE> { ?user :likes ?what } }",
    "PATTERN MINUS { SERVICE ?where { ?user :likes ?what } }",
    "PATTERN MINUS { ?user :knows ?other SERVICE <ONE> { ?other :likes ?what } }",
    "PATTERN MINUS { SERVICE SILENT <http://127.0.0.1:9/> { ?user :likes ?what } }",
    "PATTERN OPTIONAL { ?user :knows ?other SERVICE <ONE> { ?other :age ?age } }",
    "PATTERN OPTIONAL { SERVICE <ONE> { ?user :likes ?x } SERVICE <ONE> { ?user :age ?age } }",
    "PATTERN OPTIONAL { ?user :knows ?other OPTIONAL { SERVICE <ONE> { ?other :age ?age } } }",
    "PATTERN FILTER EXISTS { SERVICE <ONE> { ?user :age ?a } } FILTER NOT EXISTS { SERVICE <ONE> { ?user :age 2 } }",
    "PATTERN FILTER (?drinks = :tea || EXISTS { SERVICE <ONE> { ?user :likes ?what } })",
    "PATTERN FILTER (?drinks = :tea && !(EXISTS { SERVICE <ONE> { ?user :likes ?what } } && ?user != :u1))",
    "PATTERN FILTER (?drinks = :tea || EXISTS { SERVICE ?where { ?user :likes ?what } })",
    "PATTERN FILTER (?drinks = :tea || NOT EXISTS { SERVICE SILENT <http://127.0.0.1:9/> { ?user :likes ?what } })",
    "PATTERN BIND (EXISTS { SERVICE <ONE> { ?user :likes ?what } } AS ?age)",
    "PATTERN FILTER EXISTS { { SERVICE <ONE> { ?user :likes :milk } } UNION { ?user :knows :u2 } }",
    "PATTERN OPTIONAL { ?user :knows ?other BIND (1 AS ?age) FILTER EXISTS { SERVICE <ONE> { ?other :likes ?x } } }",
    "PATTERN { SELECT ?user (SUM(IF(EXISTS { SERVICE <ONE> { ?user :likes ?x } }, 1, 0)) AS ?age) "
    "{ ?user :knows ?other } GROUP BY ?user }",
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    (tmp_path / "stored.ttl").write_text(STORED, encoding="utf-8")
    with Session(services=QUICK) as made:
        made.stream(STREAM)
        made.load(tmp_path / "stored.ttl")
        yield made


def statements(endpoint: EndpointProcess, users: range) -> list[str]:
    return [
        line
        for user in users
        for line in (
            f"<{EX}u{user}> <{EX}drinks> <{EX}{'tea' if user % 2 else 'milk'}> .",
            f"<{EX}u{user}> <{EX}at> <{endpoint.url}{'' if user % 3 else '/b'}> .",
        )
    ]


def query_text(form: str, endpoint: EndpointProcess) -> str:
    pattern = form.replace("PATTERN", "WINDOW <w> { ?user :drinks ?drinks ; :at ?where }").replace("ONE", endpoint.url)
    return f"""PREFIX : <{EX}> REGISTER RSTREAM <q> AS SELECT ?user ?drinks ?age
        FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE PT10S STEP PT10S] WHERE {{ {pattern} }}"""


def shown(rows: object) -> list[dict[str, str]]:
    found = [{name: str(term) for name, term in row.items()} for row in rows]  # type: ignore[attr-defined]
    return sorted(found, key=lambda row: sorted(row.items()))


@pytest.mark.parametrize("form", FORMS)
def test_answers_are_those_of_one_shot_queries(
    session: Session, endpoint: EndpointProcess, tmp_path: Path, form: str
) -> None:
    query = session.register(query_text(form, endpoint))
    once = form.replace("PATTERN", "?user :drinks ?drinks ; :at ?where").replace("ONE", endpoint.url)
    for second, users in ((1, range(6)), (11, range(4, 9)), (21, range(1, 3)), (31, range(9))):
        lines = statements(endpoint, users)
        session.push(STREAM, "\n".join(f"{second * 1000}\t{line}" for line in lines))
        session.advance(STREAM, (second + 9) * 1000)
        session.engine.drain()
        assert not session.failures
        file = tmp_path / "now.ttl"
        file.write_text("\n".join([STORED, *lines]), encoding="utf-8")
        with Session(services=QUICK) as other:
            other.load(file)
            expected = other.query(f"PREFIX : <{EX}> SELECT ?user ?drinks ?age {{ {once} }}")
            assert isinstance(expected, Solutions)
            found = [row for report in query.take() for row in shown(session.bindings(report))]
            assert found == shown(other.bindings(expected))


@pytest.mark.parametrize(
    "form",
    [
        "PATTERN FILTER EXISTS { SERVICE <ONE> { ?user :likes ?what } }",
        "PATTERN MINUS { SERVICE <ONE> { ?user :likes ?what } }",
        "PATTERN FILTER NOT EXISTS { ?user :knows ?other SERVICE <ONE> { ?other :likes ?what } }",
        "PATTERN OPTIONAL { ?user :knows ?other SERVICE <ONE> { ?other :likes ?what } }",
    ],
)
def test_only_what_the_window_needs_is_asked_for(session: Session, endpoint: EndpointProcess, form: str) -> None:
    query = session.register(query_text(form, endpoint))
    session.push(STREAM, "\n".join(f"1000\t{line}" for line in statements(endpoint, range(1, 3))))
    session.advance(STREAM, 10_000)
    session.engine.drain()
    query.take()
    [asked] = endpoint.seen
    assert "VALUES" in asked["query"]
    assert f"<{EX}u2>" in asked["query"]
    assert f"<{EX}u6>" not in asked["query"]
    assert f"<{EX}u8>" not in asked["query"]


def test_what_is_refused(session: Session, endpoint: EndpointProcess) -> None:
    unheard = "SERVICE <ONE> { :u1 :likes ?x FILTER (?x = ?drinks) }"
    for form, error, reason in (
        (f"PATTERN FILTER EXISTS {{ {unheard} }}", UnsupportedError, r"uses \?drinks, which it does not bind"),
        (f"PATTERN BIND (EXISTS {{ {unheard} }} AS ?age)", UnsupportedError, r"uses \?drinks, which it does not bind"),
        ("PATTERN FILTER EXISTS { SERVICE ?there { ?user :likes ?what } }", InputError, r"nothing binds \?there"),
        ("PATTERN BIND (EXISTS { SERVICE <http://e.example/> { ?user :p ?x } } AS ?age)", RefusedError, "may not ask"),
    ):
        with pytest.raises(error, match=reason):
            session.register(query_text(form, endpoint))
    assert session.engine.names == []


def test_what_is_evaluated_anew_takes_its_views_from_all_endpoints(session: Session, endpoint: EndpointProcess) -> None:
    """An endpoint that is not allowed is told, as elsewhere."""
    query = session.register(query_text("PATTERN FILTER (!EXISTS { SERVICE ?where { ?user :likes ?x } })", endpoint))
    lines = statements(endpoint, range(1, 4))
    session.push(STREAM, "\n".join(f"1000\t{line}" for line in [*lines, lines[0].replace("u1", "u9")]))
    session.push(STREAM, f"1000\t<{EX}u9> <{EX}at> <http://elsewhere.example/> .")
    session.advance(STREAM, 10_000)
    session.engine.drain()
    [report] = query.take()
    assert [row["user"] for row in shown(session.bindings(report))] == [f"<{EX}u3>", f"<{EX}u9>"]
    assert report.freshness is not None
    assert report.freshness.failing == "SERVICE may not ask <http://elsewhere.example/>"
    assert report.freshness.accuracy < 0.9
    assert len(endpoint.seen) == 2


def test_endpoints_of_what_is_evaluated_anew_are_limited(endpoint: EndpointProcess) -> None:
    text = query_text("PATTERN FILTER (!EXISTS { SERVICE ?where { ?user :age ?x } })", endpoint)
    with Session(services=replace(QUICK, most_endpoints=2)) as session:
        session.stream(STREAM)
        query = session.register(text)
        for second in (1, 11):  # at every evaluation anew
            lines = [
                f"<{EX}u{n}> <{EX}drinks> <{EX}tea> . <{EX}u{n}> <{EX}at> <{endpoint.url}/{n}> .".split(" . ")
                for n in (1, 2, 3)
            ]
            session.push(STREAM, "\n".join(f"{second}000\t{line.strip(' .')} ." for pair in lines for line in pair))
            session.advance(STREAM, second * 1000 + 9000)
            session.engine.drain()
            [report] = query.take()
            assert len(report.rows) == 1
            assert report.freshness is not None
            assert report.freshness.failing == "more than 2 endpoints are needed at once, and no more are asked"


# ---- what is outside is asked once


@pytest.mark.parametrize(
    ("form", "rows"),
    [
        ("FILTER NOT EXISTS { ?what :with ?other SERVICE <ONE/b> { ?other :age ?x } }", 1),
        ("FILTER EXISTS { ?what :with ?other SERVICE <ONE/b> { ?other :age ?x } }", 1),
        ("MINUS { ?what :with ?other SERVICE <ONE/b> { ?other :age ?x } }", 1),
        ("OPTIONAL { ?what :with ?other SERVICE <ONE/b> { ?other :age ?x } }", 2),
        ("OPTIONAL { ?user :never ?there } SERVICE SILENT ?there { ?user :age ?x }", 2),
        ("OPTIONAL { ?user :never ?there } OPTIONAL { SERVICE SILENT ?there { ?user :age ?x } }", 2),
        ("OPTIONAL { ?user :never ?there } FILTER EXISTS { SERVICE SILENT ?there { ?user :age ?x } }", 2),
    ],
)
def test_a_service_outside_is_asked_once_in_an_evaluation(
    session: Session, endpoint: EndpointProcess, tmp_path: Path, form: str, rows: int
) -> None:
    """Were it asked for each part of the plan that needs it, these could be told different things."""
    (tmp_path / "with.ttl").write_text(f"<{EX}tea> <{EX}with> <{EX}u1> . <{EX}x> <{EX}never> <{EX}y> .")
    session.load(tmp_path / "with.ttl")
    endpoint.does(delay_seconds=0.05)  # so that an entry has an age when it is needed again
    query = session.register(query_text(f"PATTERN SERVICE <ONE/a> {{ ?user :likes ?what }} {form}", endpoint))
    for evaluation, second in enumerate((1, 11), start=1):
        session.push(STREAM, "\n".join(f"{second}000\t{line}" for line in statements(endpoint, range(2, 3))))
        session.advance(STREAM, second * 1000 + 9000)
        session.engine.drain()
        assert not session.failures
        [report] = query.take()
        assert len(report.rows) == rows
        assert len([each for each in endpoint.seen if "likes" in each["query"]]) == evaluation


def test_the_plan_grows_with_the_text(session: Session, endpoint: EndpointProcess) -> None:
    parts = " ".join(f"OPTIONAL {{ ?user :knows ?o{n} SERVICE <ONE> {{ ?o{n} :age ?a{n} }} }}" for n in range(12))
    text = query_text(f"PATTERN {parts}", endpoint)
    session.register(text)
    plan = explain(text, file=None, dialect=None, optimized=None).text()
    assert plan.count("Local view") == 12
    assert plan.count("The rows of Shared") == 12
