"""Queries that differ only in constants answer as if each were alone."""

from __future__ import annotations

from random import Random

import pytest

from freshet import Session
from freshet.native.plan.lower import lower
from freshet.native.plan.sharing import shape_of
from freshet.native.queries.shared_plans import ShapeKey, SharedPlans
from freshet.native.timing import timing_of
from freshet.syntax.parser import parse_query

PREFIX = "PREFIX : <http://example.org/>\n"
STREAM = "http://example.org/s"
STORED = "".join(
    f"<http://example.org/u{user}> <http://example.org/of> <http://example.org/p{user % 4}> .\n" for user in range(8)
)

WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S]"
SHAPES = {
    "object of a stored pattern": "REGISTER ISTREAM :q{n} AS SELECT ?post "
    + WINDOW
    + """
        WHERE {{ WINDOW :w {{ ?user :made ?post }} ?user :of :p{n} }}""",
    "subject in a window": "REGISTER RSTREAM :q{n} AS SELECT ?post "
    + WINDOW
    + """
        WHERE {{ WINDOW :w {{ :u{n} :made ?post }} }}""",
    "condition": "REGISTER DSTREAM :q{n} AS SELECT ?user ?v "
    + WINDOW
    + """
        WHERE {{ WINDOW :w {{ ?user :value ?v FILTER(?v > {n}) }} }}""",
    "groups": "REGISTER RSTREAM :q{n} AS SELECT ?post (COUNT(?user) AS ?users) "
    + WINDOW
    + """
        WHERE {{ WINDOW :w {{ ?user :made ?post . ?user :value {n} }} }} GROUP BY ?post HAVING(COUNT(?user) > 0)""",
    "optional and distinct": "REGISTER ISTREAM :q{n} AS SELECT DISTINCT ?post ?person "
    + WINDOW
    + """
        WHERE {{ WINDOW :w {{ :u{n} :made ?post OPTIONAL {{ ?post :value ?v }} }}
                 OPTIONAL {{ :u{n} :of ?person }} }}""",
    "union, and whatever the predicate": "REGISTER RSTREAM :q{n} AS SELECT ?p ?o "
    + WINDOW
    + """
        WHERE {{ {{ WINDOW :w {{ :u{n} ?p ?o }} }} UNION {{ :u{n} ?p ?o }} UNION {{ WINDOW :w {{ ?o ?p {n} }} }} }}""",
    "negation": "REGISTER RSTREAM :q{n} AS SELECT ?user "
    + WINDOW
    + """
        WHERE {{ WINDOW :w {{ ?user :value {n} MINUS {{ ?user :made :post1 }} }} }}""",
    "no constant": "REGISTER ISTREAM :q{n} AS SELECT ?user ?post "
    + WINDOW
    + """
        WHERE {{ WINDOW :w {{ ?user :made ?post . ?user :value ?v }} }}""",
    "an aggregate of everything, which is not shared": "REGISTER RSTREAM :q{n} AS SELECT (COUNT(*) AS ?c) "
    + WINDOW
    + """
        WHERE {{ WINDOW :w {{ :u{n} :made ?post }} }}""",
}


def lines(random: Random) -> list[str]:
    made = []
    for time in sorted(random.sample(range(40_000), 60)):
        subject = f"<http://example.org/u{random.randrange(8)}>"
        if random.random() < 0.6:
            made.append(
                f"{time}\t{subject} <http://example.org/made> <http://example.org/post{random.randrange(5)}> .\n"
            )
        else:
            number = f'"{random.randrange(5)}"^^<http://www.w3.org/2001/XMLSchema#integer>'
            made.append(f"{time}\t{subject} <http://example.org/value> {number} .\n")
    return made


def answers(session: Session, queries: list) -> list:
    return [
        [(report.time_ms, report.stream, sorted(map(str, session.bindings(report)))) for report in query.take()]
        for query in queries
    ]


def session_with_data(tmp_path) -> Session:
    data = tmp_path / "data.nt"
    data.write_text(STORED, encoding="utf-8")
    session = Session()
    session.load(data)
    session.stream(STREAM)
    return session


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("seed", range(4))
def test_as_if_alone(tmp_path, shape: str, seed: int) -> None:
    texts = [PREFIX + shape.format(n=number) for number in range(5)]
    stream = lines(Random(seed))
    alone = []
    for text in texts:
        session = session_with_data(tmp_path)
        query = session.register(text)
        for line in stream:
            session.push(STREAM, line)
        session.finish()
        alone += answers(session, [query])
    assert any(alone), "the streams are made so that something is reported"
    together = session_with_data(tmp_path)
    queries = [together.register(text) for text in texts]
    for line in stream:
        together.push(STREAM, line)
    together.finish()
    assert answers(together, queries) == alone


