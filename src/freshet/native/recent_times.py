"""When the last elements of a stream came, for whoever must know how far back a window over so many of them reaches."""

from __future__ import annotations

from collections import deque

_MARKS = 64


class RecentTimes:
    """Remembers the times of some elements, in order of time: enough to tell since when the last `count` have come."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._step = max(1, count // _MARKS)
        self._marks: deque[tuple[int, int]] = deque()  # the number of an element, and its time
        self._number = 0
        self._next = 0

    def add(self, first_ms: int, more: int) -> None:
        """So many more elements have come, the first of them with a time."""
        marks = self._marks
        if self._number >= self._next:
            marks.append((self._number, first_ms))
            self._next = self._number + self._step
        self._number += more
        while len(marks) > 1 and marks[1][0] <= self._number - self._count:
            marks.popleft()

    def since(self, default: int) -> int:
        """A time that none of the last elements is before; it may be that of some element before them."""
        return self._marks[0][1] if self._marks else default
