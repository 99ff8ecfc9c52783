"""`freshet bench index`: the kernels of the ring index and the one-way index alone, beside Python dicts.

No query reaches these rates, which is why all names begin with `kernel_`.

The window is a circular buffer of rows, whose keys are drawn at random. A batch of new rows enters and as many of the
oldest leave; a row that has done both is an insert with expiry. Where there are as many keys as rows, the window that
is probed has each key once. Times are those that the processor worked, the best of several rounds, each with other
keys, as the same again would be in the cache. The baseline does the same, row by row, with a dict of deques (for the
one-way index: of counters); its window has a million rows at most, as more would say nothing new.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from freshet.native.buffers.one_way_index import Ids, OneWayIndex
from freshet.native.buffers.ring_index import Lives, RingIndex
from freshet.rdf.errors import FreshetError
from freshet_benchmarks.figures import Baseline, Figure

WINDOWS = (10_000, 100_000, 1_000_000, 10_000_000)
KEYS = (1_000, 10_000, 100_000, 1_000_000)
BATCH = 5_000
ROUNDS = 5
ROUND_ROWS = 300_000
ROUND_MATCHES = 1_000_000
PLAIN_ROWS = 1_000_000
PLAIN_OPERATIONS = 100_000
PLAIN = "Python dict"


class Rates(NamedTuple):
    """Inserts with expiry a second, and seconds for a match of a probe."""

    inserts: float
    match: float


class Arrivals:
    """Keys as they arrive: any of a number of keys, or each of them once."""

    def __init__(self, keys: int, *, once: bool = False) -> None:
        self._random = np.random.default_rng(1)
        self.keys = self._random.integers(1, 2**62, keys)
        self._once = self._random.permutation(keys) if once else np.empty(0, np.int64)

    def take(self, count: int) -> Ids:
        """The numbers of the next keys."""
        first, self._once = self._once[:count], self._once[count:]
        return np.concatenate((first, self.any(count - len(first))))

    def any(self, count: int) -> Ids:
        """The numbers of some keys."""
        return self._random.integers(0, len(self.keys), count)


class SlidingRing:
    """A full window of rows in a circular buffer, with a ring index on their key."""

    def __init__(self, window: int, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._numbers = np.full(window + BATCH, -1, np.int64)  # of the rows' keys
        self._rows = np.arange(window + BATCH, dtype=np.int32)
        self._values = np.zeros((window + BATCH, 1), np.int64)
        self._lives = Lives(np.empty(0, np.int64), np.empty(0, np.int64), True)
        self._head = 0
        self._index = RingIndex((0,))
        for _ in range(window // BATCH):
            numbers = arrivals.take(BATCH)
            self._enter(arrivals.keys[numbers])
            self._note(numbers)

    def slide(self, rows: int) -> float:
        """The seconds that a number of rows take to enter, and as many to leave."""
        seconds = 0.0
        for _ in range(0, rows, BATCH):
            numbers = self._arrivals.take(BATCH)
            keys = self._arrivals.keys[numbers]
            oldest = (self._head + BATCH) % len(self._rows)
            began = time.process_time()
            self._enter(keys)
            self._index.unlink(self._rows[oldest : oldest + BATCH])
            seconds += time.process_time() - began
            self._note(numbers)
        return seconds

    def probe(self, probes: int) -> tuple[float, int]:
        """The seconds that a number of probes take, and how many rows they find."""
        numbers = self._arrivals.any(probes)
        keys = self._arrivals.keys[numbers].reshape(-1, 1)
        found = 0
        began = time.process_time()
        for first in range(0, probes, BATCH):
            found += len(self._index.probe(keys[first : first + BATCH], self._numbers[:BATCH], 0, self._lives)[1])
        seconds = time.process_time() - began
        self._check(numbers, found)
        return seconds, found

    def _enter(self, keys: Ids) -> None:
        self._values[self._head : self._head + BATCH, 0] = keys
        self._index.link(self._rows[self._head : self._head + BATCH], self._values)

    def _note(self, numbers: Ids) -> None:
        """Keep in mind what came, and that what stands next in the circle is not there."""
        self._numbers[self._head : self._head + BATCH] = numbers
        self._head = (self._head + BATCH) % len(self._rows)
        self._numbers[self._head : self._head + BATCH] = -1

    def _check(self, probed: Ids, found: int) -> None:
        there = np.bincount(self._numbers[self._numbers >= 0], minlength=len(self._arrivals.keys))
        if found != there[probed].sum():
            raise FreshetError(f"the ring index finds {found} rows, where {there[probed].sum()} have the keys")


def index_figures(windows: Sequence[int] = WINDOWS, keys: Sequence[int] = KEYS) -> Sequence[Figure]:
    """Run the benchmark."""
    _ring(2 * BATCH, BATCH)  # compiles what is not compiled yet
    _one_way(2 * BATCH, BATCH)
    plain: dict[tuple[int, int], tuple[Rates, float]] = {}
    figures = []
    for window in windows:
        for count in keys:
            if count <= window:
                small = min(window, PLAIN_ROWS), count
                plain[small] = plain.get(small) or (_plain_ring(*small), _plain_one_way(*small))
                figures += _figures(window, count, *plain[small])
    return figures


def _figures(window: int, keys: int, plain: Rates, plain_one_way: float) -> list[Figure]:
    rates = _ring(window, keys)
    case = f"{_short(window)}_rows_{_short(keys)}_keys"
    match = "ns_per_probe_with_one_match" if window == keys else "ns_per_match"
    return [
        Figure(f"kernel_ring_inserts_{case}", rates.inserts, "rows/s", Baseline(f"{PLAIN} of deques", plain.inserts)),
        Figure(
            f"kernel_ring_{match}_{case}", 1e9 * rates.match, "ns", Baseline(f"{PLAIN} of deques", 1e9 * plain.match)
        ),
        Figure(
            f"kernel_one_way_inserts_{case}",
            _one_way(window, keys),
            "rows/s",
            Baseline(f"{PLAIN} of counters", plain_one_way),
        ),
    ]


def _ring(window: int, keys: int) -> Rates:
    ring = SlidingRing(window, Arrivals(keys))
    ring.slide(ROUND_ROWS)  # brings the index to the size that it keeps
    inserts = _best(lambda: (ring.slide(ROUND_ROWS), ROUND_ROWS))
    if window == keys:
        ring = SlidingRing(window, Arrivals(keys, once=True))
    probes = max(1, min(ROUND_ROWS, ROUND_MATCHES * keys // window))
    return Rates(1 / inserts, _best(partial(ring.probe, probes)))


def _one_way(window: int, keys: int) -> float:
    """Inserts with expiry a second."""
    arrivals, index = Arrivals(keys), OneWayIndex(1)
    inside = deque(index.add(arrivals.keys[arrivals.take(BATCH)].reshape(-1, 1))[0] for _ in range(window // BATCH))

    def slide() -> tuple[float, int]:
        added = arrivals.keys[arrivals.take(ROUND_ROWS)].reshape(-1, 1)
        began = time.process_time()
        for first in range(0, ROUND_ROWS, BATCH):
            inside.append(index.add(added[first : first + BATCH])[0])
            index.release(inside.popleft())
        return time.process_time() - began, ROUND_ROWS

    slide()
    return 1 / _best(slide)


def _best(round_: Callable[[], tuple[float, int]]) -> float:
    """The seconds for one operation in the best round."""
    return min(seconds / max(operations, 1) for seconds, operations in (round_() for _ in range(ROUNDS)))


def _plain_ring(window: int, keys: int) -> Rates:
    arrivals = Arrivals(keys)
    order: deque[int] = deque(arrivals.keys[arrivals.take(window)].tolist())
    rings: dict[int, deque[int]] = {}
    gc.disable()  # a million deques are nothing that it could collect
    for row, key in enumerate(order):
        rings.setdefault(key, deque()).append(row)
    added = arrivals.keys[arrivals.take(PLAIN_OPERATIONS)].tolist()
    began = time.process_time()
    for row, key in enumerate(added, window):
        rings.setdefault(key, deque()).append(row)
        order.append(key)
        oldest = order.popleft()
        ring = rings[oldest]
        ring.popleft()
        if not ring:
            del rings[oldest]
    inserted = time.process_time() - began
    if window == keys:
        rings = {key: deque([row]) for row, key in enumerate(Arrivals(keys, once=True).keys.tolist())}
    probed = arrivals.keys[arrivals.any(max(1, min(PLAIN_OPERATIONS, ROUND_MATCHES * keys // window)))].tolist()
    began = time.process_time()
    found = [(at, row) for at, key in enumerate(probed) for row in rings.get(key, ())]
    seconds = time.process_time() - began
    gc.enable()
    return Rates(PLAIN_OPERATIONS / inserted, seconds / max(len(found), 1))


def _plain_one_way(window: int, keys: int) -> float:
    arrivals = Arrivals(keys)
    order: deque[int] = deque(arrivals.keys[arrivals.take(window)].tolist())
    counts: dict[int, int] = {}
    for key in order:
        counts[key] = counts.get(key, 0) + 1
    added = arrivals.keys[arrivals.take(PLAIN_OPERATIONS)].tolist()
    began = time.process_time()
    for key in added:
        counts[key] = counts.get(key, 0) + 1
        order.append(key)
        oldest = order.popleft()
        counts[oldest] -= 1
        if not counts[oldest]:
            del counts[oldest]
    return PLAIN_OPERATIONS / (time.process_time() - began)


def _short(number: int) -> str:
    """A number of rows in a name: 10k, 1m."""
    return f"{number // 1_000_000}m" if number % 1_000_000 == 0 else f"{number // 1000}k"