def test_one_plan_for_all(tmp_path) -> None:
    session = session_with_data(tmp_path)
    for number in range(20):
        session.register(PREFIX + SHAPES["object of a stored pattern"].format(n=number))
    (group,) = session.engine._groups()
    assert len(group.names) == 2  # the first, and those that share
    for number in range(1, 20):
        session.unregister(f"http://example.org/q{number}")
    assert len(group.names) == 1


def test_equal_queries_have_one_row_once_they_see_the_same(tmp_path) -> None:
    session = session_with_data(tmp_path)
    texts = [
        PREFIX
        + f"REGISTER RSTREAM :q{number} AS SELECT ?user ?post {WINDOW} WHERE {{ WINDOW :w {{ ?user :made ?post }} }}"
        for number in range(6)
    ]

    def push(time_ms: int, post: int) -> None:
        session.push(STREAM, f"{time_ms}\t<http://e/u> <http://example.org/made> <http://e/post{post}> .\n")

    queries = [session.register(text) for text in texts[:3]]
    push(1_000, 1)
    queries += [session.register(text) for text in texts[3:]]
    (group,) = session.engine._groups()
    shared = group.query("shared plan 1")
    assert len(shared) == 5
    assert len(shared._rows._numbers) == 2
    for time_ms in range(2_000, 40_000, 2_000):
        push(time_ms, time_ms)
    assert len(shared._rows._numbers) == 1
    session.unregister(queries[1].name)
    session.unregister(queries[4].name)
    push(40_000, 2)
    session.finish()
    counts = [sum(len(report.rows) for report in query.take()) for query in queries]
    assert counts[0] == counts[2] == counts[3] + 2 == counts[5] + 2
    for query in (queries[0], *queries[2:4], queries[5]):
        session.unregister(query.name)
    assert not session.engine._groups()


def test_who_fails_alone_goes_alone(tmp_path) -> None:
    session = session_with_data(tmp_path)

    def fail(report) -> None:
        raise RuntimeError("no room")

    text = PREFIX + SHAPES["subject in a window"]
    others = [session.register(text.format(n=number)) for number in (0, 1)]
    session.register(text.format(n=2), on_report=fail)
    last = session.register(text.format(n=3))
    for line in lines(Random(1)):
        session.push(STREAM, line)
    session.finish()
    assert [(failure.query, failure.reason) for failure in session.failures] == [
        ("http://example.org/q2", "RuntimeError: no room")
    ]
    assert all(query.take() for query in (*others, last))


def test_who_comes_later_sees_what_comes_later(tmp_path) -> None:
    session = session_with_data(tmp_path)
    text = PREFIX + SHAPES["subject in a window"]
    early = [session.register(text.format(n=number)) for number in range(2)]
    session.push(STREAM, "1000\t<http://example.org/u0> <http://example.org/made> <http://example.org/post0> .\n")
    session.push(STREAM, "1000\t<http://example.org/u1> <http://example.org/made> <http://example.org/post0> .\n")
    late = session.register(text.format(n=1).replace(":q1", ":later"))
    session.push(STREAM, "2000\t<http://example.org/u1> <http://example.org/made> <http://example.org/post1> .\n")
    session.finish()
    assert [len(query.take()[0].rows) for query in (*early, late)] == [1, 2, 1]


def test_keys_of_queries_that_differ_in_constants_are_equal_and_hash_alike() -> None:
    def key(text: str, elements: tuple[int, ...] = (3,)) -> ShapeKey:
        plan = lower(parse_query(PREFIX + text))
        shape = shape_of(plan)
        assert shape is not None
        return ShapeKey(shape.plan, timing_of(plan), frozenset({"http://e/s"}), elements)

    form = SHAPES["object of a stored pattern"]
    first, second = key(form.format(n=1)), key(form.format(n=2))
    assert first == second
    assert hash(first) == hash(second)
    assert first != key(form.format(n=1), (4,))
    assert first != key(SHAPES["subject in a window"].format(n=1))
    plans = SharedPlans()
    assert plans.sharers("one", first) is None
    sharers = plans.sharers("two", second)
    assert sharers is not None
    assert sharers.key is first
