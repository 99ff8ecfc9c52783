"""Queries come and go while streams run; one that fails does not stop the others."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import freshet
from declaring import register
from freshet.native.buffers.leaf_buffer import LeafPattern
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri, Literal
from freshet.rdf.triples import DEFAULT_GRAPH

S, T = "http://example.org/s", "http://example.org/t"
PREFIX = "PREFIX : <http://example.org/>\n"
QUERY = PREFIX + (
    "REGISTER RSTREAM :{name} AS SELECT ?v FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S] "
    "WHERE {{ WINDOW :w {{ ?x :{predicate} ?v }} }}"
)
STORED = PREFIX + (
    "REGISTER RSTREAM :stored AS SELECT ?v FROM NAMED WINDOW :w ON :s [RANGE PT5S STEP PT5S] "
    "WHERE { WINDOW :w { ?x :p ?u } ?x :kept ?v }"
)


def line(time_ms: int, value: str, predicate: str = "p") -> str:
    return f'{time_ms}\t<http://example.org/a> <http://example.org/{predicate}> "{value}" .\n'


def query(name: str, predicate: str = "p") -> str:
    return QUERY.format(name=name, predicate=predicate)


def values(session: freshet.Session, registered) -> list[tuple[int, str]]:
    return [
        (report.time_ms, "".join(sorted(row["v"].lexical for row in session.bindings(report))))
        for report in registered.take()
    ]


def test_a_query_sees_what_comes_after_it() -> None:
    session = freshet.Session()
    first = register(session, query("first"))
    session.push(S, line(1000, "a"))
    second, third = register(session, query("second")), register(session, query("third"))
    session.push(S, line(2000, "b") + line(6000, "c"))
    session.unregister(first.name)
    fourth = register(session, query("first"))
    session.push(S, line(11_000, "d"))
    session.finish()
    assert values(session, first) == [(5000, "ab")]
    assert (
        values(session, second)
        == values(session, third)
        == [(5000, "b"), (10_000, "bc"), (15_000, "cd"), (20_000, "d")]
    )
    assert values(session, fourth) == [(15_000, "d"), (20_000, "d")]


def test_equal_windows_and_patterns_are_shared_and_freed() -> None:
    session = freshet.Session()
    engine = session.engine
    for name in ("one", "two"):
        register(session, query(name))
    register(session, query("other", "q"))
    group = engine._queries["http://example.org/one"]
    one, two = (group.query(engine._plans.group_name(f"http://example.org/{name}")) for name in ("one", "two"))
    assert one.leaves[0] is two.leaves[0]
    (window,) = session.engine._groups()[0]._all_windows
    assert len(window.leaves) == 2
    session.unregister("http://example.org/one")
    assert len(window.leaves) == 2
    session.unregister("http://example.org/two")
    assert len(window.leaves) == 1
    session.push(S, line(1000, "a"))
    assert len(window.feed.readers) == 1
    session.unregister("http://example.org/other")
    assert window.feed.readers == []
    assert engine.names == []
    session.push(S, line(2000, "b"))
    with pytest.raises(InputError, match="there is no query"):
        session.unregister("http://example.org/other")


def test_a_registration_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    session = freshet.Session()
    kept = register(session, query("kept"))
    (window,) = session.engine._queries[kept.name]._all_windows

    def fail(name, plan, group, timing, on_report, measurements):
        group.window(plan.windows[0]).leaf(LeafPattern((1, 2, 3), ()))
        raise MemoryError("no room")

    monkeypatch.setattr(session.engine._factory, "own_query", fail)
    with pytest.raises(MemoryError):
        register(session, query("other", "q"))
    assert len(window.leaves) == 1
    assert session.engine.names == [kept.name]


@pytest.mark.parametrize("predicate", ["p", "q"])
def test_a_failing_query_is_removed(predicate: str) -> None:
    session = freshet.Session()
    healthy = register(session, query("healthy"))

    def fail(report) -> None:
        raise ValueError("nobody wants this")

    failing = register(session, query("failing", predicate), on_report=fail)
    late = register(session, query("late"))
    session.push(S, line(1000, "a") + line(1000, "a", "q") + line(6000, "b"))
    session.finish()
    assert values(session, healthy) == values(session, late) == [(5000, "a"), (10_000, "ab"), (15_000, "b")]
    (failure,) = session.failures
    assert str(failure) == f"the query {failing.name} failed and was removed: ValueError: nobody wants this"
    assert failing.name not in session.engine.names


def test_the_last_query_may_fail() -> None:
    session = freshet.Session()

    def fail(report) -> None:
        raise ValueError("nobody wants this")

    register(session, query("failing"), on_report=fail)
    session.push(S, line(1000, "a") + line(50_000, "b"))
    session.push(S, line(60_000, "c"))
    session.finish()
    assert len(session.failures) == 1
    assert session.engine.names == []


def test_a_slow_query_is_removed() -> None:
    session = freshet.Session()
    seen = []

    def dawdle(report) -> None:
        seen.append(report.time_ms)
        time.sleep(2.1)  # a busy machine may keep the evaluation itself waiting, but not for so long

    register(session, query("slow"), on_report=dawdle, limit_seconds=2)
    register(session, query("patient"), on_report=lambda report: seen.append(report.time_ms), limit_seconds=60)
    session.push(S, line(1000, "a") + line(6000, "b"))
    session.finish()
    assert seen == [5000, 5000, 10_000, 15_000]
    assert [failure.query for failure in session.failures] == ["http://example.org/slow"]
    assert "its time limit of 2 s" in session.failures[0].reason


def test_a_query_may_remove_itself_and_others() -> None:
    session = freshet.Session()

    def stop(report) -> None:
        session.unregister("http://example.org/one")
        session.unregister("http://example.org/two")

    register(session, query("one"), on_report=stop)
    two, three = register(session, query("two")), register(session, query("three"))
    session.push(S, line(1000, "a"))
    session.finish()
    assert not session.failures
    assert values(session, two) == []
    assert values(session, three) == [(5000, "a"), (10_000, "a")]


def test_an_absorbing_stream_declared_later() -> None:
    session = freshet.Session()
    registered = register(session, STORED)
    session.push(S, line(1000, "x") + line(5000, "x"))
    session.stream(T, absorb=True)
    session.push(S, line(10_000, "x"))
    assert values(session, registered) == []  # what T leaves before 10 s may still come
    session.push(T, line(7000, "seven", "kept") + line(10_000, "ten", "kept"))
    assert values(session, registered) == [(10_000, "seven")]
    session.finish()
    assert values(session, registered) == [(15_000, "seventen")]


def test_a_query_registered_later_sees_what_was_absorbed() -> None:
    session = freshet.Session()
    session.stream(S, absorb=True)
    register(session, STORED.replace(":stored", ":early").replace(":kept", ":other"))
    session.push(S, line(1000, "one", "kept") + line(9000, "nine", "kept"))
    registered = register(session, STORED)
    session.push(S, line(9000, "x"))
    session.finish()
    assert values(session, registered) == [(10_000, "nineone")]


def test_stored_leaves_of_named_graphs(tmp_path: Path) -> None:
    session = freshet.Session()
    registered = register(session, query("q"))
    data = tmp_path / "data.trig"
    data.write_text(PREFIX + ':a :p "default" . :g { :a :p "named" }', encoding="utf-8")
    session.load(data)
    p, g = (session.dictionary.encode(Iri(f"http://example.org/{name}")) for name in "pg")
    group = session.engine._queries[registered.name]
    pattern = LeafPattern((0, p, 0), ((2,),))
    leaves = [group.stored_leaf(pattern, graph) for graph in (DEFAULT_GRAPH, g, g)]
    assert leaves[1] is leaves[2]
    a, later = (session.dictionary.encode(term) for term in (Iri("http://example.org/a"), Literal("later")))
    session.engine.load(np.array([a]), np.array([p]), np.array([later]), g)
    session.push(S, line(1000, "x") + line(5000, "x"))
    found = [
        [session.dictionary.decode(term).lexical for term in leaf.values[leaf.live_rows(), 0].tolist()]
        for leaf in leaves
    ]
    assert [sorted(texts) for texts in found[:2]] == [["default"], ["later", "named"]]
