"""Queries that are registered between elements report as if each were alone, whatever windows and plans they share.

Triples come again often, so that rows begin before a query and are renewed after it. `FRESHET_CASES` and `FRESHET_SEED`
are as in `test_native_equals_reference`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import freshet
from counts import count
from freshet.native import query_group

CASES = count(200, "FRESHET_CASES")
FIRST_SEED = int(os.environ.get("FRESHET_SEED", 0))
BLOCKS = 10
S, T = "http://e/s", "http://e/t"
STORED_GRAPH = ""  # in place of a stream: an update
PREFIX = "PREFIX : <http://e/> "
STORED = "".join(f"<http://e/n{n}> <http://e/kind> <http://e/k{n % 2}> .\n" for n in range(4))

CLOSING = (f"<{S}> [RANGE PT4S STEP PT2S]", f"<{S}> [RANGE PT10S STEP PT1S]", f"<{S}> [COUNT 4 STEP 3]")
MOVING = ("[RANGE 3s]", "[RANGE 9s]", "[NOW]", "[ALL]", "[TRIPLES 3]")
BODIES = (
    "{w} {{ :n{n} :p ?x }}",
    "{w} {{ :n{n} :p ?x . ?x :q ?y }}",
    "{w} {{ ?x :p ?y }} ?x :kind :k{k}",
    "{w} {{ :n{n} :p ?x }} ?x :kind ?k",
    "{w} {{ :n{n} :p ?x FILTER NOT EXISTS {{ ?x :kind :k{k} }} }}",
    "{w} {{ ?x :p :n{n} . ?y :q ?x }} FILTER (?x != :n{k})",
    "{{ {w} {{ :n{n} :p ?x }} }} UNION {{ {w} {{ ?x :q :n{k} }} }}",
    "{w} {{ :n{n} :p ?x OPTIONAL {{ ?x :q ?y }} }}",
    "{w} {{ :n{n} :p ?x FILTER NOT EXISTS {{ ?x :q :n{k} }} }}",
    "{w} {{ :n{n} :p ?x }} {v} {{ ?y :q ?x }}",
    "{w} {{ ?x (:p/:p*) ?y }}",
    "{w} {{ ?x ?p ?y }}",
    "{w} {{ ?x :p ?y . ?y :q ?z }}",
)
HEADS = ("?x", "DISTINCT ?x", "?x (COUNT(*) AS ?c)", "(COUNT(?x) AS ?c)", "* ORDER ?x LIMIT 2")


@dataclass(frozen=True)
class Late:
    """A query, and before which pushes it is registered and removed."""

    text: str
    first: int
    last: int | None


def random_query(dice: Random) -> str:
    """A query of one of few forms, so that others have the same but for constants."""
    body, head = dice.choice(BODIES), dice.choice(HEADS)
    output = dice.choice(["ISTREAM", "ISTREAM", "RSTREAM", "DSTREAM"])
    tail = " GROUP BY ?x" if "?x (COUNT" in head else ""
    if "ORDER" in head:
        head, tail = "?x", " ORDER BY ?x LIMIT 2"
    numbers = {"n": dice.randint(0, 3), "k": dice.randint(0, 1)}
    if dice.random() < 0.5:
        window, other = dice.choice(CLOSING), f"<{T}> [RANGE PT4S STEP PT1S]"
        where = body.format(w="WINDOW :w", v="WINDOW :v", **numbers)
        declared = f"FROM NAMED WINDOW :w ON {window} " + (f"FROM NAMED WINDOW :v ON {other} " if ":v" in where else "")
        return f"{PREFIX}REGISTER {output} :out AS SELECT {head} {declared}WHERE {{ {where} }}{tail}"
    window, other = dice.choice(MOVING), "[RANGE 5s]"
    where = body.format(w=f"STREAM <{S}> {window}", v=f"STREAM <{T}> {other}", **numbers)
    return f"{PREFIX}SELECT {head} WHERE {{ {where} }}{tail}"


def random_pushes(dice: Random) -> list[tuple[str, str]]:
    """Elements of two streams, of few triples, some of them late, some at the same times."""
    pushes, time_ms = [], 0
    for _ in range(dice.randint(6, 24)):
        lines = []
        for _ in range(dice.choice([1, 1, 2, 5])):
            time_ms += dice.choice([0, 0, 300, 1000, 2500])
            triple = (
                f"<http://e/n{dice.randint(0, 3)}> <http://e/{dice.choice('ppq')}> <http://e/n{dice.randint(0, 3)}>"
            )
            lines.append(f"{max(0, time_ms - dice.choice([0, 0, 0, 700]))}\t{triple} .\n")
        pushes.append((dice.choice([S, S, T]), "".join(lines)))
        if dice.random() < 0.15:
            kind = f":n{dice.randint(0, 3)} :kind :k{dice.randint(0, 1)}"
            pushes.append((STORED_GRAPH, f"{PREFIX}{dice.choice(['INSERT', 'DELETE', 'DELETE'])} DATA {{ {kind} }}"))
    return pushes


def reports(
    queries: Sequence[Late], pushes: Sequence[tuple[str, str]], lateness_ms: int, data: Path
) -> list[list[object]]:
    """What each query reports, in one session."""
    session = freshet.Session()
    session.load(data)
    for iri in (S, T):
        session.stream(iri, lateness_ms=lateness_ms)
    found: list[list[object]] = [[] for _ in queries]
    present: dict[int, freshet.RegisteredQuery] = {}

    def take(at: int) -> None:
        for report in present[at].take():
            bindings = json.loads(session.ndjson(report))["bindings"]
            found[at].append((report.time_ms, sorted(json.dumps(row, sort_keys=True) for row in bindings)))

    for number in range(len(pushes) + 1):
        for at, query in enumerate(queries):
            if query.first == number:
                present[at] = session.register(query.text.replace(":out", f":q{at}"), name=f"q{at}")
            if query.last == number:
                take(at)
                session.unregister(present.pop(at).name)
        if number < len(pushes):
            push(session, *pushes[number])
    session.finish()
    for at in present:
        take(at)
    assert not session.failures, session.failures
    return found


def push(session: freshet.Session, iri: str, text: str) -> None:
    if iri == STORED_GRAPH:
        session.update(text or "INSERT DATA {}")
    else:
        session.push(iri, text)


def random_case(seed: int) -> tuple[list[Late], list[tuple[str, str]], int]:
    dice = Random(seed)
    pushes = random_pushes(dice)
    queries = []
    for _ in range(dice.randint(1, 3)):  # of each form some, with other constants
        form = dice.getrandbits(32)
        for _ in range(dice.randint(2, 5)):
            text = random_query(Random(form)).replace(":n0", f":n{dice.randint(0, 3)}")
            first = dice.randint(0, len(pushes))
            queries.append(Late(text, first, dice.choice([None, None, dice.randint(first, len(pushes))])))
    return queries, pushes, dice.choice([0, 0, 1000])


def differing(queries: list[Late], pushes: list[tuple[str, str]], lateness_ms: int, data: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_group, "FEW_SCHEDULES", 0)  # schedules that nothing concerns sleep, as of many
        together = reports(queries, pushes, lateness_ms, data)
    for query, found in zip(queries, together, strict=True):
        alone = reports([query], pushes, lateness_ms, data)[0]
        if found != alone:
            return f"{query}\ntogether {found}\nalone    {alone}"
    return ""


def smallest(queries: list[Late], pushes: list[tuple[str, str]], lateness_ms: int, data: Path) -> str:
    """What is left of a case that fails when everything that does not matter is left out."""
    done = False
    while not done:
        done = True
        for at in range(len(queries)):
            fewer = [*queries[:at], *queries[at + 1 :]]
            if differing(fewer, pushes, lateness_ms, data):
                queries, done = fewer, False
                break
        for at in range(len(pushes)):
            fewer_pushes = [*pushes[:at], (pushes[at][0], ""), *pushes[at + 1 :]]
            if pushes[at][1] and differing(queries, fewer_pushes, lateness_ms, data):
                pushes, done = fewer_pushes, False
                break
    shown = "\n".join(map(str, [*queries, *enumerate(pushes), lateness_ms]))
    return f"{shown}\n{differing(queries, pushes, lateness_ms, data)}"


def triples(time_ms: int, *named: str) -> str:
    """Elements of one time: `0p1` is :n0 :p :n1."""
    return "".join(f"{time_ms}\t<http://e/n{s}> <http://e/{p}> <http://e/n{o}> .\n" for s, p, o in named)


@pytest.mark.parametrize(
    ("head", "where", "later"),
    [
        # The elements from before leave one by one: those that count must not be taken to have left with them.
        (
            "REGISTER DSTREAM :out AS SELECT {head} FROM NAMED WINDOW :w ON <http://e/s> [RANGE PT10S STEP PT1S]",
            "WINDOW :w { ?x (:p/:p*) ?y }",
            triples(16700, "2q0", "0p1"),
        ),
        # As many enter as leave, twice: the window is not empty.
        (
            "SELECT {head}",
            "STREAM <http://e/s> [RANGE 9s] { ?x :p ?y }",
            triples(30000, "2p0", "0p1") + triples(40000, "1p0", "1p1"),
        ),
    ],
    ids=["closing", "moving"],
)
def test_a_new_schedule_begins_with_what_the_windows_hold(head: str, where: str, later: str, tmp_path: Path) -> None:
    """The query comes when its windows hold elements and whoever was evaluated like it has gone."""
    data = tmp_path / "stored.nt"
    data.write_text(STORED, encoding="utf-8")
    counted = f"{PREFIX}{head.format(head='(COUNT(?x) AS ?c)')} WHERE {{ {where} }}"
    late = f"{PREFIX}{head.format(head='?x (COUNT(*) AS ?c)')} WHERE {{ {where} }} GROUP BY ?x"
    pushes = [(S, triples(300, "2q2")), (S, triples(9100, "0p1") + triples(11600, "2q0")), (S, triples(12600, "1p2"))]
    queries = [Late(late, 3, None), Late(counted, 0, 2), Late(counted, 1, None)]
    assert reports(queries[:1], [*pushes, (S, later)], 0, data)[0]
    assert not differing(queries, [*pushes, (S, later)], 0, data)


@pytest.mark.parametrize(("first", "end"), list(pairwise(range(0, CASES + 1, max(1, CASES // BLOCKS)))))
def test_late_queries_report_as_if_alone(first: int, end: int, tmp_path: Path) -> None:
    data = tmp_path / "stored.nt"
    data.write_text(STORED, encoding="utf-8")
    for seed in range(FIRST_SEED + first, FIRST_SEED + end):
        case = random_case(seed)
        if differing(*case, data):
            pytest.fail(f"random_case({seed})\n{smallest(*case, data)}", pytrace=False)
