"""Elements that leave the stored graph again at an age: with the last arrival of a triple its time there is over.

An element at t counts up to t + age. A triple goes when none of its arrivals counts any more.

| age 10: time | arrives | stored graph |
| ------------ | ------- | ------------ |
| 1            | a       | a            |
| 5            | a, b    | a, b         |
| 11           |         | a, b         |
| 15           |         |              |
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from freshet.native.buffers.one_way_index import OneWayIndex, Rows
from freshet.native.moments import AFTER_ALL_TIME
from freshet.native.streams.stream import split_before
from freshet.rdf.elements import Elements

RESTORED = -1  # in place of an entry of a journal: what came before those that are replayed


class _Arrivals(NamedTuple):
    """Elements, where their triples are counted, and the entry that they came with."""

    elements: Elements
    places: Rows
    entry: int


class ArrivalsByAge:
    """The arrivals of one stream that count. Those that came together belong to an entry of a journal."""

    def __init__(self, age_ms: int) -> None:
        self._age_ms = age_ms
        self._arrivals: deque[_Arrivals] = deque()  # in order of time
        self._counts = OneWayIndex(3)
        self._restored: list[Elements] = []  # of the arrivals

    @property
    def first_ms(self) -> int:
        """The time of the oldest that counts."""
        return self._arrivals[0].elements.times.item(0) if self._arrivals else AFTER_ALL_TIME

    @property
    def next_ms(self) -> int:
        """When it will not count any more."""
        return self.first_ms + self._age_ms if self._arrivals else AFTER_ALL_TIME

    def add(self, elements: Elements, entry: int) -> None:
        """Elements in order of time, none before those that are there; what they delete is of no concern."""
        rows = np.flatnonzero(elements.predicates > 0)
        if len(rows):
            arrived = Elements(*(column[rows] for column in elements))
            if entry == RESTORED:
                self._restored.append(arrived)
            self._arrivals.append(_Arrivals(arrived, self._counts.add(np.column_stack(arrived[1:]))[0], entry))

    def restored(self) -> list[Elements]:
        """What was restored and still counts."""
        counting = (split_before(elements, self.first_ms)[1] for elements in self._restored)
        self._restored = [elements for elements in counting if len(elements.times)]
        return self._restored

    def end(self, before_ms: int) -> list[tuple[Elements, int]]:
        """The deletions of triples of which the last arrival ends to count before a time, with its entry."""
        ended: list[tuple[Elements, int]] = []
        while self.next_ms < before_ms:
            elements, places, entry = self._arrivals.popleft()
            gone, left = split_before(elements, before_ms - self._age_ms)
            count = len(gone.times)
            if len(left.times):
                self._arrivals.appendleft(_Arrivals(left, places[count:], entry))
            dead = np.isin(places[:count], self._counts.release(places[:count]))
            _, last = np.unique(places[:count][dead][::-1], return_index=True)
            rows = np.sort(np.flatnonzero(dead)[::-1][last])
            if len(rows):
                times, subjects, predicates, objects = (column[rows] for column in gone)
                ended.append((Elements(times + self._age_ms, subjects, -predicates, objects), entry))
        return ended
