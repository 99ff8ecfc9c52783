"""Batches of several streams come while others read: a snapshot has whole batches, the first ones of each stream."""

from __future__ import annotations

import threading
import time
from random import Random

import numpy as np
import pytest

from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.rdf.triples import ANY, DEFAULT_GRAPH
from freshet.store.dataset import DatasetSnapshot, StoredDataset
from freshet.store.snapshots import SnapshotPlan
from waiting import wait_until

STREAMS = ("a", "b", "c")
ROWS = 300  # of a batch
BATCHES = 60  # of each stream


def batch_of(stream: int, number: int) -> Elements:
    """Every triple says which batch of which stream it is of; subjects are shared, so that chains are long."""
    row = np.arange(ROWS, dtype=np.int64)
    subjects = 1 + row % 20
    objects = 10_000_000 * (stream + 1) + 1_000 * number + row
    return Elements(np.full(ROWS, number, np.int64), subjects, np.full(ROWS, 7 + stream, np.int64), objects)


def check_prefix(snapshot: DatasetSnapshot) -> None:
    """Each stream's triples are those of its first batches, as the vector timestamp says."""
    graph = snapshot.graph(DEFAULT_GRAPH)
    for at, stream in enumerate(STREAMS):
        last = snapshot.vector_timestamp.get(stream, 0)
        expected = np.concatenate([np.empty(0, np.int64), *(batch_of(at, n).objects for n in range(1, last + 1))])
        assert np.array_equal(np.sort(graph.match(ANY, 7 + at, ANY).objects), np.sort(expected))
        numbers, found = graph.probe(np.arange(1, 21), 7 + at, ANY)
        assert (found.subjects == numbers + 1).all()
        assert np.array_equal(np.sort(found.objects), np.sort(expected))
    assert len(graph) == 1 + ROWS * sum(snapshot.vector_timestamp.values())


