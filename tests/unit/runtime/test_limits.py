"""Limits of time and memory hold inside a step: within a second, whatever the query does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import thread_time

import pytest

import freshet
from freshet.rdf.deadline import Deadline, QueryStoppedError
from freshet.results.report import Solutions

GRACE = 1.0  # seconds of computing, so that other work on the machine does not matter
QUOTED = '"aa"'
BASE = "http://example.org/"


def nested(make: Callable[[str], str], inner: str, depth: int) -> str:
    for _ in range(depth):
        inner = make(inner)
    return inner


def replaced(inner: str, depth: int) -> str:
    """A text that is twice as long with each step."""
    return nested(lambda text: f'REPLACE({text}, ".", "$0$0")', inner, depth)


def doubled(depth: int) -> str:
    """A text of 2 ** depth characters as ?x."""
    binds = "".join(f" BIND(CONCAT(?x{at}, ?x{at}) AS ?x{at + 1})" for at in range(depth))
    return f'BIND("é" AS ?x0){binds} BIND(?x{depth} AS ?x)'


def values(name: str, count: int) -> str:
    return f"VALUES ?{name} {{ {' '.join(map(str, range(count)))} }}"


MANY = f"{values('a', 1000)} {values('b', 1000)} {values('c', 100)}"

LONG = {
    "REPLACE": f"SELECT ({replaced(QUOTED, 40)} AS ?n) {{}}",
    "CONCAT": f"SELECT (STRLEN(?x) AS ?n) {{ {doubled(60)} }}",
    "ENCODE_FOR_URI": f"SELECT (STRLEN(ENCODE_FOR_URI(?x)) AS ?n) {{ {doubled(26)} }}",
    "UCASE": f"SELECT (STRLEN(UCASE(LCASE(UCASE(LCASE(?x)))) ) AS ?n) {{ {doubled(26)} }}",
    "CONCAT over a product": f"SELECT (MAX(STRLEN(CONCAT(STR(?a), STR(?b), STR(?c)))) AS ?n) {{ {MANY} }}",
    "GROUP_CONCAT": f"SELECT (STRLEN(GROUP_CONCAT(CONCAT(STR(?a), STR(?b)))) AS ?n) {{ {MANY} }}",
    "product": f"SELECT (COUNT(*) AS ?n) {{ {MANY} {values('d', 100)} }}",
    "join": "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?p ?d . ?e ?p ?f . ?g ?p ?h . ?i ?p ?j }",
    "ORDER BY": f"SELECT * {{ {MANY} }} ORDER BY DESC(?a + ?b) ?c",
    "DISTINCT": f"SELECT DISTINCT * {{ {MANY} }}",
    "SUM": f"SELECT (SUM(?a * ?b + ?c) AS ?n) {{ {MANY} }}",
    "REGEX": f'SELECT (COUNT(*) AS ?n) {{ {MANY} FILTER REGEX(STR(?a * ?b * ?c), "9$") }}',
    "SHA512": f"SELECT (COUNT(*) AS ?n) {{ {MANY} FILTER STRSTARTS(SHA512(STR(?a * ?b)), '99') }}",
    "CONSTRUCT": f"CONSTRUCT {{ [] ?x ?a, ?b, ?c }} {{ {MANY} BIND(IRI(CONCAT('{BASE}', STR(?a))) AS ?x) }}",
    "CONSTRUCT of few": f"CONSTRUCT {{ [] <p> ?a . [] <q> ?b }} {{ {values('a', 3000)} {values('b', 1000)} }}",
    "BNODE": f"SELECT * {{ {MANY} BIND(BNODE() AS ?x) }}",
    "EXISTS": f"SELECT * {{ {MANY} FILTER EXISTS {{ ?x ?p ?y . ?z ?p ?w FILTER(?a < ?c) }} }}",
    "OPTIONAL": f"SELECT * {{ {MANY} OPTIONAL {{ ?x ?p ?y . ?z ?p ?w FILTER(STR(?x) < STR(?w)) }} }}",
    "MINUS": f"SELECT * {{ {MANY} MINUS {{ {values('a', 999)} {values('b', 999)} {values('c', 99)} }} }}",
    "path": "SELECT (COUNT(*) AS ?n) { ?a (<p>|^<p>)" + "/(<p>|^<p>)" * 30 + "/<p>* ?b }",
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> freshet.Session:
    file = tmp_path_factory.mktemp("data") / "data.nt"
    lines = (f"<{BASE}{at}> <{BASE}p> <{BASE}{(7 * at + 1) % 3000}> .\n" for at in range(3000))
    file.write_text("".join(lines))
    session = freshet.Session()
    session.load(file)
    for text in LONG.values():  # kernels are loaded, or compiled, before anything is timed
        with pytest.raises(QueryStoppedError):
            session.query(f"BASE <{BASE}> {text}", timeout_seconds=0.05)
    return session


@pytest.mark.parametrize("name", LONG)
def test_a_time_limit_holds(session: freshet.Session, name: str) -> None:
    began = thread_time()
    with pytest.raises(QueryStoppedError, match=r"longer than its time limit of 0\.3 s|a text of more than"):
        session.query(f"BASE <{BASE}> {LONG[name]}", timeout_seconds=0.3)
    assert thread_time() - began < 0.3 + GRACE


@pytest.mark.parametrize("name", LONG)
def test_a_memory_limit_holds(session: freshet.Session, name: str) -> None:
    with pytest.raises(QueryStoppedError, match=r"more memory than its limit of 4\.0 MiB|time limit of 20 s"):
        session.query(f"BASE <{BASE}> {LONG[name]}", timeout_seconds=20, memory_bytes=4 << 20)


@pytest.mark.parametrize("name", ["CONCAT", "product", "join", "ORDER BY", "DISTINCT", "CONSTRUCT", "BNODE", "MINUS"])
def test_what_does_not_fit_is_refused_before_it_is_made(session: freshet.Session, name: str) -> None:
    for _ in range(2):  # the first may load kernels that a query with little time does not come to, as CONCAT's
        began = thread_time()
        with pytest.raises(QueryStoppedError, match=r"more memory than its limit of 4\.0 MiB"):
            session.query(f"BASE <{BASE}> {LONG[name]}", memory_bytes=4 << 20)
    assert thread_time() - began < GRACE


def test_memory_is_given_back_after_each_step(session: freshet.Session) -> None:
    parts = " UNION ".join(f"{{ SELECT (COUNT(*) AS ?n{at}) {{ ?s ?p ?o }} }}" for at in range(50))
    answer = session.query(f"SELECT * {{ {parts} }}", memory_bytes=1 << 20)
    assert isinstance(answer, Solutions)
    assert len(answer.rows) == 50


def test_cancelled_from_another_thread(session: freshet.Session) -> None:
    deadline = Deadline()
    timer = threading.Timer(0.1, deadline.cancel)
    began = thread_time()
    timer.start()
    with pytest.raises(QueryStoppedError, match="cancelled"):
        session.query(LONG["GROUP_CONCAT"], deadline=deadline)
    assert thread_time() - began < 0.1 + GRACE
    timer.join()


WINDOW = f"FROM NAMED WINDOW <w> ON <{BASE}s> [RANGE PT10S STEP PT10S]"
CONTINUOUS = {
    "join": f"SELECT (COUNT(*) AS ?n) {WINDOW} {{ WINDOW <w> {{ ?a <p> ?b . ?c <q> ?d . ?e <r> ?f }} }}",
    "two inputs": f"SELECT (COUNT(*) AS ?n) {WINDOW} {{ WINDOW <w> {{ ?a <p> ?x . ?c <q> ?y }} }}",
    "expression": f"""SELECT (MAX(STRLEN({replaced("STR(?b)", 30)})) AS ?n)
        {WINDOW} {{ WINDOW <w> {{ ?a <p> ?b }} }}""",
    "evaluated again": f"""SELECT (COUNT(*) AS ?n) {WINDOW}
        {{ WINDOW <w> {{ ?a <p> ?b . ?a (<p>|^<p>|!<p>)* ?c . ?d (<q>|^<q>|!<q>)* ?e }} }}""",
}


def register(text: str, **limits: float) -> tuple[freshet.Session, list[object]]:
    session = freshet.Session()
    session.stream(f"{BASE}s")
    session.register(f"BASE <{BASE}> REGISTER RSTREAM <long> AS {text}", **limits)  # type: ignore[arg-type]
    reports: list[object] = []
    other = f"SELECT (COUNT(*) AS ?n) {WINDOW} {{ WINDOW <w> {{ ?a <p> ?b }} }}"
    session.register(f"BASE <{BASE}> REGISTER RSTREAM <other> AS {other}", on_report=reports.append)
    return session, reports


def push(session: freshet.Session, count: int) -> None:
    triples = (f"<{BASE}{at}> <{BASE}{name}> <{BASE}{name}{at % 7}> .\n" for name in "pqr" for at in range(count))
    session.push(f"{BASE}s", "".join(f"{at}\t{triple}" for at, triple in enumerate(triples)))
    session.finish()


@pytest.mark.parametrize("name", CONTINUOUS)
def test_the_limits_of_a_continuous_query_hold_inside_a_step(name: str) -> None:
    session, _ = register(CONTINUOUS[name], limit_seconds=30)
    push(session, 2)  # kernels are loaded
    session, reports = register(CONTINUOUS[name], limit_seconds=0.2)
    began = thread_time()
    push(session, 3000)
    assert thread_time() - began < 0.2 + 2 * GRACE
    assert [failure.query for failure in session.failures] == [f"{BASE}long"]
    assert "time limit of" in session.failures[0].reason
    assert reports  # the others go on


def test_the_memory_of_a_continuous_query_is_limited() -> None:
    session, reports = register(CONTINUOUS["join"], limit_bytes=1 << 20)
    push(session, 1000)
    assert "more memory than its limit of 1.0 MiB" in session.failures[0].reason
    assert reports
