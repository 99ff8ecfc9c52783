"""Elements that wait for a watermark, in order of time."""

from __future__ import annotations

from collections import deque

from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME
from freshet.native.streams.stream import concatenate_elements, is_in_order, merge_in_order, split_before
from freshet.rdf.elements import Elements

ELEMENT_BYTES = 32  # a time and three ids

_Part = tuple[int, int, Elements]  # first and last time, and the elements in order of time


class WaitingElements:
    """Batches as they came; they are merged only where they overlap in time."""

    def __init__(self) -> None:
        self.from_ms = AFTER_ALL_TIME  # the earliest time here
        self.count = 0
        self._parts: deque[_Part] = deque()
        self._tangled = False

    @property
    def held_bytes(self) -> int:
        """What the elements take that wait."""
        return ELEMENT_BYTES * self.count

    @property
    def last_ms(self) -> int:
        """The latest time here."""
        return max((last_ms for _, last_ms, _ in self._parts), default=BEFORE_ALL_TIME)

    def push(self, elements: Elements) -> None:
        """Elements, at least one, in the order they came."""
        if len(elements.times) > 1 and not is_in_order(elements.times):
            elements = merge_in_order([elements])
        first_ms, last_ms = elements.times.item(0), elements.times.item(-1)
        if self._parts and first_ms < self._parts[-1][1]:
            self._tangled = True
        self._parts.append((first_ms, last_ms, elements))
        self.count += len(elements.times)
        if first_ms < self.from_ms:
            self.from_ms = first_ms

    def release(self, time_ms: int) -> Elements | None:
        """Take out everything before a time, in the order of (time, arrival); None where there is nothing."""
        if self.from_ms >= time_ms:
            return None
        parts = self._parts
        if not self._tangled and parts[0][1] < time_ms and (len(parts) == 1 or parts[1][0] >= time_ms):
            _, _, elements = parts.popleft()  # as it mostly is where elements come one by one
            if parts:
                self.from_ms = parts[0][0]
                self.count -= len(elements.times)
            else:
                self.from_ms, self.count = AFTER_ALL_TIME, 0
            return elements
        if self._tangled:
            whole = merge_in_order([elements for _, _, elements in parts])
            parts.clear()
            parts.append((whole.times.item(0), whole.times.item(-1), whole))
            self._tangled = False
        ready: list[Elements] = []
        while parts and parts[0][1] < time_ms:
            ready.append(parts.popleft()[2])
        if parts and parts[0][0] < time_ms:
            _, last_ms, elements = parts.popleft()
            before, after = split_before(elements, time_ms)
            ready.append(before)
            parts.appendleft((after.times.item(0), last_ms, after))
        self.from_ms = parts[0][0] if parts else AFTER_ALL_TIME
        released = ready[0] if len(ready) == 1 else concatenate_elements(ready)
        self.count -= len(released.times)
        return released
