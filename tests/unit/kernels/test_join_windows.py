"""The kernels of windowed joins against algorithm 1 and every pair by the book, whatever the batches."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

import naive_joins
from freshet.kernels.join_windows import NEVER, NOTHING, KeyWindows, Sizing, adaptive_pairs, fixed_pairs
from freshet.rml.windows import JoinWindow, WindowKind
from naive_joins import Found, Record, cut, random_records

SMALL = {
    WindowKind.TUMBLING: JoinWindow(WindowKind.TUMBLING, size=40),
    WindowKind.SLIDING: JoinWindow(WindowKind.SLIDING, size=25),
    WindowKind.DYNAMIC: JoinWindow(WindowKind.DYNAMIC, size=16, lower=3, upper=60, list_size=2, idle_ms=150),
    WindowKind.DYNAMIC_COUNT: JoinWindow(WindowKind.DYNAMIC_COUNT, size=4, lower=2, upper=16, list_size=2, idle_ms=90),
}


def through_kernels(batches: list[list[Record]], window: JoinWindow, lateness: int) -> tuple[Found, list[Record]]:
    """What the kernels find in these batches, and what waits in the end."""
    numbers: dict[str, int] = {}
    for batch in batches:
        for record in batch:
            numbers.setdefault(record.key, len(numbers))
    count = len(numbers)
    windows = KeyWindows(
        np.zeros(count, np.int64),
        np.full(count, window.size, np.int64),
        np.full((count, 2), float(window.list_size)),
        np.full(count, NEVER, np.int64),
        np.full(count, NOTHING, np.int64),
    )
    by_count = window.kind is WindowKind.DYNAMIC_COUNT
    sizing = Sizing(
        by_count,
        True,
        window.size,
        window.lower,
        window.upper,
        window.shrink_above,
        window.grow_below,
        float(window.list_size),
        window.idle_ms,
    )
    pairs: Counter[tuple[str, str]] = Counter()
    waiting: list[Record] = []
    watermark, late = int(NEVER), 0
    for batch in batches:
        rows = waiting + batch
        keys = np.array([numbers[row.key] for row in rows], np.int64)
        times = np.array([row.time for row in rows], np.int64)
        sides = np.array([row.side for row in rows], np.int64)
        held, newest = len(waiting), max(row.time for row in batch)
        if window.kind in (WindowKind.TUMBLING, WindowKind.SLIDING):
            tumbling = window.kind is WindowKind.TUMBLING
            found = fixed_pairs(keys, times, sides, held, count, window.size, tumbling, watermark, lateness, newest)
        else:
            found, _ = adaptive_pairs(keys, times, sides, held, windows, sizing, watermark, lateness, newest)
        both = zip(found.children.tolist(), found.parents.tolist(), strict=True)
        pairs += Counter((rows[child].name, rows[parent].name) for child, parent in both)
        waiting = [row for row, waits in zip(rows, found.waiting.tolist(), strict=True) if waits]
        watermark, late = int(found.watermark), late + int(found.late)
    return Found(pairs, late), waiting


@pytest.mark.parametrize("lateness", [0, 30])
@pytest.mark.parametrize("kind", SMALL)
def test_any_batches_give_what_the_twin_finds(kind: WindowKind, lateness: int) -> None:
    window = SMALL[kind]
    seen = 0
    for seed in range(120):
        random = Random(seed)
        records = random_records(random, disorder=random.choice([0, 20, 60]))
        expected = naive_joins.naive(records, window, lateness)
        found, _ = through_kernels(cut(random, records), window, lateness)
        assert found == expected
        seen += expected.pairs.total()
    assert seen > 1_000


@pytest.mark.parametrize("kind", [WindowKind.DYNAMIC, WindowKind.DYNAMIC_COUNT])
def test_what_waits_is_what_the_twin_holds(kind: WindowKind) -> None:
    window = SMALL[kind]
    for seed in range(60):
        random = Random(seed)
        records = random_records(random, disorder=20)
        if not records:
            continue
        twin = naive_joins.Algorithm1(window, 30)
        for record in records:
            twin.arrive(record)
        twin.advance(max(record.time for record in records))
        held = [record for subwindow in twin.subwindows.values() for side in subwindow.lists for record in side]
        _, waiting = through_kernels(cut(random, records), window, 30)
        assert sorted(waiting) == sorted(held)


def test_algorithm_1_worked_by_hand() -> None:
    windows = KeyWindows(
        np.zeros(1, np.int64),
        np.full(1, 400, np.int64),
        np.full((1, 2), 8.0),
        np.full(1, NEVER, np.int64),
        np.full(1, NOTHING, np.int64),
    )
    sizing = Sizing(False, True, 400, 100, 300, 1.2, 0.8, 8.0, 1_000_000)
    watermark, clock = int(NEVER), 0
    steps = [
        (10, 6, 200, 14, 10),  # 10/8 + 6/8 = 2 is too much: halved; lists 8 * (10/8 + 0.5) and 8 * (6/8 + 0.5)
        (10, 6, 100, 17, 11),  # 10/14 + 6/10 = 1.31
        (10, 6, 100, 17, 11),  # 10/17 + 6/11 = 1.13 is between the thresholds: nothing changes
        (20, 6, 100, 28.5, 11.5),  # 20/17 + 6/11 = 1.72, but the size is at the lower limit
        (1, 0, 200, 15.25, 5.75),  # 1/28.5 = 0.04 is too little: doubled
        (0, 1, 300, 7.625, 3.875),  # the upper limit
    ]
    for children, parents, size, child_limit, parent_limit in steps:
        count = children + parents
        sides = np.repeat(np.array((0, 1), np.int64), (children, parents))
        keys, times = np.zeros(count, np.int64), np.full(count, clock, np.int64)
        found, ended = adaptive_pairs(keys, times, sides, 0, windows, sizing, watermark, 0, clock + 5_000)
        assert (len(found.children), ended.keys.tolist()) == (children * parents, [0])
        assert (ended.children.tolist(), ended.parents.tolist()) == ([children], [parents])
        assert windows.sizes.tolist() == [size]
        assert windows.limits.tolist() == [[child_limit, parent_limit]]
        watermark, clock = int(found.watermark), clock + 10_000


def test_a_record_ahead_enters_what_is_open_and_opens_nothing() -> None:
    """Both sides are known up to 10: of the children at 30 and 70, one falls into the subwindow from 0 to 50."""
    windows = KeyWindows(
        np.zeros(2, np.int64),
        np.full(2, 50, np.int64),
        np.full((2, 2), 8.0),
        np.full(2, NEVER, np.int64),
        np.full(2, NOTHING, np.int64),
    )
    sizing = Sizing(False, True, 50, 50, 50, 1.2, 0.8, 8.0, 1_000_000)
    keys, times = np.array((0, 0, 0, 1), np.int64), np.array((0, 30, 70, 70), np.int64)
    sides = np.array((1, 0, 0, 0), np.int64)
    found, ended = adaptive_pairs(keys, times, sides, 0, windows, sizing, int(NEVER), 0, 10)
    assert (found.children.tolist(), found.parents.tolist()) == ([1], [0])
    assert (found.waiting.tolist(), found.ahead.tolist()) == ([True] * 4, [False, False, True, True])
    assert (int(found.watermark), int(found.late), len(ended.keys)) == (10, 0, 0)
    assert windows.opened[0] == 0
