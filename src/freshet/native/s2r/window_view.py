"""A window as a query sees it that was registered after elements had come."""

from __future__ import annotations

from dataclasses import dataclass

from freshet.algebra.windows import WindowOperator
from freshet.native.buffers.one_way_index import Ids
from freshet.native.s2r.adaptive_window import Subwindow
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.feed import Feed


@dataclass(frozen=True, slots=True)
class WindowView:
    """The elements of a window from one with a number on, which was yet to come: what a schedule needs of them."""

    content: WindowContent
    begin: int

    @property
    def closes(self) -> tuple[int, int] | None:
        return self.content.closes

    @property
    def counts(self) -> bool:
        return self.content.counts

    @property
    def window(self) -> WindowOperator:
        return self.content.window

    @property
    def feed(self) -> Feed:
        return self.content.feed

    @property
    def held(self) -> int:
        """How many of them are inside."""
        return max(0, self.content.entered - max(self.begin, self.content.left))

    @property
    def entering(self) -> Ids:
        """The moments of those that enter in the present batch."""
        content = self.content
        return content.entering[max(0, self.begin - (content.entered - len(content.entering))) :]

    @property
    def leaving(self) -> Ids:
        """The moments of those that leave in the present batch."""
        content = self.content
        return content.leaving[max(0, self.begin - (content.left - len(content.leaving))) :]

    def begin_at(self, moment: int) -> int | Subwindow:
        """Where what it held at a moment of the present batch begins, of one that counts elements."""
        return max(self.begin, self.content.left_at(moment))

    def needed_from(self, time_ms: int) -> int:
        return self.content.needed_from(time_ms)
