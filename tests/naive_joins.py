"""Windowed joins by the book, one record at a time, in plain Python: the twin of kernels and state.

Records are (key, time, side, name) in the order in which they arrive; pairs are (name of child, name of parent).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from freshet.rml.windows import JoinWindow, WindowKind

CHILD, PARENT = 0, 1


class Record(NamedTuple):
    key: str
    time: int
    side: int
    name: str


class Found(NamedTuple):
    pairs: Counter[tuple[str, str]]
    late: int


def punctual(records: Iterable[Record], lateness: int) -> list[Record]:
    """Those that are not behind the watermark when they come."""
    watermark, kept = None, []
    for record in records:
        if watermark is None or record.time >= watermark:
            kept.append(record)
            watermark = max(record.time - lateness, watermark if watermark is not None else record.time - lateness)
    return kept


def reached_after(batches: Sequence[Sequence[Record]], window: JoinWindow, lateness: int) -> list[int | None]:
    """The time up to which both sides are known after each batch: the smaller of their largest times, where a side that
    has brought nothing in time while the largest time of all grew by more than the limit is not asked."""
    reached: list[int | None] = []
    newest: dict[int, int] = {}
    heard: dict[int, int] = {}
    now: int | None = None
    for batch in batches:
        for record in batch:
            newest[record.side] = max(record.time, newest.get(record.side, record.time))
        front = max(newest.values())
        for side in (CHILD, PARENT):
            in_time = [each for each in batch if each.side == side and (now is None or each.time >= now - lateness)]
            if in_time or side not in heard:
                heard[side] = front
        asked = [side for side in (CHILD, PARENT) if front <= heard[side] + window.silent_limit_ms]
        if all(side in newest for side in asked):
            known = min(newest[side] for side in asked)
            now = known if now is None else max(now, known)
        reached.append(now)
    return reached


def in_batches(batches: Sequence[Sequence[Record]], window: JoinWindow, lateness: int) -> Found:
    """What a window finds in batches, the records of each in the order of their times."""
    kept: list[Record] = []
    twin = Algorithm1(window, lateness)
    late = 0
    before: int | None = None
    for batch, reached in zip(batches, reached_after(batches, window, lateness), strict=True):
        punctual_ones = [each for each in batch if before is None or each.time >= before - lateness]
        late += len(batch) - len(punctual_ones)
        kept += punctual_ones
        twin.take(punctual_ones, reached)
        before = reached
    if window.kind in (WindowKind.DYNAMIC, WindowKind.DYNAMIC_COUNT):
        return Found(twin.pairs, late)
    return Found(every_pair(kept, window), late)


def brute_force(records: Sequence[Record], window: JoinWindow, lateness: int) -> Found:
    """Every child beside every parent."""
    kept = punctual(records, lateness)
    return Found(every_pair(kept, window), len(records) - len(kept))


def every_pair(kept: Sequence[Record], window: JoinWindow) -> Counter[tuple[str, str]]:
    """Every child beside every parent, whenever they come."""
    return Counter(
        (child.name, parent.name)
        for child in kept
        for parent in kept
        if (child.side, parent.side) == (CHILD, PARENT) and child.key == parent.key
        if _meet(child.time, parent.time, window)
    )


def _meet(one: int, other: int, window: JoinWindow) -> bool:
    if window.kind is WindowKind.TUMBLING:
        return one // window.size == other // window.size
    return abs(one - other) <= (window.upper if window.kind is WindowKind.LOSSLESS else window.size)


@dataclass
class Subwindow:
    """The subwindow of a key: records of each side, and what it has learned."""

    size: int
    limits: list[float]
    opened: int = 0
    newest: int = 0
    lists: tuple[list[Record], list[Record]] = field(default_factory=lambda: ([], []))

    @property
    def count(self) -> int:
        return len(self.lists[CHILD]) + len(self.lists[PARENT])


class Algorithm1:
    """Every subwindow is looked at after every arrival, as if the clock had struck."""

    def __init__(self, window: JoinWindow, lateness: int) -> None:
        self._window = window
        self._lateness = lateness
        self._watermark: int | None = None
        self.subwindows: dict[str, Subwindow] = {}
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.late = 0
        self.ahead: list[Record] = []

    def arrive(self, record: Record) -> None:
        if self._watermark is not None and record.time < self._watermark:
            self.late += 1
            return
        self.advance(record.time)
        self._enter(record)

    def take(self, batch: Sequence[Record], reached: int | None) -> None:
        """A batch, of which what is beyond `reached` only enters what is open; the rest of it comes again."""
        coming = sorted([*self.ahead, *batch], key=lambda each: (each.time, each.side, int(each.name[1:])))
        self.ahead = []
        for record in coming:
            if reached is not None and record.time <= reached:
                self.arrive(record)
                continue
            if reached is not None:
                self.advance(reached)
            subwindow = self.subwindows.get(record.key)
            if subwindow and subwindow.count and record.time - self._lateness < self._end(subwindow):
                self._enter(record)
            else:
                self.ahead.append(record)
        if reached is not None:
            self.advance(reached)

    def _end(self, subwindow: Subwindow) -> int:
        by_count = self._window.kind is WindowKind.DYNAMIC_COUNT
        return subwindow.opened + (self._window.idle_ms if by_count else subwindow.size)

    def _enter(self, record: Record) -> None:
        window = self._window
        fresh = Subwindow(window.size, [window.list_size, window.list_size])
        subwindow = self.subwindows.setdefault(record.key, fresh)
        if subwindow.count == 0:
            subwindow.opened = record.time
            subwindow.newest = record.time if subwindow is fresh else subwindow.newest
        subwindow.newest = max(subwindow.newest, record.time)
        for other in subwindow.lists[1 - record.side]:
            child, parent = (record, other) if record.side == CHILD else (other, record)
            self.pairs[child.name, parent.name] += 1
        subwindow.lists[record.side].append(record)
        both = bool(subwindow.lists[CHILD] and subwindow.lists[PARENT])
        enough = subwindow.size if both else window.upper
        if window.kind is WindowKind.DYNAMIC_COUNT and subwindow.count >= enough:
            self._evict(subwindow)

    def advance(self, newest: int) -> None:
        """The watermark moves; what it passes ends; what is idle is forgotten."""
        moved = newest - self._lateness
        self._watermark = moved if self._watermark is None else max(moved, self._watermark)
        for key, subwindow in list(self.subwindows.items()):
            if subwindow.count and self._watermark >= self._end(subwindow):
                self._evict(subwindow)
            if not subwindow.count and self._watermark >= subwindow.newest + self._window.idle_ms:
                del self.subwindows[key]

    def _evict(self, subwindow: Subwindow) -> None:
        window = self._window
        costs = [len(records) / limit for records, limit in zip(subwindow.lists, subwindow.limits, strict=True)]
        total = sum(costs)
        if total > window.shrink_above or total < window.grow_below:
            size = subwindow.size // 2 if total > window.shrink_above else subwindow.size * 2
            subwindow.size = min(max(size, window.lower), window.upper)
            subwindow.limits = [
                max(1.0, limit * (cost + 0.5)) for limit, cost in zip(subwindow.limits, costs, strict=True)
            ]
        subwindow.lists[CHILD].clear()
        subwindow.lists[PARENT].clear()


def algorithm_1(records: Iterable[Record], window: JoinWindow, lateness: int) -> Found:
    twin = Algorithm1(window, lateness)
    for record in records:
        twin.arrive(record)
    return Found(twin.pairs, twin.late)


def naive(records: Sequence[Record], window: JoinWindow, lateness: int) -> Found:
    """What a window finds in records that arrive in this order."""
    if window.kind in (WindowKind.DYNAMIC, WindowKind.DYNAMIC_COUNT):
        return algorithm_1(records, window, lateness)
    return brute_force(records, window, lateness)


def random_records(random: Random, disorder: int) -> list[Record]:
    """Records of a few keys, some of which fall silent, at times that come in bursts and jump."""
    records, now = [], random.randint(-500, 500)
    pace = 2
    for number in range(random.randint(0, 150)):
        if random.random() < 0.05:
            pace = random.choice([0, 1, 5, 40])
        now += random.randint(0, 2 * pace)
        key = f"k{min(random.randint(0, 5), random.randint(0, 5))}"
        time = now - random.randint(0, disorder)
        records.append(Record(key, time, random.randint(0, 1), f"r{number}"))
    return records


def cut(random: Random, records: list[Record]) -> list[list[Record]]:
    """Batches of any length."""
    batches, first = [], 0
    while first < len(records):
        last = first + random.choice([1, 2, 7, 30, 200])
        batches.append(records[first:last])
        first = last
    return batches


def apart(random: Random, records: Sequence[Record]) -> list[list[Record]]:
    """Batches in which each side has got as far as it likes, as where both have a backlog: their own order is kept."""
    sides = [[record for record in records if record.side == side] for side in (CHILD, PARENT)]
    paces = [random.choice([1, 3, 10, 40]) for _ in sides]
    batches = []
    while any(sides):
        batch = []
        for side, pace in enumerate(paces):
            count = random.randint(1, pace)
            batch += sides[side][:count]
            sides[side] = sides[side][count:]
        batches.append(batch)
    return batches
