"""Each query that shares a plan gets its own reports, whoever comes, goes or fails meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshet import Session
from freshet.algebra.nodes import StreamOperator
from freshet.native.buffers.ring_index import RingIndex
from freshet.native.memory import window_budget
from freshet.native.queries.plan_members import PlanMembers
from freshet.native.r2s.bags import Dealt
from freshet.rdf.dictionary import Dictionary
from freshet.results.answers import AnswerBatch, ReportCallback
from freshet.results.report import Report

STEPS = st.lists(st.tuples(st.sampled_from(["add", "join", "move", "remove", "give"]), st.integers(0, 5)), max_size=40)


def give(members: PlanMembers, numbers: list[int]) -> None:
    """A report to each, with its number."""
    ends = np.arange(len(numbers) + 1)
    ids, places = np.array(numbers, np.int64), np.zeros(len(numbers), np.int64)
    dealt = Dealt(ids, ends, places, ends, ids.reshape(-1, 1))
    members.give(dealt, np.array([14]), StreamOperator.RSTREAM, ("x",))


@given(STEPS)
def test_members_equal_a_table_of_names(steps: list[tuple[str, int]]) -> None:
    members = PlanMembers(lambda name, error: None, Dictionary())
    known: dict[str, int] = {}  # the naive twin
    gone: list[int] = []  # numbers that are given again
    most = 0
    got: list[AnswerBatch] = []

    def next_number() -> int:
        nonlocal most
        if gone:
            return gone.pop()
        most += 1
        return most

    for step, choice in steps:
        name = f"q{choice}"
        if step in ("add", "join") and name not in known:
            known[name] = next_number() if step == "add" or not known else max(known.values())
            members.add(name, known[name], got.append)
        elif step == "move" and name in known and len(set(known.values())) > 1:
            number, other = known[name], min(set(known.values()) - {known[name]})
            members.move(number, other)
            known.update({each: other for each, had in known.items() if had == number})
            gone.append(number)
        elif step == "remove":
            number = known.pop(name, None)
            assert members.remove(name) == number
            if number is not None and number not in known.values():
                assert not members.has(number)
                gone.append(number)
        elif step == "give":
            got.clear()
            give(members, list(range(1, most + 1)))
            reports = [report for batch in got for report in batch.reports()]
            assert sorted((report.query, report.rows.item()) for report in reports) == sorted(known.items())
            assert [report.rows.item() for report in reports] == sorted(known.values())
            assert all(report.time_ms == 7 and report.variables == ("x",) for report in reports)
        assert len(members) == len(known)
        assert sorted(members.numbers()) == sorted(known.values())


def test_who_fails_does_not_stop_the_others() -> None:
    failed: list[tuple[str, str]] = []
    got: list[str] = []
    members = PlanMembers(lambda name, error: failed.append((name, str(error))), Dictionary())

    def fails(batch: AnswerBatch) -> None:
        raise ValueError("full")

    def leaves(batch: AnswerBatch) -> None:
        members.remove("c")

    takers = (("a", fails), ("b", leaves), ("c", fails), ("d", lambda batch: got.append(batch.query)))
    for number, (name, take) in enumerate(takers, 1):
        members.add(name, number, take)
    give(members, [1, 2, 3, 4])
    assert failed == [("a", "full")]
    assert got == ["d"]


def test_single_reports_need_no_batch() -> None:
    members = PlanMembers(lambda name, error: None, Dictionary())
    reports: list[Report] = []
    wanted = ReportCallback(reports.append, lambda taker: True)
    members.add("a", 1, wanted)
    members.add("b", 2, wanted)
    ids = np.array([5, 6, 7], np.int64).reshape(-1, 1)
    dealt = Dealt(np.array([1, 2]), np.array([0, 1, 3]), np.array([0, 0, 1]), np.array([0, 1, 2, 3]), ids)
    members.give(dealt, np.array([14, 17]), StreamOperator.ISTREAM, ("x",))
    found = [(report.query, report.time_ms, report.moment, report.rows.tolist()) for report in reports]
    assert found == [("a", 7, 14, [[5]]), ("b", 7, 14, [[6]]), ("b", 8, 17, [[7]])]
    assert {report.stream for report in reports} == {StreamOperator.ISTREAM}


def test_who_fails_does_not_stop_those_of_the_same_number() -> None:
    failed: list[str] = []
    got: list[str] = []

    def removed(name: str, error: Exception) -> None:
        failed.append(name)
        members.remove(name)

    def fails(batch: AnswerBatch) -> None:
        raise ValueError("full")

    def leaves(batch: AnswerBatch) -> None:
        got.append(batch.query)
        members.remove("c")
        members.remove("b")

    members = PlanMembers(removed, Dictionary())
    takers = (("a", fails), ("b", leaves), ("c", fails), ("d", lambda batch: got.append(batch.query)))
    for name, take in takers:
        members.add(name, 1, take)
    give(members, [1])
    assert failed == ["a"]
    assert got == ["b", "d"]
    assert members.numbers() == (1,)


def test_a_broken_pipe_ends_all() -> None:
    members = PlanMembers(lambda name, error: pytest.fail(f"{name} has not failed"), Dictionary())

    def closed(batch: AnswerBatch) -> None:
        raise BrokenPipeError

    members.add("a", 1, closed)
    with pytest.raises(BrokenPipeError):
        give(members, [1])


FORMS = {
    "windows that close": "REGISTER RSTREAM :q{n} AS SELECT ?o FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S] "
    "WHERE {{ {{ WINDOW :w {{ :u{n} ?p ?o }} }} UNION {{ WINDOW :w {{ ?o :of :u{n} . ?o :near ?x }} }} }}",
    "windows that move with every element": "REGISTER ISTREAM :q{n} AS SELECT ?x ?y FROM NAMED WINDOW :w ON :s "
    "[COUNT 5] WHERE {{ WINDOW :w {{ ?x :of :u{n} . ?x :near ?y }} }}",
}


def session_with(queries: int, form: str) -> Session:
    session = Session()
    session.stream("http://e/s")
    for number in range(queries):
        session.register("PREFIX : <http://e/> " + FORMS[form].format(n=number))
    times = range(0, 90_000, 700)
    lines = [f"{time}\t<http://e/u{time % 40}> <http://e/of> <http://e/u{time % 30}> .\n" for time in times]
    session.push("http://e/s", "".join(lines))
    return session


def holders(session: Session) -> set[int]:
    """All that holds rows, looked for anew."""
    budget = session.engine._budget
    budget.queries_changed()
    assert budget.held_bytes() > 0
    return {id(holder) for holder in budget._holders}


@pytest.mark.parametrize("form", FORMS)
def test_nothing_that_holds_rows_is_among_what_is_not_looked_into(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_with(30, form)
    found = holders(session)
    monkeypatch.setattr(window_budget, "_NONE_WITHIN", (RingIndex,))
    assert found == holders(session)


@pytest.mark.parametrize("form", FORMS)
def test_more_queries_of_a_form_are_no_more_to_look_into(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_into: list[object] = []
    parts_of = window_budget.parts_of

    def counted(holder: object) -> Iterator[object]:
        looked_into.append(holder)
        return parts_of(holder)

    monkeypatch.setattr(window_budget, "parts_of", counted)
    counts = []
    for queries in (10, 60):
        session = session_with(queries, form)
        looked_into.clear()
        holders(session)
        counts.append(len(looked_into))
    assert counts[1] < counts[0] + 50
