"""Streams whose elements take something out of the stored graph: where the newest value of a subject's predicate stands
alone, where elements delete, and where they go at an age.

An element at t changes the graph once its stream has come to t, and all that queries wait for together with it. Until
then it waits here, so that an evaluation before t sees what was there before t, however elements come in batches.

| time | element    | stored graph, of the latest values | of a stream that retracts |
| ---- | ---------- | ---------------------------------- | ------------------------- |
| 1    | (a p 5)    | (a p 5)                            | (a p 5)                   |
| 4    | (a p 7)    | (a p 7)                            | (a p 5) (a p 7)           |
| 4    | (a q 1)    | (a p 7) (a q 1)                    | (a p 5) (a p 7) (a q 1)   |
| 6    | - (a p 5)  |                                    | (a p 7) (a q 1)           |
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Protocol

import numpy as np

from freshet.native.moments import AFTER_ALL_TIME
from freshet.native.streams.arrivals_by_age import RESTORED, ArrivalsByAge
from freshet.native.streams.stream import concatenate_elements, is_in_order, merge_in_order, split_before
from freshet.native.streams.stream_router import StreamRouter
from freshet.rdf.elements import Elements
from freshet.rdf.triples import Ids
from freshet.store.pending_changes import PendingChanges
from freshet.store.timed_change import TimedChange, change_of, changes_of


class ChangingStore(Protocol):
    """The stored default graph, and the entry of a journal that is being done."""

    @property
    def entry(self) -> int: ...
    @property
    def keeps_history(self) -> bool: ...
    def change(self, change: TimedChange, entry: int) -> None: ...


class GraphChanges:
    """What waits to enter the stored graph, or to delete from it."""

    def __init__(self, router: StreamRouter, store: ChangingStore) -> None:
        self._router = router
        self._store = store
        self._waiting: dict[str, list[tuple[Elements, int]]] = {}  # in order of time; entries of a journal
        self._ages: dict[str, ArrivalsByAge] = {}  # of what has entered, where it goes again

    def add(self, stream: str, elements: Elements) -> None:
        """Elements of a stream, which are not late."""
        if len(elements.times):
            self._waiting.setdefault(stream, []).append((merge_in_order([elements]), self._store.entry))
            self._note_limit(stream)

    @property
    def pending(self) -> PendingChanges:
        """What is to come, as far as entries of the journal that are not done yet will not bring it."""
        waiting = [(stream, elements) for stream, parts in self._waiting.items() for elements, _ in parts]
        arrived = [(stream, elements) for stream, ages in self._ages.items() for elements in ages.restored()]
        return PendingChanges(waiting, arrived)

    def restore(self, pending: PendingChanges) -> None:
        """Have what was to come before a restart come, of streams that change the graph still."""
        streams = self._router.streams
        for stream, elements in pending.arrived:
            if stream in streams and streams[stream].absorb_ms:
                ages = self._ages.setdefault(stream, ArrivalsByAge(streams[stream].absorb_ms))
                ages.add(merge_in_order([elements]), RESTORED)
                self._note_limit(stream)
        for stream, elements in pending.waiting:
            if stream in streams and streams[stream].absorb is not None:
                streams[stream].note_deletions(elements)
                self._waiting.setdefault(stream, []).append((merge_in_order([elements]), RESTORED))
                self._note_limit(stream)

    @property
    def first_ms(self) -> int:
        """The time of the first element that waits."""
        waiting = min(map(self._waiting_ms, self._waiting), default=AFTER_ALL_TIME)
        return min(waiting, *(each.first_ms for each in self._ages.values()), AFTER_ALL_TIME)

    def go_on(self, *, ended: bool = False) -> list[Elements]:
        """Change the graph as far as streams have come, and evaluate what is due before; gives what has come or gone.

        Where all streams have ended, time stands still: what waits enters, and nothing grows older.
        """
        entered: list[Elements] = []
        if not (self._waiting or self._ages):
            return entered
        next_ms = self._waiting_ms if ended else self._next_ms
        while come := [each for each in self._streams() if next_ms(each) <= self._reach(each)]:
            first = min(come, key=next_ms)
            together = [each for each in come if each == first or self._are_alike(each, first)]
            others_ms = min([next_ms(each) for each in come if each not in together], default=AFTER_ALL_TIME)
            entered += self._enter(together, next_ms(first), others_ms, is_aging=not ended)
            if not ended:
                for stream in together:
                    self._router.advance(stream)
        return entered

    def _are_alike(self, stream: str, other: str) -> bool:
        """Whether what streams change can be found from the elements of both in order of time."""
        states = self._router.streams[stream], self._router.streams[other]
        return states[0].latest == states[1].latest and not any(state.absorb_ms for state in states)

    def _enter(self, streams: list[str], first_ms: int, others_ms: int, *, is_aging: bool) -> list[Elements]:
        """Do what the first elements that wait do, from a time up to one at which something is evaluated, or others
        change the graph."""
        for stream in streams:
            if self._router.next_due_ms(stream) <= first_ms:
                self._router.evaluate_to(stream, first_ms)
        stop_ms = max(first_ms + 1, min([*map(self._router.next_due_ms, streams), others_ms]))
        if self._store.keeps_history:  # which has what there was between any two times
            stop_ms = first_ms + 1
        stop_ms = min(stop_ms, *(self._reach(stream) + 1 for stream in streams))
        taken = [part for stream in streams for part in self._take(stream, stop_ms)]
        state = self._router.streams[streams[0]]
        entered = []
        if taken:
            elements, entries = _in_order(taken)
            entered.append(elements)
            for entry, change in changes_of(elements, entries, replaces=state.latest).items():
                self._store.change(change, entry)
            if state.absorb_ms:
                ages = self._ages.setdefault(state.iri, ArrivalsByAge(state.absorb_ms))
                for some, entry in _runs(elements, entries):
                    ages.add(some, entry)
        if is_aging and state.iri in self._ages:
            for gone, entry in self._ages[state.iri].end(stop_ms):
                entered.append(gone)
                self._store.change(change_of(gone, replaces=False), entry)
        for stream in streams:
            self._note_limit(stream)
        self._router.note_stored()
        return entered

    def _streams(self) -> Collection[str]:
        """Those of which something waits, or grows older."""
        return self._waiting.keys() | self._ages.keys() if self._ages else self._waiting

    def _reach(self, stream: str) -> int:
        """How far a stream has come, and all that queries wait for together with it."""
        return min(self._router.stored_watermark(stream), AFTER_ALL_TIME - 1)

    def _waiting_ms(self, stream: str) -> int:
        """The time of the first element that waits."""
        return min((elements.times.item(0) for elements, _ in self._waiting.get(stream, ())), default=AFTER_ALL_TIME)

    def _next_ms(self, stream: str) -> int:
        """When a stream changes the graph next."""
        ages = self._ages.get(stream)
        return self._waiting_ms(stream) if ages is None else min(self._waiting_ms(stream), ages.next_ms)

    def _take(self, stream: str, before_ms: int) -> list[tuple[Elements, int]]:
        """What has times before one, by entries."""
        parts = [(*split_before(elements, before_ms), entry) for elements, entry in self._waiting.pop(stream, ())]
        left = [(after, entry) for _, after, entry in parts if len(after.times)]
        if left:
            self._waiting[stream] = left
        return [(before, entry) for before, _, entry in parts if len(before.times)]

    def _note_limit(self, stream: str) -> None:
        next_ms = self._next_ms(stream)
        if next_ms < AFTER_ALL_TIME:
            self._router.limits[stream] = next_ms
        else:
            self._router.limits.pop(stream, None)


def _in_order(taken: list[tuple[Elements, int]]) -> tuple[Elements, Ids]:
    """Elements in order of time, each with its entry of the journal."""
    whole = concatenate_elements([elements for elements, _ in taken])
    entries = np.repeat([entry for _, entry in taken], [len(elements.times) for elements, _ in taken])
    if is_in_order(whole.times):
        return whole, entries
    order = np.argsort(whole.times, kind="stable")
    return Elements(*(column[order] for column in whole)), entries[order]


def _runs(whole: Elements, entries: Ids) -> Iterator[tuple[Elements, int]]:
    """Elements in order of time by entries: one may come several times, with elements of others between."""
    ends = [*(np.flatnonzero(entries[1:] != entries[:-1]) + 1).tolist(), len(entries)]
    for first, end in pairwise([0, *ends]):
        yield Elements(*(column[first:end] for column in whole)), int(entries[first])
