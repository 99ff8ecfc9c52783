"""The join of two leaves, step by step, against the join of what they hold; in steps of few rows and of many."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from freshet.native.inputs import Input
from freshet.native.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.operators.pair_join import PairJoinOp, is_pair
from freshet.rdf.elements import Elements

PATTERN = LeafPattern((0, 0, 0), ((0,), (2,)))
LEFT = ("a", "b")
WANTED = ("b", "d", "a")


def leaf_input(names, *, expires=True):
    return Input(LeafBuffer(PATTERN, expires=expires), names, frozenset(names), expires)


def joined(left, right, left_names, right_names):
    """Rows of the wanted variables that the names have."""
    shared = [name for name in left_names if name in right_names]
    found = Counter()
    for one in left:
        for other in right:
            row = dict(zip(left_names, one, strict=True)), dict(zip(right_names, other, strict=True))
            if all(row[0][name] == row[1][name] for name in shared):
                both = row[1] | row[0]
                found[tuple(both[name] for name in WANTED if name in both)] += 1
    return found


def receive(buffer, first, rows):
    columns = np.array(rows, np.int64).reshape(-1, 2).T
    subjects, objects = map(np.ascontiguousarray, columns)
    buffer.receive(Elements(np.arange(first, first + len(rows)), subjects, np.ones_like(subjects), objects))


def counted(rows):
    return Counter(map(tuple, rows.tolist()))


@pytest.mark.parametrize("right_names", [("b", "d"), ("d", "b"), ("a", "b"), ("d", "e")], ids=str)
@pytest.mark.parametrize("size", [1, 5, 60])
@pytest.mark.parametrize("right_expires", [True, False])
def test_changes_are_those_of_the_whole_join(right_names, size, right_expires):
    rng = np.random.default_rng(size)
    inputs = [leaf_input(LEFT), leaf_input(right_names, expires=right_expires)]
    join = PairJoinOp(inputs, WANTED)
    before, came_rows = Counter(), [[], []]
    held = 4 * size
    for number in range(1, 25):
        contents = []
        for side, each in enumerate(inputs):
            more = rng.integers(1, 3 + size // 4, (int(rng.integers(0, size + 1)), 2)).tolist()
            receive(each.buffer, len(came_rows[side]), more)
            came_rows[side] += more
            last = len(came_rows[side])
            first = max(0, last - held) if each.expires else -(2**62)
            each.buffer.step(first, last, number)
            contents.append(set(map(tuple, came_rows[side][max(0, first) :])))
        now = joined(*contents, LEFT, right_names)
        came, went = map(counted, join.row_changes(number))
        assert not (came - now), "what came is there"
        assert not (went - before), "what went was there"
        after = before.copy()
        after.update(came)
        after.subtract(went)
        assert +after == now
        assert counted(join.row_values()) == now
        before = now


def test_changes_as_tables_have_the_same_rows():
    inputs = [leaf_input(LEFT), leaf_input(("b", "d"))]
    join = PairJoinOp(inputs, WANTED)
    join.changes(1)
    receive(inputs[0].buffer, 0, [(1, 2)])
    receive(inputs[1].buffer, 0, [(2, 7), (2, 8)])
    for each in inputs:
        each.buffer.step(0, 2, 2)
    change = join.changes(2)
    assert sorted(zip(*(change.came.column(name).tolist() for name in ("a", "b", "d")), strict=True)) == [
        (1, 2, 7),
        (1, 2, 8),
    ]
    assert change.went.count == 0
    assert join.rows().count == 2
    assert join.arrange(("d",))
    inputs[1].buffer.step(1, 2, 3)
    came, went = join.row_changes(3)
    assert (len(came), went.tolist()) == (0, [[7]])
    assert not join.arrange(("unknown",))


def test_more_results_than_there_is_room_for_at_first():
    inputs = [leaf_input(LEFT), leaf_input(("b", "d"))]
    join = PairJoinOp(inputs, WANTED)
    join.row_changes(1)
    receive(inputs[0].buffer, 0, [(number, 1) for number in range(1, 3_001)])
    inputs[0].buffer.step(0, 3_000, 2)
    join.row_changes(2)
    receive(inputs[1].buffer, 0, [(1, 5)])
    inputs[1].buffer.step(0, 1, 3)
    came, _ = join.row_changes(3)
    assert len(came) == 3_000
    inputs[1].buffer.step(1, 1, 4)
    came, went = join.row_changes(4)
    assert (len(came), len(went)) == (0, 3_000)
    assert len(join.row_values()) == 0


def test_what_may_be_unbound_on_a_side_is_no_pair():
    sure, unsure = leaf_input(LEFT), leaf_input(("b", "d"))
    assert is_pair([sure, unsure])
    assert not is_pair([sure, Input(unsure.buffer, unsure.names, frozenset({"d"}), expires=True)])
    assert not is_pair([sure])
