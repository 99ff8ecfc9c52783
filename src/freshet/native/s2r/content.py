"""What a window holds at a moment: a range of its stream's elements, and the leaf buffers over that range (S2R)."""

from __future__ import annotations

from abc import ABC, abstractmethod

from freshet.algebra.windows import WindowOperator
from freshet.native.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.s2r.feed import Feed


class WindowContent(ABC):
    """The content of one window: the elements numbered from `first` up to, not including, `last`.

    Each kind of window says when it moves next (`next_move`), and which elements it holds at a moment (`move_to`).
    """

    expires = True  # whether elements ever leave
    counts = False  # whether what it holds is by the number of elements, not by their times

    def __init__(self, window: WindowOperator, feed: Feed) -> None:
        self.window = window
        self.feed = feed
        self.first = self.last = feed.count
        self.count = 0
        self.number = 0  # of its last step
        self.moved_ms = BEFORE_ALL_TIME  # the time of its last step
        self.changed = 0  # the last step at which an element came or went
        self.leaves: dict[LeafPattern, LeafBuffer] = {}

    def leaf(self, pattern: LeafPattern) -> LeafBuffer:
        """The leaf buffer of a pattern, made the first time it is asked for."""
        if pattern not in self.leaves:
            self.leaves[pattern] = LeafBuffer(pattern, expires=self.expires)
        return self.leaves[pattern]

    def oldest(self) -> int:
        """The number of the first element whose time this window may still ask for."""
        return self.first

    @abstractmethod
    def next_move(self) -> int:
        """The next moment at which an element that has come makes it move; NEVER where none does."""

    @abstractmethod
    def move_to(self, time_ms: int, number: int) -> None:
        """Take on the content at a moment of its own kind, a close or an instant, at this time."""

    @abstractmethod
    def needed_from(self, time_ms: int) -> int:
        """The earliest time an element may have that its content at a time, or at the move before, depends on.

        Where it counts elements, the clock remembers that, and any time will do.
        """

    def _hold(self, first: int, last: int, number: int) -> None:
        """Move to a range of elements; neither end ever goes back."""
        self.number = number
        if first == self.first and last == self.last:
            return
        if self.count or last > first:
            self.changed = number
            for leaf in self.leaves.values():
                leaf.step(first, last, number)
        self.first, self.last = first, last
        self.count = last - first
