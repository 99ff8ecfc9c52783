"""Many queries with windows of their own: those that a push does not concern are left out, and answer the same."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import freshet
from freshet.native.query_group import FEW_SCHEDULES, QueryGroup
from freshet.native.scheduled_query import ScheduledQuery
from freshet.rdf.terms import Iri

EX = "http://example.org/"
COUNT = 3 * FEW_SCHEDULES

Given = list[tuple[int, list[tuple[int, ...]]]]


def text(form: str, number: int) -> str:
    """A query with a predicate and a window that no other has."""
    pattern = f"?a <{EX}p{number}> ?b"
    match form:
        case "range":
            return f"SELECT * WHERE {{ STREAM <{EX}s> [RANGE {400 + 7 * number}ms] {{ {pattern} }} }}"
        case "distinct":
            return f"SELECT DISTINCT ?a WHERE {{ STREAM <{EX}s> [RANGE {400 + 7 * number}ms] {{ {pattern} }} }}"
        case "count":
            return f"SELECT (COUNT(?b) AS ?n) WHERE {{ STREAM <{EX}s> [RANGE {400 + 7 * number}ms] {{ {pattern} }} }}"
        case "counts that go":
            return (
                f"REGISTER DSTREAM <q{number}> AS SELECT (COUNT(?b) AS ?n) FROM NAMED WINDOW <w> ON <{EX}s>"
                f" [RANGE PT{2 + number % 3}S STEP PT1S] WHERE {{ WINDOW <w> {{ {pattern} }} }}"
            )
    output, window = form.upper(), f"RANGE PT{2 + number}S STEP PT{1 + number % 3}S"
    return (
        f"REGISTER {output} <q{number}> AS SELECT * FROM NAMED WINDOW <w> ON <{EX}s> [{window}]"
        f" WHERE {{ WINDOW <w> {{ {pattern} }} }}"
    )


def taken(query: freshet.RegisteredQuery) -> Given:
    return [(report.time_ms, sorted(map(tuple, report.rows.tolist()))) for report in query.take()]


def groups_of(session: freshet.Session) -> list[QueryGroup]:
    return [group for group in session.engine._groups() if isinstance(group, QueryGroup)]


@pytest.mark.parametrize("form", ["range", "distinct", "count", "counts that go", "rstream", "istream", "dstream"])
@pytest.mark.parametrize("seed", range(2))
def test_each_answers_as_if_it_were_alone(form: str, seed: int) -> None:
    """Some are registered while elements come. Predicates come in bursts, so that windows fall asleep and wake."""
    dice = Random(f"{form} {seed}")
    begins = [dice.choice([0, 0, dice.randint(0, 60)]) for _ in range(COUNT)]
    pushes = []
    now_ms = 0
    for at in range(90):
        few = dice.sample(range(COUNT), 3)
        rows = []
        for _ in range(dice.randint(1, 6)):
            now_ms += dice.choice([0, 1, 90, 900])
            rows.append((now_ms, *(Iri(EX + name) for name in (f"s{at % 5}", f"p{dice.choice(few)}", f"o{at % 3}"))))
        pushes.append(rows)

    def run(numbers: list[int]) -> dict[int, Given]:
        session = freshet.Session()
        session.stream(EX + "s")
        queries, slept = {}, False
        for at, rows in enumerate(pushes):
            for number in numbers:
                if begins[number] == at:
                    queries[number] = session.register(text(form, number), name=f"q{number}")
            session.push(EX + "s", rows)
            slept |= any(schedule.is_asleep for group in groups_of(session) for schedule in group._schedules)
        # What RSTREAM has is reported at every close, and a count ends where no element is left.
        assert slept == (len(numbers) > 1 and form not in ("rstream", "count", "counts that go"))
        session.finish()
        assert not session.failures
        return {number: taken(query) for number, query in queries.items()}

    together = run(list(range(COUNT)))
    assert sum(map(len, together.values())) > COUNT
    for number in range(0, COUNT, 8):
        assert together[number] == run([number])[number]


def test_a_count_that_does_not_change_is_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    evaluate = ScheduledQuery.evaluate

    def evaluated(query: ScheduledQuery, *given: Any) -> object:
        asked.append(query.name)
        return evaluate(query, *given)

    session = freshet.Session()
    session.stream(EX + "s")
    queries = [
        session.register(
            f"SELECT (COUNT(?b) AS ?n) WHERE {{ STREAM <{EX}s> [RANGE 1s] {{ ?a <{EX}p{number}> ?b }} }}",
            name=f"q{number}",
        )
        for number in range(9)
    ]

    def push(time_ms: int, number: int) -> None:
        session.push(EX + "s", [(time_ms, Iri(EX + "a"), Iri(f"{EX}p{number}"), Iri(EX + "b"))])

    push(0, 1)
    push(1, 1)
    monkeypatch.setattr(ScheduledQuery, "evaluate", evaluated)
    push(500, 3)
    push(700, 5)
    assert asked == ["q1", "q3"]  # an instant is evaluated when the next has come
    asked.clear()
    session.advance(EX + "s", 10_000)
    push(10_000, 3)
    session.finish()
    counts = [[report.rows.item() for report in query.take()] for query in queries]
    alone = freshet.Session()
    alone.stream(EX + "s")
    query = alone.register(f"SELECT (COUNT(?b) AS ?n) WHERE {{ STREAM <{EX}s> [RANGE 1s] {{ ?a <{EX}p3> ?b }} }}")
    for time_ms, number in ((0, 1), (1, 1), (500, 3), (700, 5), (10_000, 3)):
        alone.push(EX + "s", [(time_ms, Iri(EX + "a"), Iri(f"{EX}p{number}"), Iri(EX + "b"))])
    assert counts[3] == [report.rows.item() for report in query.take()]


def test_windows_that_sleep_need_no_old_elements_and_keep_no_old_times() -> None:
    session = freshet.Session()
    session.stream(EX + "s")
    for number in range(COUNT):
        session.register(text("range", number), name=f"q{number}")
    for first_ms in range(0, 200_000, 10_000):
        line = f"\t<{EX}a> <{EX}other> <{EX}b> .\n"
        session.push(EX + "s", "".join(f"{time_ms}{line}" for time_ms in range(first_ms, first_ms + 10_000)))
    assert session.engine.needed_from() >= 199_999 - 400 - 7 * COUNT
    [group] = groups_of(session)
    [feed] = group._all_feeds
    assert len(feed._times) < 200_000
