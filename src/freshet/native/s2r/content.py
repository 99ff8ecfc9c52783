"""What a window holds: each element of its stream for a time, its life, which is a matter of the window alone (S2R)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from freshet.algebra.windows import WindowOperator
from freshet.native.buffers.leaf_buffer import LeafBuffer, LeafPattern, LeafSet, Moves
from freshet.native.buffers.one_way_index import Ids
from freshet.native.s2r.feed import Feed

if TYPE_CHECKING:
    from freshet.native.s2r.adaptive_window import Subwindow

NO_MOMENTS = np.empty(0, np.int64)


class WindowContent(ABC):
    """One window over a stream: the lives of the stream's elements in it, and the leaf buffers of its patterns.

    Elements enter and leave in the order of their numbers. Of those that have come, the ones before `entered` have
    begun their lives, the ones before `left` have ended them. A kind of window says up to which element that is so at a
    moment (`entered_by`, `left_by`), and at which moment each element enters and leaves (`births`, `deaths`).
    An element that leaves at the moment at which it enters is never inside.
    """

    expires = True  # whether elements ever leave
    counts = False  # whether what it holds is by the number of elements, not by their times alone
    closes: tuple[int, int] | None = None  # slide and start of a window that closes at regular times

    def __init__(self, window: WindowOperator, feed: Feed) -> None:
        self.window = window
        self.feed = feed
        self.entered = self.left = feed.count
        self.entering = self.leaving = NO_MOMENTS  # the moments of those that enter and leave in the present batch
        self.leaves: dict[LeafPattern, LeafBuffer] = {}
        self.filled: dict[LeafBuffer, None] = {}  # those that have rows inside, or rows that wait to enter
        self._stepped: LeafSet | None = None  # these

    @property
    def content(self) -> WindowContent:
        return self

    def leaf(self, pattern: LeafPattern) -> LeafBuffer:
        """The leaf buffer of a pattern, made the first time it is asked for."""
        if pattern not in self.leaves:
            self.leaves[pattern] = LeafBuffer(pattern, expires=self.expires)
            self.feed.routes = None
        return self.leaves[pattern]

    def keep_leaves(self, wanted: Collection[int]) -> None:
        """Keep the leaf buffers with these identities."""
        self.leaves = {pattern: leaf for pattern, leaf in self.leaves.items() if id(leaf) in wanted}
        self.filled = {leaf: None for leaf in self.filled if id(leaf) in wanted}
        self._stepped = None
        self.feed.routes = None

    @property
    def begin(self) -> int:
        """The number of the first element that a query sees which is registered now; 0 where it sees all there is."""
        begin = self.feed.next_number
        return begin if self.left < begin else 0

    @property
    def held(self) -> int:
        """How many elements are inside, with those that enter in the present batch and without those that leave."""
        return self.entered - self.left

    @property
    def held_before(self) -> int:
        """How many elements were inside before the present batch."""
        return self.held - len(self.entering) + len(self.leaving)

    def left_at(self, moment: int) -> int:
        """The number of the first element that had not left at a moment of the present batch."""
        leaving = self.leaving
        if not len(leaving) or leaving.item(-1) <= moment:
            return self.left
        return self.left - len(leaving) + int(leaving.searchsorted(moment, side="right"))

    def begin_at(self, moment: int) -> int | Subwindow:
        """Where what it held at a moment of the present batch begins, of one that counts: an element or a subwindow."""
        return self.left_at(moment)

    def oldest(self) -> int:
        """The number of the first element whose time this window may still ask for."""
        return self.left

    @abstractmethod
    def entered_by(self, moment: int) -> int:
        """The number of the first element that has not entered at a moment."""

    @abstractmethod
    def left_by(self, moment: int) -> int:
        """The number of the first element that has not left at a moment."""

    @abstractmethod
    def births(self, first: int, end: int) -> Ids:
        """The moments at which elements enter, by their numbers."""

    @abstractmethod
    def deaths(self, first: int, end: int) -> Ids:
        """The moments at which elements leave."""

    @abstractmethod
    def needed_from(self, time_ms: int) -> int:
        """The earliest time an element may have that its content at a time, or at the move before, depends on.

        Where it counts elements, the schedule remembers that, and any time will do.
        """

    def advance(self, moment: int) -> None:
        """Find out which lives begin and end up to a moment: that is the present batch."""
        first, end = self.entered, self.entered_by(moment)
        self.entering = self.births(first, end) if end > first else NO_MOMENTS
        self.entered = end
        gone, left = self.left, min(self.left_by(moment), end) if self.expires else self.left
        self.leaving = self.deaths(gone, left) if left > gone else NO_MOMENTS
        self.left = left

    @property
    def place(self) -> tuple[int, ...]:
        """How far it has come."""
        return self.entered, self.left

    def go_back(self, place: tuple[int, ...]) -> None:
        """Come back to where it was: what was advanced since was only foreseen."""
        self.entered, self.left = place[:2]
        self.entering = self.leaving = NO_MOMENTS

    def skip_to(self, moment: int) -> None:
        """Come to a moment with no row in a leaf buffer: the times of what has come and gone are not needed."""
        entered = self.entered_by(moment)
        left = max(self.left, min(self.left_by(moment), entered)) if self.expires else self.left
        if (entered, left) != (self.entered, self.left):
            self.entered, self.left = entered, left
            self.entering = self.leaving = NO_MOMENTS

    def step_leaves(self, number: int, first_moment: int) -> list[LeafBuffer]:
        """Take the present batch into the leaf buffers; gives those in which anything changes."""
        entering, leaving = len(self.entering), len(self.leaving)
        if not (entering or leaving) or not self.filled:
            return []
        stepped = self._stepped
        if stepped is None:
            stepped = self._stepped = LeafSet(self.filled)
        entered, left = self.entered, self.left
        moves = Moves(entered, entered - entering, self.entering, left, left - leaving, self.leaving)
        changed = stepped.step(number, first_moment, moves)
        if leaving or not self.expires:
            for leaf in changed:
                if leaf.is_empty:
                    del self.filled[leaf]
                    self._stepped = None
        return changed

    def fill(self, leaf: LeafBuffer) -> None:
        """A leaf buffer has rows from now on."""
        if leaf not in self.filled:
            self.filled[leaf] = None
            self._stepped = None

    def moves(self) -> Ids:
        """The moments of the present batch at which it moves, as far as these are not regular closes."""
        return self.entering
