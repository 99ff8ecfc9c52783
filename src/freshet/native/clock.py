"""Queries that wait for the same streams move through event time together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from freshet.algebra.windows import SlidingWindow
from freshet.native.continuous_query import ContinuousQuery
from freshet.native.forgetting import HoldsIds
from freshet.native.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.one_way_index import Ids
from freshet.native.s2r.sliding_window import SlidingWindowContent, close_after
from freshet.native.stream import AFTER_ALL_TIME, BEFORE_ALL_TIME, in_order, split_before
from freshet.rdf.elements import Elements


class Clock:
    """The windows, stored leaves and queries that depend on one set of streams.

    Time moves from close to close once the watermarks of all these streams allow it. Equal patterns in equal windows
    share one leaf buffer. While nothing is in any window no close is visited: there is nothing to answer.
    """

    def __init__(self, streams: Iterable[str], stored: Elements) -> None:
        self.streams = frozenset(streams)
        self.queries: dict[str, ContinuousQuery] = {}
        self.time_ms = BEFORE_ALL_TIME  # the last close that was visited
        self._windows: dict[SlidingWindow, SlidingWindowContent] = {}
        self._pending: dict[str, list[Elements]] = {stream: [] for stream in self.streams}
        self._absorbed: dict[str, list[Elements]] = {stream: [] for stream in self.streams}
        self._stored = stored
        self._stored_leaves: dict[LeafPattern, LeafBuffer] = {}
        self._number = 0
        self._ended = False
        self.passed_ms = BEFORE_ALL_TIME  # nothing is left to do up to here

    def window(self, window: SlidingWindow) -> SlidingWindowContent:
        if window not in self._windows:
            self._windows[window] = SlidingWindowContent(window)
        return self._windows[window]

    def stored_leaf(self, pattern: LeafPattern) -> LeafBuffer:
        if pattern not in self._stored_leaves:
            leaf = self._stored_leaves[pattern] = LeafBuffer(pattern, expires=False)
            leaf.receive(self._stored)
        return self._stored_leaves[pattern]

    def load(self, elements: Elements) -> None:
        """Triples that have been added to the stored graph, as if they had always been there."""
        self._stored = in_order([elements, self._stored])
        for leaf in self._stored_leaves.values():
            leaf.receive(elements)

    def push(self, stream: str, elements: Elements, absorbed: Elements | None) -> None:
        """Elements of a stream, none behind its watermark, and what of them is absorbed."""
        if len(elements.times):
            self._pending[stream].append(elements)
        if absorbed is not None and len(absorbed.times):
            self._absorbed[stream].append(absorbed)

    def advance(self, watermark_ms: int) -> None:
        """Visit every close up to the watermark, and report."""
        if all(close_after(window, self.passed_ms) > watermark_ms for window in self._windows):
            return
        self._release(watermark_ms)
        while (close_ms := self._next_close()) is not None and close_ms <= watermark_ms:
            self._visit(close_ms)
        self.passed_ms = watermark_ms

    def finish(self) -> None:
        """The streams have ended: visit every close at which a window has content, but none after."""
        self._ended = True
        self.advance(AFTER_ALL_TIME)

    def held_ids(self) -> Iterator[Ids]:
        """The ids of all that waits, is in windows and leaves, or belongs to queries."""
        waiting = [part for parts in (*self._pending.values(), *self._absorbed.values()) for part in parts]
        for elements in (self._stored, *waiting):
            yield from elements[1:]
        holders: list[HoldsIds] = [*self._windows.values(), *self._stored_leaves.values(), *self.queries.values()]
        for holder in holders:
            yield from holder.held_ids()

    def longest_memory_ms(self) -> int:
        """How far before a close an element can lie that it, or the evaluation before it, depends on."""
        return max((window.width_ms + 2 * window.slide_ms for window in self._windows), default=0)

    def _release(self, watermark_ms: int) -> None:
        for stream in self.streams:
            if self._pending[stream]:
                ready, waiting = split_before(in_order(self._pending[stream]), watermark_ms)
                self._pending[stream] = [waiting] if len(waiting.times) else []
                for window, content in self._windows.items():
                    if window.stream.value == stream and len(ready.times):
                        content.receive(ready)
            if self._absorbed[stream]:
                ready, waiting = split_before(in_order(self._absorbed[stream]), watermark_ms)
                self._absorbed[stream] = [waiting] if len(waiting.times) else []
                if len(ready.times):
                    for leaf in self._stored_leaves.values():
                        leaf.receive(ready)

    def _next_close(self) -> int | None:
        if any(content.count for content in self._windows.values()):
            return min(close_after(window, self.time_ms) for window in self._windows)
        return min(
            (close for content in self._windows.values() if (close := content.next_content()) is not None),
            default=None,
        )

    def _visit(self, close_ms: int) -> None:
        self._number += 1
        self.time_ms = close_ms
        closing = [content for content in self._windows.values() if content.closes_at(close_ms)]
        for content in closing:
            content.step(close_ms, self._number)
        for leaf in self._stored_leaves.values():
            leaf.step(BEFORE_ALL_TIME, close_ms, self._number)
        for query in list(self.queries.values()):
            if not any(content in closing for content in query.windows):
                continue
            if self._ended and not any(content.count or content.awaits() for content in query.windows):
                continue
            report = query.step(close_ms, self._number)
            if report is not None:
                query.on_report(report)
