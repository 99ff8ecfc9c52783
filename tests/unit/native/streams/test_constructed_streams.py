"""The answers of a registered CONSTRUCT are a stream, which other queries read in any window."""

from __future__ import annotations

import pytest

import freshet
from freshet.rdf.errors import InputError

EX = "http://example.org/"
S, T = EX + "s", EX + "t"
PREFIX = f"PREFIX : <{EX}>\n"
WARM = PREFIX + (
    "REGISTER RSTREAM :warm AS CONSTRUCT { ?x :warm ?v } FROM NAMED WINDOW :w ON :s [RANGE PT2S STEP PT1S] "
    "WHERE { WINDOW :w { ?x :p ?v } FILTER (?v > 20) }"
)
COUNT = PREFIX + (
    "REGISTER RSTREAM :count AS SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :v ON :warm [RANGE PT4S STEP PT2S] "
    "WHERE { WINDOW :v { ?x :warm ?v } }"
)


def line(time_ms: int, value: int, subject: str = "a", predicate: str = "p") -> str:
    datatype = "http://www.w3.org/2001/XMLSchema#integer"
    return f'{time_ms}\t<{EX}{subject}> <{EX}{predicate}> "{value}"^^<{datatype}> .\n'


def session_of(*texts: str, streams: tuple[str, ...] = (S, T)) -> tuple[freshet.Session, list[freshet.RegisteredQuery]]:
    session = freshet.Session()
    for stream in streams:
        session.stream(stream)
    return session, [session.register(text) for text in texts]


def rows(query: freshet.RegisteredQuery) -> list[tuple[int, list[str]]]:
    return [
        (report.time_ms, sorted(" ".join(str(term) for term in row.values()) for row in report.bindings()))
        for report in query.take()
    ]


def numbers(query: freshet.RegisteredQuery) -> list[tuple[int, int]]:
    return [(report.time_ms, report.to_arrow().to_pydict()["n"][0]) for report in query.take()]


def test_elements_are_the_triples_at_the_time_of_the_report() -> None:
    session, (warm, count) = session_of(WARM, COUNT)
    session.push(S, line(500, 21) + line(1500, 22) + line(2500, 3) + line(3000, 23))
    session.finish()
    # at 1 s: 21; at 2 s: 21, 22; at 3 s: 22; at 4 s: 23; at 5 s: 23
    assert [(time_ms, len(found)) for time_ms, found in rows(warm)] == [
        (1000, 1), (2000, 2), (3000, 1), (4000, 1), (5000, 1),
    ]  # fmt: skip
    # [-2, 2): 1 s; [0, 4): 1, 2 and 3 s; [2, 6): 2 to 5 s; [4, 8): 4 and 5 s. A triple that comes again is one.
    assert numbers(count) == [(2000, 1), (4000, 2), (6000, 3), (8000, 1)]


def test_the_watermark_follows_the_query_where_it_answers_nothing() -> None:
    session, (_, count) = session_of(WARM, COUNT)
    session.push(S, line(500, 21))
    assert numbers(count) == []
    for at in range(1, 11):
        session.push(S, line(1000 * at, 3))
    assert numbers(count) == [(2000, 1), (4000, 1), (6000, 1)]


def test_answers_are_those_over_the_same_elements_pushed_by_hand() -> None:
    windows = ["ON :warm [RANGE PT3S STEP PT1S]", "ON :warm [COUNT 3 STEP 2]", "ON :warm [COUNT 2]"]
    texts = [
        PREFIX
        + f"REGISTER ISTREAM :q{at} AS SELECT * FROM NAMED WINDOW :v {window} WHERE {{ WINDOW :v {{ ?x ?p ?v }} }}"
        for at, window in enumerate(windows)
    ]
    texts += [
        PREFIX + f"SELECT * WHERE {{ STREAM :warm {window} {{ ?x ?p ?v }} }}"
        for window in ("[RANGE 1s]", "[NOW]", "[TRIPLES 2]", "[ALL]", "[RANGE 2s SLIDE 1s]")
    ]
    texts.append(PREFIX + "REGISTER QUERY c AS SELECT * FROM STREAM :warm [RANGE 3s STEP 1s] WHERE { ?x ?p ?v }")
    session, (warm,) = session_of(WARM)
    queries = [session.register(text, name=f"n{at}") for at, text in enumerate(texts)]
    by_hand = freshet.Session()
    by_hand.stream(EX + "warm")
    copies = [by_hand.register(text, name=f"n{at}") for at, text in enumerate(texts)]
    for at in range(40):
        session.push(S, line(370 * at, 15 + at * 7 % 13, f"a{at % 5}"))
    session.finish()
    for report in warm.take():
        triples = [tuple(row.values()) for row in report.bindings()]
        for triple in sorted(triples, key=lambda terms: [session.dictionary.encode(term) for term in terms]):
            by_hand.push(EX + "warm", (report.time_ms, *triple))
    by_hand.finish()
    for query, copy in zip(queries, copies, strict=True):
        found = rows(query)
        assert found
        assert found == rows(copy)


def test_windows_over_the_time_of_a_predicate() -> None:
    session = freshet.Session()
    session.stream(S)
    session.register(
        PREFIX
        + "REGISTER ISTREAM :events AS CONSTRUCT { ?x :at ?v } FROM NAMED WINDOW :w ON :s [RANGE PT1S STEP PT1S] "
        "WHERE { WINDOW :w { ?x :p ?v } }"
    )
    query = session.register(
        PREFIX + "REGISTER RSTREAM :q AS SELECT ?x FROM NAMED WINDOW :w ON :events [RANGE PT10S STEP PT10S @:at] "
        "WHERE { WINDOW :w { ?x :at ?v } }"
    )
    session.push(S, line(100, 7000, "a") + line(1100, 12_000, "b") + line(2100, 30_000, "c"))
    session.finish()
    assert [time_ms for time_ms, _ in rows(query)] == [10_000, 20_000, 40_000]


