"""The newest elements of streams, compared with a list of all of them."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from freshet.native.memory.term_collector import reachable_ids
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.streams.element_log import ElementLog
from freshet.rdf.elements import Elements


def batch_of(numbers: list[int]) -> Elements:
    """Elements whose subject is their number, whose time is in disorder."""
    ids = np.array(numbers, np.int64)
    return Elements((ids * 7) % 50 + ids, ids, ids + 1, ids + 2)


@pytest.mark.parametrize("seed", range(30))
def test_the_newest_are_held_with_their_batch_and_row(seed: int) -> None:
    dice = Random(seed)
    most = dice.choice([1, 5, 300, 6000, 20_000])
    log = ElementLog(most)
    known: list[tuple[int, int, int, int, int]] = []  # place in the order, time, subject, batch, row
    begins = [0]
    for batch in range(1, dice.randint(2, 60)):
        count = dice.choice([0, 1, 1, 2, 9, 250, 3000, most + 3])
        elements = batch_of(list(range(len(known), len(known) + count)))
        rows = sorted(dice.sample(range(2 * count), count)) if dice.random() < 0.3 else None
        begins.append(log.begin())
        log.add("s", elements, None, None, None if rows is None else np.array(rows, np.int64))
        for at in range(count):
            row = at if rows is None else rows[at]
            known.append((begins[-1] + 1, int(elements.times[at]), int(elements.subjects[at]), batch, row))
        if dice.random() < 0.2:
            log.add("t", batch_of([1]))
        if dice.random() < 0.3:
            check(log, known, most, dice.choice(begins))
    check(log, known, most, 0)


def check(log: ElementLog, known: list[tuple[int, int, int, int, int]], most: int, begin: int) -> None:
    held = log.held("s", begin)
    wanted = sorted((each for each in known[-most:] if each[0] >= begin), key=lambda each: (each[1], each[0]))
    found = zip(held.times.tolist(), held.subjects.tolist(), held.batches.tolist(), held.rows.tolist(), strict=True)
    assert list(found) == [each[1:] for each in wanted]
    assert (held.predicates == held.subjects + 1).all()
    assert (held.objects == held.subjects + 2).all()
    gone = [each[1] for each in known[:-most] if each[0] >= begin]
    if not gone:
        assert held.gone_ms == BEFORE_ALL_TIME
    else:
        assert max(gone) <= held.gone_ms <= max(each[1] for each in known[:-most])


def test_ids_of_large_batches_are_held_without_a_copy() -> None:
    log, elements = ElementLog(50_000), batch_of(list(range(10_000)))
    log.add("s", elements)
    held = [column for column in reachable_ids(log) if len(column) == 10_000]
    assert any(np.shares_memory(elements.subjects, each) for each in held)
    assert not any(np.shares_memory(elements.times, each) for each in held)


def test_a_part_of_a_larger_array_is_copied_so_that_the_rest_is_not_held() -> None:
    log, elements = ElementLog(5000), batch_of(list(range(100_000)))
    log.add("s", Elements(*(column[:1000] for column in elements)))
    log.add("s", Elements(*(pa.array(column).slice(1000, 1000).to_numpy() for column in elements)))
    log.add("s", Elements(*(column[2000:2003] for column in elements)))
    for held in reachable_ids(log):
        assert not any(np.shares_memory(column, held) for column in elements)
    assert log.held("s", 0).subjects.tolist() == [*sorted(range(2003), key=lambda n: (elements.times[n], n))]


def test_batches_may_be_numbered_elsewhere_and_origins_go_with_their_elements() -> None:
    class Source:
        def record(self, batch: int, row: int) -> str:
            return f"{batch}/{row}"

    log = ElementLog(3)
    log.add("s", batch_of([1, 2]), 17, Source())
    log.add("s", batch_of([3]))
    held = log.held("s", 0)
    assert held.batches.tolist() == [17, 17, 18]
    assert held.origins[17].record(17, 1) == "17/1"
    log.add("s", batch_of([4, 5, 6]))
    assert log.held("s", 0).origins == {}


def test_nothing_is_held_of_what_is_unknown_or_where_nothing_is_to_be() -> None:
    log = ElementLog(0)
    log.add("s", batch_of([1]))
    assert len(log.held("s", 0).times) == 0
