"""Stored patterns are joined in advance where that pays, and the cache follows the stored graph."""

from __future__ import annotations

from pathlib import Path

import freshet
from declaring import register
from freshet.native.plan.caching import Size, with_caches
from freshet.native.plan.lower import lower
from freshet.native.plan.plan import PlanCache, PlanNode, children
from freshet.syntax.parser import parse_query

S = "http://example.org/s"
QUERY = """PREFIX : <http://example.org/>
REGISTER RSTREAM :q AS SELECT ?friend ?post FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT10S]
WHERE { WINDOW :w { ?friend :made ?post } ?user :knows ?friend . ?user :of :p1 . FILTER(?user != :nobody) }"""


def caches(node: PlanNode) -> list[PlanCache]:
    found = [node] if isinstance(node, PlanCache) else []
    return found + [cache for child in children(node) for cache in caches(child)]


def test_few_of_many_are_joined_in_advance() -> None:
    root = lower(parse_query(QUERY)).root
    sizes = {2: Size(10_000, {"user": 1_000, "friend": 1_000}), 1: Size(1, {"user": 1})}
    (cache,) = caches(with_caches(root, lambda leaf: sizes[len(leaf.names)]))
    assert cache.names == {"user", "friend"}
    assert len(children(cache)[0].inputs) == 2
    assert len(children(cache)[0].conditions) == 1, "a condition on stored data alone is tested once"


def test_a_join_that_multiplies_is_not() -> None:
    root = lower(parse_query(QUERY)).root
    sizes = {2: Size(10_000, {"user": 2, "friend": 10_000}), 1: Size(1_000, {"user": 2})}
    assert caches(with_caches(root, lambda leaf: sizes[len(leaf.names)])) == []


def test_stored_patterns_that_share_nothing_are_not() -> None:
    text = QUERY.replace("?user :of :p1", "?other :of :p1").replace("FILTER(?user != :nobody)", "")
    root = lower(parse_query(text)).root
    assert caches(with_caches(root, lambda leaf: Size(1, dict.fromkeys(leaf.names, 1)))) == []


def test_the_cache_follows_the_graph(tmp_path: Path) -> None:
    def data(name: str, *statements: str) -> Path:
        path = tmp_path / name
        path.write_text(
            "".join(
                f"<http://example.org/{s}> <http://example.org/{p}> <http://example.org/{o}> .\n"
                for s, p, o in map(str.split, statements)
            ),
            encoding="utf-8",
        )
        return path

    session = freshet.Session()
    session.load(data("first.nt", "u1 of p1", "u1 knows f1", "u2 of p2", "u2 knows f2"))
    query = register(session, QUERY)
    plan = session.engine._queries[query.name].query(query.name).plan
    assert len(caches(plan.root)) == 1
    made = "<http://example.org/{0}> <http://example.org/made> <http://example.org/post{0}> .\n"
    session.push(S, "1000\t" + made.format("f1") + "1000\t" + made.format("f2"))
    session.push(S, "11000\t" + made.format("f1") + "11000\t" + made.format("f2"))
    session.load(data("second.nt", "u2 of p1"))
    session.finish()
    friends = [[str(row["friend"]) for row in session.bindings(report)] for report in query.take()]
    assert [sorted(each) for each in friends] == [
        ["<http://example.org/f1>"],
        ["<http://example.org/f1>", "<http://example.org/f2>"],
    ]