def test_readers_see_whole_batches_while_they_come() -> None:
    stored = StoredDataset()
    stored.load(np.array([1]), np.array([2]), np.array([3]))
    failures: list[BaseException] = []
    taken: list[DatasetSnapshot] = []
    done = threading.Event()

    def absorb(stream: int) -> None:
        for number in range(1, BATCHES + 1):
            stored.absorb(batch_of(stream, number), STREAMS[stream])
            if number == BATCHES // 2:  # by now a reader has read what has come, or will
                wait_until(lambda: len({snapshot.number for snapshot in taken[:]}) > 1 or failures)
            if number % 20 == 0:
                stored.load(np.array([1]), np.array([2]), np.array([3]), graph=100 * stream + number)

    def read() -> None:
        try:
            while not done.is_set():
                snapshot = stored.snapshot()
                taken.append(snapshot)
                check_prefix(snapshot)
        except BaseException as error:
            failures.append(error)

    check_prefix(stored.snapshot())  # compiled before threads begin
    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=absorb, args=(stream,)) for stream in range(len(STREAMS))]
    for thread in readers:
        thread.start()
    wait_until(lambda: taken or failures)  # else all writers may wait for a second snapshot when the first is taken
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert not failures, failures[0]
    assert stored.vector_timestamp() == dict.fromkeys(STREAMS, BATCHES)
    check_prefix(stored.snapshot())
    for snapshot in taken[:: max(1, len(taken) // 20)]:  # as they were, though everything came since
        check_prefix(snapshot)
    numbers = [snapshot.number for snapshot in taken]
    assert len(set(numbers)) > 1, "nothing was read while batches came"


def test_nobody_waits_for_who_changes_the_store() -> None:
    stored = StoredDataset()
    stored.load(np.array([1]), np.array([2]), np.array([3]))
    assert stored.snapshot().graph(DEFAULT_GRAPH).count(1, 2, ANY) == 1
    inside, leave = threading.Event(), threading.Event()

    def change() -> None:
        with stored.changing:
            stored.absorb(batch_of(0, 1), "a")
            inside.set()
            leave.wait(300)

    thread = threading.Thread(target=change)
    thread.start()
    assert inside.wait(300)
    began = time.monotonic()
    snapshot = stored.snapshot()
    assert len(snapshot.graph(DEFAULT_GRAPH)) == 1, "what belongs together is not visible before its end"
    assert snapshot.vector_timestamp == {}
    assert time.monotonic() - began < 100
    leave.set()
    thread.join()
    assert stored.vector_timestamp() == {"a": 1}
    assert len(stored.snapshot().graph(DEFAULT_GRAPH)) == 1 + ROWS


def test_a_plan_numbers_snapshots() -> None:
    plan = SnapshotPlan()
    first = plan.begin("a")
    assert (first.number, first.snapshot) == (1, 1)
    assert plan.stable() == {}
    assert plan.planned() == {0: {}, 1: {"a": 1}}
    plan.end(first)
    assert plan.stable() == {"a": 1}
    for stream in ("b", "a"):  # a stream that comes while others run
        batch = plan.begin(stream)
        plan.end(batch)
    assert plan.stable() == {"a": 2, "b": 1}
    plan.advance()
    assert plan.stable_number == 4
    assert plan.planned() == {3: {"a": 2, "b": 1}, 4: {"a": 2, "b": 1}}


def test_settings_that_cannot_be() -> None:
    with pytest.raises(InputError, match="at least 3"):
        StoredDataset(most_snapshots=2)


def test_snapshots_that_are_alive() -> None:
    stored = StoredDataset()
    held = [stored.snapshot()]
    for number in range(1, 6):
        stored.absorb(batch_of(0, number), "a")
        if number == 2:
            held.append(stored.snapshot())
    assert stored.alive() == {0, 2, 4, 5}
    with held[0] as oldest:
        assert len(oldest.graph(DEFAULT_GRAPH)) == 0
    assert stored.alive() == {2, 4, 5}  # who has let go of one reads it no more
    held.clear()
    assert stored.alive() == {4, 5}


def test_more_readers_than_snapshots_share_the_newest_that_is_read() -> None:
    stored = StoredDataset(most_snapshots=5)
    stored.load(np.array([1]), np.array([2]), np.array([3]))
    held = []
    for number in range(1, 9):
        stored.absorb(batch_of(0, number), "a")
        held.append(stored.snapshot())
        assert len(stored.alive()) <= 5
    assert [snapshot.number for snapshot in held] == [2, 3, 4, 4, 4, 4, 4, 4]
    for at in range(len(held)):
        check_prefix(held[at])
    held.pop()
    assert stored.snapshot().number == 4  # others hold it still
    held.pop(0)
    assert stored.snapshot().number == 9
    held.clear()
    assert stored.alive() == {8, 9}


def test_snapshots_stay_bounded_while_many_threads_read() -> None:
    """Readers at different paces hold theirs for a while; none waits, and what they see are whole batches."""
    stored = StoredDataset(most_snapshots=6)
    stored.load(np.array([1]), np.array([2]), np.array([3]))
    check_prefix(stored.snapshot())
    failures: list[BaseException] = []
    alive: list[int] = []
    done = threading.Event()

    def read(seed: int) -> None:
        dice = Random(seed)
        held: list[DatasetSnapshot] = []
        try:
            while not done.is_set():
                held.append(stored.snapshot())
                alive.append(len(stored.alive()))
                check_prefix(dice.choice(held))
                while len(held) > dice.randrange(1, 8):
                    with held.pop(dice.randrange(len(held))):
                        pass
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in readers:
        thread.start()
    wait_until(lambda: alive or failures)  # else all may be over before the first read
    for number in range(1, BATCHES + 1):
        stored.absorb(batch_of(number % 3, (number + 2) // 3), STREAMS[number % 3])
    done.set()
    for thread in readers:
        thread.join()
    assert not failures, failures[0]
    assert max(alive) <= 6
    assert stored.snapshot().number == max(stored.alive())


def test_counting_goes_on_after_a_checkpoint() -> None:
    stored = StoredDataset()
    stored.restore({"a": 41, "b": 3})
    stored.absorb(batch_of(0, 42), "a")
    assert stored.vector_timestamp() == {"a": 42, "b": 3}
