"""Streams whose elements take something out of the stored graph: where the newest value of a subject's predicate stands
alone, and where elements delete.

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

from itertools import pairwise
from typing import Protocol

from freshet.native.moments import AFTER_ALL_TIME
from freshet.native.streams.stream import merge_in_order, split_before
from freshet.native.streams.stream_router import StreamRouter
from freshet.rdf.elements import Elements
from freshet.store.timed_change import TimedChange, change_of


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

    def add(self, stream: str, elements: Elements) -> None:
        """Elements of a stream, which are not late."""
        if len(elements.times):
            self._waiting.setdefault(stream, []).append((merge_in_order([elements]), self._store.entry))
            self._note_limit(stream)

    @property
    def first_ms(self) -> int:
        """The time of the first element that waits."""
        return min(map(self._next_ms, self._waiting), default=AFTER_ALL_TIME)

    def go_on(self, *, ended: bool = False) -> list[Elements]:
        """Change the graph as far as streams have come, and evaluate what is due before; gives what has entered."""
        entered: list[Elements] = []
        if not self._waiting:
            return entered
        while come := [each for each in self._waiting if self._next_ms(each) <= self._router.common_watermark(each)]:
            stream = min(come, key=self._next_ms)
            entered += self._enter(stream)
            if not ended:
                self._router.advance(stream)
        return entered

    def _enter(self, stream: str) -> list[Elements]:
        """Do what the first elements that wait do, up to a time at which something is evaluated."""
        first_ms = self._next_ms(stream)
        if self._router.next_due_ms(stream) <= first_ms:
            self._router.evaluate_to(stream, first_ms)
        others = [self._next_ms(other) for other in self._waiting if other != stream]
        stop_ms = max(first_ms + 1, min([self._router.next_due_ms(stream), *others]))
        if self._store.keeps_history:  # which has what there was between any two times
            stop_ms = first_ms + 1
        stop_ms = min(stop_ms, self._router.common_watermark(stream) + 1)
        taken = self._take(stream, stop_ms)
        replaces = self._router.streams[stream].latest
        for elements, entry in taken:
            self._store.change(change_of(elements, replaces=replaces), entry)
        self._note_limit(stream)
        self._router.note_stored()
        return [elements for elements, _ in taken]

    def _next_ms(self, stream: str) -> int:
        return min(elements.times.item(0) for elements, _ in self._waiting[stream])

    def _take(self, stream: str, before_ms: int) -> list[tuple[Elements, int]]:
        """What has times before one: in order of time, where later entries have later elements."""
        parts = [(*split_before(elements, before_ms), entry) for elements, entry in self._waiting.pop(stream)]
        left = [(after, entry) for _, after, entry in parts if len(after.times)]
        if left:
            self._waiting[stream] = left
        taken = [(before, entry) for before, _, entry in parts if len(before.times)]
        if any(later.times.item(0) < earlier.times.item(-1) for (earlier, _), (later, _) in pairwise(taken)):
            return [(merge_in_order([elements for elements, _ in taken]), taken[-1][1])]
        return taken

    def _note_limit(self, stream: str) -> None:
        if stream in self._waiting:
            self._router.limits[stream] = self._next_ms(stream)
        else:
            self._router.limits.pop(stream, None)