def test_a_chain_and_a_join_with_what_it_was_made_from() -> None:
    session, (_, count) = session_of(WARM, COUNT.replace("SELECT (COUNT(*) AS ?n)", "CONSTRUCT { :all :count ?v }"))
    last = session.register(
        PREFIX + "REGISTER RSTREAM :last AS SELECT ?v ?u FROM NAMED WINDOW :a ON :count [RANGE PT4S STEP PT4S] "
        "FROM NAMED WINDOW :b ON :s [RANGE PT4S STEP PT4S] "
        "WHERE { WINDOW :a { :all :count ?v } WINDOW :b { ?x :p ?u } }"
    )
    session.push(S, line(500, 21) + line(5000, 3))
    session.push(S, line(9000, 4))
    session.finish()
    assert [time_ms for time_ms, _ in rows(count)] == [2000, 4000, 6000]
    assert [(time_ms, len(found)) for time_ms, found in rows(last)] == [(4000, 1), (8000, 1)]


def test_csparql_names() -> None:
    session = freshet.Session()
    session.stream(S)
    session.register(
        PREFIX + "REGISTER STREAM hot COMPUTED EVERY 1s AS CONSTRUCT { ?x :hot ?v } "
        f"FROM STREAM <{S}> [RANGE 1s STEP 1s] WHERE {{ ?x :p ?v }}"
    )
    query = session.register(
        PREFIX + "REGISTER QUERY q AS SELECT ?x FROM STREAM <hot> [RANGE 2s STEP 2s] WHERE { ?x :hot ?v }"
    )
    session.push(S, line(500, 1) + line(4000, 2))
    assert [time_ms for time_ms, _ in rows(query)] == [2000]


def test_a_reader_registered_later_sees_what_comes_from_then_on() -> None:
    session, (_,) = session_of(WARM)
    session.push(S, line(500, 21) + line(4000, 22))
    count = session.register(COUNT)
    session.push(S, line(4500, 22) + line(10_000, 1))
    assert numbers(count) == [(6000, 1), (8000, 1), (10_000, 1)]


def test_a_stream_that_does_not_exist() -> None:
    session, _ = session_of(WARM, streams=(S,))
    with pytest.raises(InputError, match=f"reads the stream <{EX}none>, which is not declared; .*<{S}>, <{EX}warm>"):
        session.register(COUNT.replace(":warm [", ":none ["))
    assert session.engine.names == [EX + "warm"]


def test_cycles_and_names() -> None:
    session, _ = session_of(WARM)
    with pytest.raises(InputError, match=f"the query {EX}self reads its own answers: the stream <{EX}self>"):
        session.register(WARM.replace(":s [", ":self [").replace("RSTREAM :warm", "RSTREAM :self"))
    with pytest.raises(InputError, match=f"a stream <{T}> is declared already"):
        session.register(WARM.replace("RSTREAM :warm", "RSTREAM :t"))
    with pytest.raises(InputError, match=f"<{EX}warm> has the answers of the query"):
        session.stream(EX + "warm")
    session.stream(EX + "self")


def test_nobody_else_pushes_to_it() -> None:
    session, _ = session_of(WARM)
    with pytest.raises(InputError, match=f"<{EX}warm> has the answers of the query .* nothing else can enter it"):
        session.push(EX + "warm", line(1, 1))
    with pytest.raises(InputError, match="has the answers of the query"):
        session.advance(EX + "warm", 1000)


def test_a_query_that_is_read_stays() -> None:
    session, (warm, count) = session_of(WARM, COUNT)
    with pytest.raises(InputError, match=f"the query {count.name} reads the answers of the query {warm.name}"):
        session.unregister(warm.name)
    session.unregister(count.name)
    session.unregister(warm.name)
    with pytest.raises(InputError, match="is not declared"):
        session.register(COUNT)


def test_readers_of_a_query_that_fails_fail_with_it() -> None:
    session, _ = session_of()

    def broken(report: freshet.Report) -> None:
        raise ValueError("no")

    session.register(WARM, on_report=broken)
    session.register(COUNT.replace("SELECT (COUNT(*) AS ?n)", "CONSTRUCT { :all :count ?v }"))
    session.register(COUNT.replace(":count", ":third").replace(":warm [", ":count ["))
    session.push(S, line(500, 21) + line(4000, 21))
    assert [failure.query for failure in session.failures] == [EX + "warm", EX + "third", EX + "count"]
    assert "reads the answers of the query" in session.failures[1].reason
    assert session.engine.names == []


def test_callbacks_may_read_what_they_get() -> None:
    session, _ = session_of()
    late: list[freshet.RegisteredQuery] = []
    session.register(WARM, on_report=lambda report: late or late.append(session.register(COUNT)))
    session.push(S, line(500, 21) + line(1500, 22) + line(6000, 3))
    assert numbers(late[0]) == [(4000, 2), (6000, 2)]


def test_memory_is_counted_and_terms_are_kept() -> None:
    session, (_, count) = session_of(WARM, COUNT.replace("(COUNT(*) AS ?n)", "?v"))
    for at in range(200):
        session.push(S, line(100 * at, 1000 + at, f"a{at}"))
    assert session.sizes()["windows"] > 0
    session.finish()
    found = [term for _, some in rows(count) for term in some]
    assert any("1150" in term for term in found)
