"""Many queries with windows of their own: those that a push does not concern are left out, and answer the same."""

from __future__ import annotations

from random import Random

import pytest

import freshet
from freshet.native.query_group import FEW_SCHEDULES, QueryGroup
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
    output, window = form.upper(), f"RANGE PT{2 + number}S STEP PT{1 + number % 3}S"
    return (
        f"REGISTER {output} <q{number}> AS SELECT * FROM NAMED WINDOW <w> ON <{EX}s> [{window}]"
        f" WHERE {{ WINDOW <w> {{ {pattern} }} }}"
    )


def taken(query: freshet.RegisteredQuery) -> Given:
    return [(report.time_ms, sorted(map(tuple, report.rows.tolist()))) for report in query.take()]


def groups_of(session: freshet.Session) -> list[QueryGroup]:
    return [group for group in session.engine._groups() if isinstance(group, QueryGroup)]


@pytest.mark.parametrize("form", ["range", "distinct", "rstream", "istream", "dstream"])
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
        assert slept == (len(numbers) > 1 and form != "rstream"), "what RSTREAM has is reported at every close"
        session.finish()
        assert not session.failures
        return {number: taken(query) for number, query in queries.items()}

    together = run(list(range(COUNT)))
    assert sum(map(len, together.values())) > COUNT
    for number in range(0, COUNT, 8):
        assert together[number] == run([number])[number]


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
