import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.dictionary import (
    HELD,
    DictionaryArrays,
    fill_filter,
    find_slot,
    mark,
    move_slots,
    narrow,
    next_id,
)
from freshet.rdf.arrow import read_only

positive = st.integers(1, 2**63 - 1)


@settings(deadline=None)
@given(positive)
def test_the_next_id_to_try_is_another_one(term_id: int) -> None:
    following = int(next_id(np.int64(term_id)))
    assert 0 < following < 2**63
    assert following != term_id


def test_the_sequence_of_ids_to_try_does_not_return_soon() -> None:
    seen = set()
    term_id = np.int64(1)
    for _ in range(5000):
        seen.add(int(term_id))
        term_id = np.int64(next_id(term_id))
    assert len(seen) == 5000


@settings(deadline=None)
@given(st.sets(positive, max_size=16), positive)
def test_slots_are_found_before_and_after_moving(ids: set[int], absent: int) -> None:
    slots = np.zeros(64, np.int64)
    for record, term_id in enumerate(ids):
        at = find_slot(slots, np.int64(term_id))
        slots[at : at + 2] = term_id, record
    larger = np.zeros(128, np.int64)
    move_slots(slots, larger)
    for table in (slots, larger):
        for record, term_id in enumerate(ids):
            at = find_slot(table, np.int64(term_id))
            assert table[at : at + 2].tolist() == [term_id, record]
        assert table[find_slot(table, np.int64(absent))] == (absent if absent in ids else 0)


@settings(deadline=None)
@given(positive, st.integers(1, 63))
def test_narrow_hashes(term_id: int, bits: int) -> None:
    assert narrow(np.int64(term_id), np.int64(2**bits - 1)) == (term_id % 2**bits or 1)


@settings(max_examples=50, deadline=None)
@given(st.sets(st.integers(0, 500), max_size=100), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=200))
def test_ids_are_marked_among_all_numbers(places: set[int], others: list[int]) -> None:
    """All keys ask for the id 1, so their ids are some of those that are tried after it."""
    tried = [np.int64(1)]
    while len(tried) <= 500:
        tried.append(np.int64(next_id(tried[-1])))
    ids = {int(tried[place]) for place in places}
    arrays = DictionaryArrays(np.zeros(512, np.int64), np.zeros(8, np.uint8), np.zeros(2, np.int64))
    for term_id in ids:
        arrays.slots[find_slot(arrays.slots, term_id)] = term_id
    held = sorted(ids)[::2]
    numbers, bits = np.array([*others, *held, *held, 0], np.int64), np.zeros(32, np.uint64)
    fill_filter(arrays.slots, bits)
    for some in (bits, np.full(1, 2**64 - 1, np.uint64)):
        keep = np.zeros(256, np.uint8)
        mark(arrays, read_only(numbers), np.int64(0), keep, 1, some)
        marked = set(arrays.slots[2 * np.flatnonzero(keep == HELD)].tolist())
        assert marked == ids.intersection(numbers.tolist())
