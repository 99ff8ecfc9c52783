"""Stored patterns with few rows are copied for joins; the answers are those of patterns that are read in place."""

from __future__ import annotations

from random import Random

import pytest

import freshet
from freshet.native import query_group
from freshet.native.operators import stored_copy
from freshet.native.operators.stored_copy import StoredCopy
from freshet.native.query_group import QueryGroup

EX = "http://example.org/"
FORMS = (
    "SELECT ?a ?b ?c WHERE {{ STREAM <{ex}s> [RANGE 3s] {{ ?a <{ex}p> ?b }} ?b <{ex}in> ?c }}",
    "SELECT ?c (COUNT(?a) AS ?n) WHERE {{ STREAM <{ex}s> [RANGE 3s] {{ ?a <{ex}p> ?b }} ?b <{ex}in> ?c }} GROUP BY ?c",
    "REGISTER RSTREAM <q> AS SELECT ?a ?c FROM NAMED WINDOW <w> ON <{ex}s> [RANGE PT3S STEP PT1S]"
    " WHERE {{ WINDOW <w> {{ ?a <{ex}p> ?b }} ?b <{ex}in> ?c OPTIONAL {{ ?c <{ex}in> ?d }} }}",
)

Given = list[tuple[int, list[tuple[str, ...]]]]


def copies(session: freshet.Session) -> list[StoredCopy]:
    groups = [group for group in session.engine._groups() if isinstance(group, QueryGroup)]
    return [copy for group in groups for copy in group._copies.values()]


def answers(seed: int, form: str) -> tuple[Given, list[int]]:
    """What a query reports while its stored pattern gains and loses rows, and how many copies there are after each."""
    dice = Random(seed)
    session = freshet.Session()
    session.stream(EX + "s")
    session.stream(EX + "more", absorb=True)
    session.update("INSERT DATA { " + " ".join(f"<{EX}b{n}> <{EX}in> <{EX}c{n % 3}> ." for n in range(6)) + " }")
    query = session.register(form.format(ex=EX), name="q")
    counts, given = [], []
    for step in range(1, 40):
        now_ms = 300 * step
        session.push(EX + "s", f"<{EX}a{step}> <{EX}p> <{EX}b{dice.randrange(20)}> .", time_ms=now_ms)
        session.push(EX + "more", f"<{EX}b{dice.randrange(20)}> <{EX}in> <{EX}c{dice.randrange(4)}> .", time_ms=now_ms)
        if step % 9 == 0:
            session.update(f"DELETE WHERE {{ <{EX}b{dice.randrange(20)}> <{EX}in> ?c }}")
        counts.append(len(copies(session)))
        given += [(report.time_ms, sorted(map(str, report.bindings()))) for report in query.take()]
    session.finish()
    assert not session.failures
    given += [(report.time_ms, sorted(map(str, report.bindings()))) for report in query.take()]
    return given, counts


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_copied_or_in_place(form: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    copied, counts = answers(seed, form)
    assert min(counts) > 0
    assert copied
    monkeypatch.setattr(query_group, "FEW_STORED", -1)
    assert answers(seed, form) == (copied, [0] * len(counts))


@pytest.mark.parametrize("form", FORMS)
def test_a_copy_that_grows_is_given_up(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copied, _ = answers(7, form)
    monkeypatch.setattr(stored_copy, "MANY_STORED", 12)
    monkeypatch.setattr(query_group, "FEW_STORED", 10)
    given, counts = answers(7, form)
    assert given == copied
    assert counts[0] > 0 == counts[-1]
