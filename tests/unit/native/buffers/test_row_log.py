"""The log of an answer's rows beside a plain list of rows with lives."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from counts import count
from freshet.native.buffers.row_log import RowLog
from freshet.native.change import OPEN, Change
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import XSD, Iri, Literal, Term
from freshet.results.column_reader import ColumnReader

DICTIONARY = Dictionary()
DOUBLE = Iri(XSD + "double")


def change(came: list[tuple[int, tuple[int, ...]]], went: list[tuple[int, tuple[int, ...]]], width: int) -> Change:
    def side(rows: list[tuple[int, tuple[int, ...]]]) -> tuple[Table, np.ndarray]:
        ids = np.array([row for _, row in rows], np.int64).reshape(len(rows), width)
        return Table({f"v{at}": ids[:, at] for at in range(width)}, len(rows)), np.array(
            [at for at, _ in rows], np.int64
        )

    return Change(*side(came), *side(went))


class Lives:
    """All rows that ever came, with their lives."""

    def __init__(self) -> None:
        self.rows: list[list] = []  # birth, death, row

    def at(self, moment: int) -> list[tuple[int, ...]]:
        return sorted(tuple(row) for born, died, row in self.rows if born <= moment < died)


def play(seed: int, width: int, values: int, disorder: float) -> None:
    dice, log, lives = Random(seed), RowLog(tuple(f"v{at}" for at in range(width))), Lives()
    moment = 0
    for _ in range(dice.choice([3, 40])):
        moments = sorted(dice.sample(range(moment + 1, moment + 20), dice.choice([1, 1, 4])))
        came, went = [], []
        for now in moments:
            for _ in range(dice.choice([0, 1, 3, 50])):
                row = tuple(dice.randrange(1, values) for _ in range(width))
                lives.rows.append([now, OPEN, row])
                came.append((now, row))
            open_ones = [life for life in lives.rows if life[1] == OPEN]
            for _ in range(min(len(open_ones), dice.choice([0, 1, 3, 50]))):
                life = open_ones.pop(dice.randrange(len(open_ones)) if dice.random() < disorder else 0)
                life[1] = now
                went.append((now, life[2]))
        changed = change(came, went, width)
        if not disorder and dice.random() < 0.5:
            assert not log._late
            log.step_in_order(changed.came, changed.came_at, changed.went_at)
        else:
            log.step(changed)
        asked = [moment, *moments]  # also the last moment of the batch before
        places, rows = log.living_at(np.array(asked))
        for place, each in enumerate(asked):
            assert sorted(map(tuple, rows[places == place].tolist())) == lives.at(each)
        kept = log.all_at(moments[-1])
        if kept is not None:
            assert sorted(map(tuple, kept.rows.tolist())) == lives.at(moments[-1])
        assert kept is not None or disorder
        moment = moments[-1]


@pytest.mark.parametrize("disorder", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("width", [0, 1, 3])
def test_rows_that_live_are_those_of_a_plain_list(width: int, disorder: float) -> None:
    for seed in range(count(30)):
        play(seed, width, values=Random(seed).choice([2, 10, 10**9]), disorder=disorder)


def test_a_row_that_never_came_cannot_go() -> None:
    log = RowLog(("v0",))
    log.step(change([(1, (5,)), (1, (6,))], [], 1))
    with pytest.raises(ValueError, match="never came"):
        log.step(change([], [(2, (7,))], 1))


@pytest.mark.parametrize(
    "term",
    [
        lambda number: Iri(f"http://a/{number}"),
        lambda number: Literal(f"{number}.5{'0' * (number % 2)}", DOUBLE),
        lambda number: Literal(str(number), Iri(XSD + "integer")),
    ],
    ids=["iris", "doubles", "integers"],
)
def test_what_is_read_of_a_log_does_not_change_when_it_goes_on(term: Callable[[int], Term]) -> None:
    dice, log, reader = Random(4), RowLog(("v0", "v1")), ColumnReader()
    terms = [DICTIONARY.encode(term(number)) for number in range(30)]
    others = [DICTIONARY.encode(Literal("x")), 0, DICTIONARY.encode(Literal("5", Iri(XSD + "integer"))), terms[0]]
    taken: list[tuple] = []
    rows: list[tuple[int, int]] = []
    for moment in range(1, 300):
        came = [(dice.choice(terms), dice.choice(terms)) for _ in range(dice.randrange(1, 20))]
        if moment % 50 == 0:
            came.append((terms[0], dice.choice(others)))
        going = dice.randrange(20)
        gone, rows = rows[:going], [*rows[going:], *came]
        log.step(change([(moment, row) for row in came], [(moment, row) for row in gone], 2))
        kept = log.all_at(moment)
        assert kept is not None
        place = slice(kept.first, kept.end)
        field, column = reader.read_log(kept.columns, 1, place, DICTIONARY)
        alone = ColumnReader().read(kept.rows[:, 1], DICTIONARY)
        assert field.equals(alone[0], check_metadata=True)
        taken.append((column, alone[1].to_pylist()))
    for column, expected in taken:
        assert column.to_pylist() == expected


def test_rows_that_move_to_another_log_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.array([[DICTIONARY.encode(Iri(f"http://a/{number}")) for number in range(40)]], np.int64)
    reader, read = ColumnReader(), []
    whole = reader.read_log(ids, 0, slice(0, 30), DICTIONARY)[1].to_pylist()
    number = reader._texts.number
    monkeypatch.setattr(reader._texts, "number", lambda *given: read.append(given[1:3]) or number(*given))
    moved = np.zeros((1, 80), np.int64)
    moved[0, :30], moved[0, 30:40] = ids[0, :30], ids[0, 30:]
    assert reader.read_log(moved, 0, slice(5, 40), DICTIONARY)[1].to_pylist()[:25] == whole[5:]
    other = ids[:, ::-1].copy()
    assert reader.read_log(other, 0, slice(0, 40), DICTIONARY)[1].to_pylist()[10:] == whole[::-1]
    assert read == [(30, 40), (0, 40)]


@pytest.mark.parametrize(
    "term", [lambda number: Iri(f"http://a/{number}"), lambda number: Literal(str(number), Iri(XSD + "integer"))]
)
def test_rows_of_a_log_are_read_in_any_order(term: Callable[[int], Term]) -> None:
    columns = np.array([[DICTIONARY.encode(term(number)) for number in range(1, 60)]], np.int64)
    reader = ColumnReader()
    for first, end in [(0, 6), (40, 46), (20, 26), (3, 43), (50, 59), (44, 52)]:
        read = reader.read_log(columns, 0, slice(first, end), DICTIONARY)
        alone = ColumnReader().read(columns[0, first:end], DICTIONARY)
        assert read[1].to_pylist() == alone[1].to_pylist()
