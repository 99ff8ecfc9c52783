"""What windows have in common that move whenever an element arrives (S2R)."""

from __future__ import annotations

from freshet.native.moments import NEVER, instant_at
from freshet.native.s2r.content import WindowContent


class ArrivalWindowContent(WindowContent):
    """Moves at the instant of every element of its stream; the next of them is the first that is not inside yet."""

    def next_move(self) -> int:
        return instant_at(self.feed.time(self.last)) if self.last < self.feed.count else NEVER
