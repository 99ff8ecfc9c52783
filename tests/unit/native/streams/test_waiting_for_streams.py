"""A query waits for the streams that it reads, and for absorbing streams only where what they absorb can match it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import freshet

EX = "http://example.org/"
S, T = EX + "s", EX + "t"
PREFIX = f"PREFIX : <{EX}>\n"
WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE PT5S STEP PT5S]"


def line(time_ms: int, predicate: str = "p") -> str:
    return f'{time_ms}\t<{EX}a> <{EX}{predicate}> "{time_ms}" .\n'


def asked(where: str, name: str = "q") -> str:
    return PREFIX + f"REGISTER RSTREAM :{name} AS SELECT * {WINDOW} WHERE {{ WINDOW :w {{ ?x :p ?u }} {where} }}"


def reports(where: str, absorb: bool | Iterable[str]) -> int:
    """How many reports a query makes while an absorbing stream says nothing."""
    session = freshet.Session()
    session.stream(S)
    session.stream(T, absorb=absorb)
    query = session.register(asked(where))
    session.push(S, "".join(line(1000 * at) for at in range(100)))
    return len(query.take())


@pytest.mark.parametrize(
    "where",
    [
        "",
        "OPTIONAL { ?x :kept ?v }",
        "FILTER NOT EXISTS { ?x :kept ?v }",
        "OPTIONAL { ?x :kept+ ?v }",
        "OPTIONAL { ?x (:kept|:held)/:kept ?v }",
        "OPTIONAL { GRAPH :g { ?x ?p ?v } }",
        "OPTIONAL { GRAPH ?g { ?x :other ?v } }",
    ],
)
def test_what_cannot_match_is_not_waited_for(where: str) -> None:
    assert reports(where, [EX + "other", EX + "another"]) == 19


@pytest.mark.parametrize(
    "where",
    [
        "OPTIONAL { ?x :kept ?v }",
        "OPTIONAL { ?x ?p ?v }",
        "FILTER NOT EXISTS { ?x :kept ?v }",
        "OPTIONAL { ?x :held/:kept+ ?v }",
        "OPTIONAL { ?x !:held ?v }",
        "OPTIONAL { ?x :held* ?v }",
        "OPTIONAL { SELECT ?x (COUNT(*) AS ?n) { ?x :kept ?v } GROUP BY ?x }",
    ],
)
@pytest.mark.parametrize("absorb", [[EX + "kept"], True])
def test_what_can_match_is_waited_for(where: str, absorb: bool | list[str]) -> None:
    assert reports(where, absorb) == 0


def test_all_that_is_absorbed_can_match_any_stored_pattern() -> None:
    assert reports("OPTIONAL { ?x :kept ?v }", absorb=True) == 0
    assert reports("", absorb=True) == 19


@pytest.mark.parametrize(("carried", "count"), [(["other"], 19), (["other", "kept"], 0)])
def test_all_is_absorbed_of_a_stream_with_known_predicates(carried: list[str], count: int) -> None:
    session = freshet.Session()
    session.stream(S)
    session.stream(T, absorb=True)
    session.engine.streams[T].carries = frozenset(freshet.Iri(EX + name) for name in carried)
    query = session.register(asked("OPTIONAL { ?x :kept ?v }"))
    session.push(S, "".join(line(1000 * at) for at in range(100)))
    assert len(query.take()) == count


@pytest.mark.parametrize("window", ["[RANGE 5s]", "[NOW]", "[TRIPLES 3]"])
def test_windows_that_move_with_every_element(window: str) -> None:
    def answered(predicate: str) -> int:
        session = freshet.Session()
        session.stream(S)
        session.stream(T, absorb=[EX + predicate])
        session.stream(EX + "u", absorb=[EX + "kept"])
        session.push(EX + "u", line(1, "kept") + line(100_000, "kept"))
        text = f"SELECT * WHERE {{ STREAM :s {window} {{ ?x :p ?u }} ?x :kept ?v }}"
        query = session.register(PREFIX + text, name="q")
        session.push(S, "".join(line(1000 * at) for at in range(1, 20)))
        return len(query.take())

    assert answered("other") == 18
    assert answered("kept") == 0


def test_csparql_merges_windows_with_the_stored_graph() -> None:
    def answered(predicate: str) -> int:
        session = freshet.Session()
        session.stream(S)
        session.stream(T, absorb=[EX + predicate])
        query = session.register(
            PREFIX + f"REGISTER QUERY q AS SELECT * FROM STREAM <{S}> [RANGE 5s STEP 5s] WHERE {{ ?x :p ?u }}"
        )
        session.push(S, "".join(line(1000 * at) for at in range(20)))
        return len(query.take())

    assert answered("other") == 3
    assert answered("p") == 0  # a pattern matches the stored graph as well


def test_queries_of_one_shape_wait_alike() -> None:
    session = freshet.Session()
    session.stream(S)
    session.stream(T, absorb=[EX + "other"])
    queries = [session.register(asked(f"?x :p '{at}'", f"q{at}")) for at in range(4)]
    session.stream(EX + "u", absorb=[EX + "p"])
    session.push(S, "".join(line(1000 * at) for at in range(20)))
    session.advance(EX + "u", 20_000)
    assert session.engine.passed()[queries[0].name] == session.engine.passed()[queries[-1].name] == 2 * 19_000


def test_an_absorbing_stream_declared_later_is_waited_for_where_it_can_match() -> None:
    session = freshet.Session()
    session.stream(S)
    query = session.register(asked("OPTIONAL { ?x :kept ?v }"))
    session.stream(T, absorb=[EX + "unread"])
    session.push(S, line(1000) + line(6000))
    assert len(query.take()) == 1
    session.stream(EX + "u", absorb=[EX + "kept"])
    session.push(S, line(11_000))
    assert len(query.take()) == 0
    session.advance(EX + "u", 11_000)
    assert len(query.take()) == 1
