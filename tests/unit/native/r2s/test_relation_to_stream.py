"""RSTREAM: of an operator that has its rows at hand, against the lives of the rows, and of a join."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from freshet import Report, Session
from freshet.native.change import Change, MomentBatch
from freshet.native.r2s.relation_to_stream import StateR2S
from freshet.oneshot.table import Table

Life = tuple[int, int, int]  # a value, from a moment on, up to another


class Rows:
    """An operator whose rows have given lives."""

    def __init__(self, lives: list[Life]) -> None:
        self._lives = lives
        self._last = -1

    def changes(self, batch: MomentBatch) -> Change:
        self._last = batch.last
        came = sorted((born, value) for value, born, _ in self._lives if batch.first <= born <= batch.last)
        went = sorted((died, value) for value, _, died in self._lives if batch.first <= died <= batch.last)
        return Change(*_timed(came), *_timed(went))

    def rows(self) -> Table:
        return _table([value for value, born, died in self._lives if born <= self._last < died])


def _table(values: list[int]) -> Table:
    return Table({"v": np.array(values, np.int64)}, len(values))


def _timed(rows: list[tuple[int, int]]) -> tuple[Table, np.ndarray]:
    return _table([value for _, value in rows]), np.array([moment for moment, _ in rows], np.int64)


@pytest.mark.parametrize("seed", range(40))
def test_rows_at_hand_are_what_holds_at_each_evaluation(seed: int) -> None:
    dice = Random(seed)
    births = [dice.randrange(60) for _ in range(dice.randrange(30))]
    lives = [(dice.randint(1, 5), born, born + dice.randint(1, 20)) for born in births]
    r2s = StateR2S(Rows(lives), ("v", ""))
    first = number = 0
    while first < 80:
        number += 1
        last = first + dice.randrange(12)
        due = [moment for moment in range(first, last + 1) if dice.random() < dice.choice((0.1, 0.5))]
        held = [dice.randrange(3) for _ in due]
        answers = r2s.step(MomentBatch(number, first, last, np.array(due, np.int64)), np.array(held, np.int64))
        found = [(due[place], *row) for place, row in zip(answers.places, answers.rows.tolist(), strict=True)]
        assert [moment for moment, *_ in found] == sorted(moment for moment, *_ in found)
        assert sorted(found) == sorted(
            (moment, value, 0)
            for moment, count in zip(due, held, strict=True)
            for value, born, died in lives
            if count and born <= moment < died
        )
        first = last + 1


E_ = "http://e/"
ROOMS = f"""PREFIX : <{E_}> REGISTER RSTREAM :q AS SELECT ?room FROM NAMED WINDOW :w ON :s [RANGE PT100S STEP PT10S]
WHERE {{ WINDOW :w {{ ?x :on :yes }} ?x :in ?room }}"""


def rooms_session() -> tuple[Session, dict[int, list[str]]]:
    """One with a query that reports rooms, of which several sensors have the same."""
    session, found = Session(), {}
    session.stream(E_ + "s", retracts=True)
    session.stream(E_ + "t", absorb="all")

    def on_report(report: Report) -> None:
        found[report.time_ms // 1000] = sorted(row["room"].value[-1] for row in report.bindings())

    session.register(ROOMS, on_report=on_report)
    return session, found


def line(second: int, subject: str, property_: str, value: str, sign: str = "") -> str:
    return f"{second}000\t{sign}<{E_}{subject}> <{E_}{property_}> <{E_}{value}> .\n"


def test_a_result_that_comes_and_goes_in_one_batch_takes_no_place() -> None:
    """It is equal to one that came before, whose place in the log it must not get."""
    session, found = rooms_session()
    rooms = (("s1", "1"), ("s2", "2"), ("s3", "1"))
    session.update("".join(f"INSERT DATA {{ <{E_}{x}> <{E_}in> <{E_}room{room}> }};" for x, room in rooms))
    session.push(E_ + "s", line(1, "s1", "on", "yes") + line(12, "s2", "on", "yes"))
    for stream in "ts":
        session.advance(E_ + stream, 20_000)
    session.push(E_ + "s", line(21, "s3", "on", "yes") + line(31, "s3", "on", "yes", "- ") + line(41, "z", "on", "yes"))
    for stream in "ts":
        session.advance(E_ + stream, 115_000)
    assert found[30] == ["1", "1", "2"]
    assert found[100] == ["1", "2"]
    assert found[110] == ["2"]


@pytest.mark.parametrize("steps", [(111, 121), (100, 111, 121)])
def test_what_is_stored_late_takes_no_place_either(steps: tuple[int, ...]) -> None:
    session, found = rooms_session()
    session.push(E_ + "t", line(1, "s1", "in", "room1") + line(1, "s2", "in", "room2"))
    session.push(E_ + "s", line(1, "s0", "on", "yes") + line(12, "s1", "on", "yes") + line(23, "s2", "on", "yes"))
    for stream in "st":
        session.advance(E_ + stream, 30_000)
    session.push(E_ + "t", line(91, "s0", "in", "room1"))
    session.push(E_ + "s", line(85, "z", "on", "yes"))
    for second in steps:
        for stream in "ts":
            session.advance(E_ + stream, second * 1000)
    assert {second: found[second] for second in (90, 100, 110, 120)} == {
        90: ["1", "2"], 100: ["1", "1", "2"], 110: ["1", "2"], 120: ["2"]
    }  # fmt: skip
