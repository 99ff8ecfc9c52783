"""Windows of streams: absorbed rows through the stream index and timing data in slices, beside plain sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.window_rows import MOST_ROWS
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.rdf.triples import ANY
from freshet.store.dataset import StoredDataset
from freshet.store.slices import BufferFullError, TimeSlices, elements_within
from freshet.store.stream_index import StreamIndex
from freshet.store.window_reader import WindowReader
from naive_triples import (
    KINDS,
    PATTERNS,
    TRIPLES,
    Kinds,
    Pattern,
    Triple,
    columns_of,
    elements_of,
    naive_match,
    naive_probe,
    places_of,
    rows,
)

BATCHES = st.lists(st.tuples(st.sampled_from("abtc"), TRIPLES, st.lists(st.integers(0, 20), min_size=12)), max_size=8)


def read_window(stored: StoredDataset, stream: str, from_ms: int, to_ms: int) -> WindowReader:
    """A window that has closed."""
    if stream in stored._windows:
        stored.close_windows(stream, to_ms)
    return stored.snapshot().window_reader(stream, from_ms, to_ms)


@settings(deadline=None, max_examples=150)
@given(
    loaded=TRIPLES,
    batches=BATCHES,
    span=st.tuples(st.integers(0, 12), st.integers(1, 12)),
    freed=st.integers(0, 12),
    patterns=st.lists(PATTERNS, min_size=1, max_size=5),
    kinds=KINDS,
)
def test_windows(
    loaded: list[Triple],
    batches: list[tuple[str, list[Triple], list[int]]],
    span: tuple[int, int],
    freed: int,
    patterns: list[Pattern],
    kinds: Kinds,
) -> None:
    """Streams a and b are absorbed, t is timing data of the stream a; with c the store is compacted instead."""
    stored = StoredDataset()
    stored.load(*columns_of(loaded))
    stored.keep_windows("a")
    from_ms, to_ms = max(span[0], freed), max(span[0], freed) + span[1]
    expected: set[Triple] = set()
    for number, (stream, triples, times) in enumerate(batches):
        elements = Elements(np.array(times[: len(triples)], np.int64), *columns_of(triples))
        if stream == "t":
            stored.push_timing(elements, "a")
        elif stream == "c":
            stored.compact(times[0])
        else:
            stored.absorb(elements, stream)
        if stream in "at":
            expected |= {triple for triple, time in zip(triples, times, strict=False) if from_ms <= time < to_ms}
        if number == 4:
            stored.close_windows("a", freed, freed)
    check_window(read_window(stored, "a", from_ms, to_ms), expected, patterns, kinds)


def check_window(reader: WindowReader, expected: set[Triple], patterns: list[Pattern], kinds: Kinds) -> None:
    for pattern in patterns:
        found = naive_match(expected, pattern)
        assert rows(reader.match(*pattern)) == found
        assert reader.count(*pattern) == len(found)
        assert reader.distinct(pattern[1], 0) == len({s for s, _, _ in naive_match(expected, (ANY, pattern[1], ANY))})
    places = places_of(patterns, kinds)
    numbers, hits = reader.probe(*places)
    assert (np.diff(numbers) >= 0).all()
    wanted = naive_probe(expected, len(patterns), places)
    assert sorted(zip(numbers.tolist(), *(column.tolist() for column in hits), strict=True)) == wanted


def test_a_reader_goes_on_while_batches_come_and_go() -> None:
    stored = StoredDataset()
    stored.keep_windows("a")
    batches = [[(s, 7, 100 * number + s) for s in range(1, 900)] for number in range(30)]
    readers = []
    for number, triples in enumerate(batches):
        stored.absorb(elements_of(triples, 10 * number), "a")
        stored.close_windows("a", 10 * (number + 1), 10 * (number - 4))
        readers.append(read_window(stored, "a", 10 * (number - 2), 10 * (number + 1)))
    for number, reader in enumerate(readers):
        wanted = {triple for batch in batches[max(0, number - 2) : number + 1] for triple in batch}
        assert reader.count(ANY, 7, ANY) == len(wanted)
        assert rows(reader.match(5, 7, ANY)) == naive_match(wanted, (5, 7, ANY))
        assert rows(reader.match(ANY, ANY, 100 * number + 3)) == naive_match(wanted, (ANY, ANY, 100 * number + 3))
    assert len(stored._windows["a"].index) == 5
    sizes = stored.nbytes()
    assert stored._windows["a"].index.rows == 5 * 899
    assert 5 * 899 * 8 < sizes.stream_index < 5 * 899 * 9
    stored.close_windows("a", 10**6, 10**6)
    assert stored.nbytes().stream_index == 0


@pytest.mark.parametrize("in_order", [True, False])
def test_a_batch_of_more_rows_than_a_table_takes(in_order: bool) -> None:
    dice = np.random.default_rng(4)
    count = 2 * MOST_ROWS + 7
    times = dice.integers(100, 200, count)
    times = np.sort(times) if in_order else times
    subjects = dice.integers(1, 5_000, count)
    elements = Elements(times, subjects, np.full(count, 7), np.arange(10_000, 10_000 + count))
    stored = StoredDataset()
    stored.keep_windows("a")
    stored.absorb(elements, "a")
    assert len(stored._windows["a"].index) == 3
    for from_ms, to_ms in ((100, 200), (0, 120), (137, 138), (150, 999), (200, 300)):
        inside = (times >= from_ms) & (times < to_ms)
        reader = read_window(stored, "a", from_ms, to_ms)
        assert np.array_equal(np.sort(reader.match(ANY, 7, ANY).objects), elements.objects[inside])
        for subject in (1, 77, 4_999, 5_000):
            wanted = elements.objects[inside & (subjects == subject)]
            assert np.array_equal(np.sort(reader.match(subject, 7, ANY).objects), wanted)
        some = elements.objects[::9_973]
        numbers, _ = reader.probe(ANY, 7, some)
        assert np.array_equal(numbers, np.flatnonzero(inside[::9_973]))


@pytest.mark.parametrize("apart_ms", [1, 1_000, 100_000, 10**10])
def test_triples_that_come_again_are_kept_once_for_each_time(apart_ms: int) -> None:
    stored = StoredDataset()
    stored.load(np.array([9]), np.array([7]), np.array([9]))
    stored.absorb(elements_of([(1, 7, 2), (1, 7, 3)], 0), "b")
    stored.keep_windows("a")
    triples = [(1, 7, 2), (9, 7, 9), (5, 7, 5)]
    elements = Elements(np.repeat(np.arange(4) * apart_ms, 30), *columns_of(triples * 40))
    stored.absorb(elements, "a")
    index = stored._windows["a"].index
    (again,) = index.indexed.repeated
    assert index.rows == 1
    assert again.appended.size == 4 + 3  # of the stream b at four times, of the batch itself at three others
    for at in range(4):
        reader = read_window(stored, "a", at * apart_ms, at * apart_ms + 1)
        assert rows(reader.match(ANY, ANY, ANY)) == sorted(triples)
    assert rows(read_window(stored, "a", 3 * apart_ms + 1, 5 * apart_ms + 1).match(ANY, ANY, ANY)) == []


def test_a_batch_is_not_in_a_window_before_it_is_readable() -> None:
    stored = StoredDataset()
    stored.keep_windows("a")
    stored.absorb(elements_of([(1, 7, 2)], 5), "a")
    with stored.changing:
        stored.absorb(elements_of([(1, 7, 2), (1, 7, 3)], 6), "a")
        stored.close_windows("a", 9)
        before = stored.snapshot()
        assert rows(before.window_reader("a", 5, 9).match(ANY, ANY, ANY)) == [(1, 7, 2)]
        assert rows(before.window_reader("a", 6, 9).match(ANY, ANY, ANY)) == []
    assert rows(read_window(stored, "a", 6, 9).match(ANY, ANY, ANY)) == [(1, 7, 2), (1, 7, 3)]


def test_full_slices_refuse_a_batch_and_count_it() -> None:
    needed = [0]
    slices = TimeSlices(budget_bytes=100, needed_from=lambda: needed[0])
    slices.push(elements_of([(1, 2, 3), (4, 5, 6)], 10))
    assert slices.nbytes == 64
    with pytest.raises(BufferFullError, match="a batch of 64 bytes does not fit: the slices have 64 of 100 bytes"):
        slices.push(elements_of([(1, 2, 3), (4, 5, 7)], 11))
    assert (slices.refused, slices.nbytes, len(slices)) == (1, 64, 1)
    assert elements_within(slices.slices, 0, 20).objects.tolist() == [3, 6]
    needed[0] = 11
    slices.push(elements_of([(1, 2, 3), (4, 5, 7)], 11))
    assert elements_within(slices.slices, 0, 20).objects.tolist() == [3, 7]
    assert slices.free_before(12) == 64
    assert len(slices) == 0
    slices.push(elements_of([], 12))
    assert elements_within(slices.slices, 0, 20).objects.tolist() == []


def test_windows_that_nobody_asked_for_are_not_kept() -> None:
    stored = StoredDataset()
    stored.absorb(elements_of([(1, 7, 2)], 5), "a")
    with pytest.raises(InputError, match="no windows are kept of the stream <a>"):
        read_window(stored, "a", 0, 10)
    stored.keep_windows("a", budget_bytes=10)
    with pytest.raises(BufferFullError):
        stored.push_timing(elements_of([(1, 7, 2)], 5), "a")
    assert stored.timing_refused("a") == 1
    assert len(StreamIndex()) == 0


def test_times_that_are_far_apart() -> None:
    """A time beside which a run has no bits left for its row: such a batch is indexed in parts."""
    stored, far = StoredDataset(), 1 << 48
    stored.keep_windows("a")
    times = np.array([0, far, 10, far + 1, 11], np.int64)
    ids = np.arange(1, 6)
    stored.absorb(Elements(times, ids + 100, np.full(5, 50), ids + 200), "a")
    for from_ms, to_ms in ((0, 11), (11, far), (far, far + 1), (0, far + 2)):
        found = read_window(stored, "a", from_ms, to_ms).match(ANY, ANY, ANY).subjects
        assert set(found.tolist()) == set((ids + 100)[(times >= from_ms) & (times < to_ms)].tolist())
