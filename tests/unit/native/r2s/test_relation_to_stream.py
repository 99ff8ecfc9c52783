"""RSTREAM of an operator that has its rows at hand, against the lives of the rows."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

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
