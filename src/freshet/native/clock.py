"""Queries that wait for the same streams move through event time together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from freshet.algebra.windows import EventTimeWindow, WindowOperator
from freshet.native.clock_member import ClockedQuery, ClockMember
from freshet.native.failures import warn_gone
from freshet.native.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME, NEVER, close_at, seen_before, time_of
from freshet.native.rhythm import Rhythm
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.contents import content_of
from freshet.native.s2r.feed import FROM_THE_FIRST, Begin, Feed
from freshet.native.stored import StoredGraphs, matches
from freshet.native.stored_leaf import MOST_ROWS, StoredLeaf
from freshet.native.stream import in_order
from freshet.native.timing import Counted, Timing, counts_in_steps, source_of
from freshet.rdf.elements import Elements
from freshet.rdf.triples import DEFAULT_GRAPH

EARLY_ELEMENTS = 64  # so many at once are worth to be let in before their window closes
COPIED_ROWS = 1 << 16  # so many rows of a stored pattern are copied for the queries that read it


class Clock:
    """The windows, stored leaves and queries that depend on one set of streams.

    Time moves from moment to moment once the watermarks of all these streams allow it. Equal patterns in equal windows
    share one leaf buffer. While nothing is in any window no close is visited: there is nothing to answer.

    A query sees what comes after it was registered. Queries that were registered with no element in between share
    windows; each such generation has feeds of its own.
    """

    def __init__(
        self,
        streams: Iterable[str],
        stored: StoredGraphs,
        on_failure: Callable[[str, Exception], None],
    ) -> None:
        self.streams = set(streams)
        self.moment = close_at(BEFORE_ALL_TIME)  # the last that was visited
        self.passed_ms = BEFORE_ALL_TIME  # nothing is left to do up to the close at this time
        self.on_visited: Callable[[], None] | None = None  # after each moment, when all is where others find it
        self._stored = stored
        self._on_failure = on_failure
        self._members: dict[str, ClockMember] = {}
        self._rhythms: dict[Rhythm, list[ClockMember]] = {}
        self._feeds: dict[str, list[Feed]] = {}
        self._all_feeds: list[Feed] = []
        self._windows: dict[WindowOperator, WindowContent] = {}  # of the newest generation
        self._newest: dict[str, Feed] = {}  # likewise
        self._begins: dict[WindowOperator, Begin] = {}  # of a query that is registered again after a restart
        self._stored_leaves: dict[tuple[int, LeafPattern], LeafBuffer] = {}
        self._large_leaves: dict[tuple[int, LeafPattern], StoredLeaf] = {}
        self._number = 0
        self._stored_number = 0  # the last step at which a stored leaf moved
        self._wake_ms = AFTER_ALL_TIME  # below this watermark there is nothing to do

    # ---- queries

    @property
    def names(self) -> list[str]:
        return list(self._members)

    @property
    def reads_absorbed(self) -> bool:
        return any(member.absorbed for member in self._members.values())

    def query(self, name: str) -> ClockedQuery:
        return self._members[name].query

    def counts_every_element(self, name: str) -> bool:
        """Whether elements that match none of a query's patterns make a difference to its reports all the same."""
        member = self._members[name]
        return (
            member.only_changed
            or bool(member.rhythm.arriving)
            or any(isinstance(window.window, EventTimeWindow) for window in member.rhythm.windows)
        )

    def window(self, window: WindowOperator) -> WindowContent:
        """The content of a window for a query that is being registered."""
        if window not in self._windows:
            feed = self._feed(source_of(window), self._begins.get(window))
            content = self._windows[window] = content_of(window, feed)
            feed.readers.append(content)
        return self._windows[window]

    def _feed(self, stream: str, begin: Begin | None) -> Feed:
        """The newest feed of a stream, or one of its own for a window that goes on counting."""
        feed = self._newest.get(stream) if begin is None else None
        if feed is None:
            feed = Feed(stream, begin or FROM_THE_FIRST)
            self._feeds.setdefault(stream, []).append(feed)
            self._all_feeds.append(feed)
            if begin is None:
                self._newest[stream] = feed
        return feed

    @contextmanager
    def going_on(self, begins: tuple[tuple[WindowOperator, Begin], ...]) -> Iterator[None]:
        """A query is registered whose windows go on counting elements from where they were; it shares no windows."""
        if not begins:
            yield
            return
        self._newest, self._windows, self._begins = {}, {}, dict(begins)
        try:
            yield
        finally:
            self._newest, self._windows, self._begins = {}, {}, {}

    def stored_leaf(self, pattern: LeafPattern, graph: int = DEFAULT_GRAPH) -> LeafBuffer:
        """The leaf buffer of a pattern in a stored graph. It is filled at the next step."""
        leaf = self._stored_leaves.get((graph, pattern))
        if leaf is None:
            leaf = self._stored_leaves[graph, pattern] = LeafBuffer(pattern, expires=False)
            if not pattern.chosen:  # else nothing is chosen yet
                leaf.receive(matches(self._stored, graph, pattern.constants))
        return leaf

    def large_leaf(self, pattern: LeafPattern, graph: int = DEFAULT_GRAPH) -> StoredLeaf | None:
        """A leaf of a stored graph without a copy of its rows; None where there are too few to make a difference."""
        leaf = self._large_leaves.get((graph, pattern))
        if leaf is None and (graph, pattern) not in self._stored_leaves and StoredLeaf.suits(pattern):
            base = self._stored.base(graph)
            if COPIED_ROWS < base.count(*pattern.constants) <= MOST_ROWS:
                leaf = self._large_leaves[graph, pattern] = StoredLeaf(pattern, base)
                leaf.receive(self._stored.added_matching(pattern.constants, graph))
        return leaf

    @property
    def windows(self) -> set[WindowContent]:
        """The windows that queries read."""
        return {window for rhythm in self._rhythms for window in rhythm.windows}

    def stored_matches(self, leaf: LeafBuffer | StoredLeaf, place: int, term: int) -> Elements | None:
        """What the stored graph of a leaf has with a term at a place; None where it is the leaf of a window."""
        for (graph, pattern), stored in self._stored_leaves.items():
            if stored is leaf:
                subject, predicate, object_ = (
                    term if at == place else constant for at, constant in enumerate(pattern.constants)
                )
                return matches(self._stored, graph, (subject, predicate, object_))
        return None

    def add(self, name: str, query: ClockedQuery, timing: Timing, limit_seconds: float | None = None) -> None:
        """Step a query from now on. Its windows and leaves have been asked for just before."""
        windows = tuple(self.window(window) for window in timing.windows)
        for rhythm in self._rhythms:
            if rhythm.period_ms == timing.period_ms and rhythm.windows == windows:
                break
        else:
            rhythm = Rhythm(windows, timing.period_ms)
            self._rhythms[rhythm] = []
            if rhythm.arriving:
                for window in windows:
                    window.feed.instants = True
        self._members[name] = ClockMember(name, query, timing, rhythm, limit_seconds)
        self._rhythms[rhythm].append(self._members[name])
        self._wake_ms = min(self._wake_ms, rhythm.wakes_at(self.passed_ms))

    def remove(self, name: str) -> None:
        """Forget a query, and the windows and leaves that nobody else reads."""
        member = self._members.pop(name)
        member.removed = True
        members = self._rhythms[member.rhythm]
        members.remove(member)
        if not members:
            self._rhythms = {rhythm: others for rhythm, others in self._rhythms.items() if others}
        self.free()

    def free(self) -> None:
        """Keep the leaves that the remaining queries name, and the windows that their rhythms have."""
        leaves = {id(leaf) for member in self._members.values() for leaf in member.query.leaves}
        windows = self.windows
        for window in windows:
            window.leaves = {pattern: leaf for pattern, leaf in window.leaves.items() if id(leaf) in leaves}
        self._windows = {operator: window for operator, window in self._windows.items() if window in windows}
        self._stored_leaves = {key: leaf for key, leaf in self._stored_leaves.items() if id(leaf) in leaves}
        self._large_leaves = {key: leaf for key, leaf in self._large_leaves.items() if id(leaf) in leaves}
        for stream, feeds in list(self._feeds.items()):
            for feed in feeds:
                feed.readers = [window for window in feed.readers if window in windows]
            self._feeds[stream] = [feed for feed in feeds if feed.readers]
        self._all_feeds = [feed for feed in self._all_feeds if feed.readers]
        self._newest = {stream: feed for stream, feed in self._newest.items() if feed.readers}

    # ---- data

    def load(self, elements: Elements, graph: int) -> None:
        """Triples that have been added to a stored graph, as if they had always been there."""
        self._stored_number = self._number + 1  # also where no leaf of it is read, but all of its graphs
        for (name, _), leaf in self._leaves_of_graphs():
            if name == graph:
                leaf.receive(elements)

    def absorb(self, elements: Elements) -> None:
        """Elements that a stream leaves in the stored default graph, in the order they came."""
        if (self._stored_leaves or self._large_leaves) and len(elements.times):
            self.load(in_order([elements]), DEFAULT_GRAPH)

    def push(self, stream: str, elements: Elements, watermark_ms: int = BEFORE_ALL_TIME) -> None:
        """Elements of a stream in the order they came, none behind its watermark, which has come so far with them."""
        feeds = self._feeds.get(stream)
        if not feeds or not len(elements.times):
            return
        if self._newest:  # who is registered from now on does not see these
            self._newest, self._windows = {}, {}
        for feed in feeds:
            feed.waiting.push(elements)
            if feed.instants and feed.waiting.from_ms < self._wake_ms:
                self._wake_ms = feed.waiting.from_ms + 1
        if len(elements.times) >= EARLY_ELEMENTS and watermark_ms > BEFORE_ALL_TIME:
            self._enter_early(feeds, watermark_ms)

    def element_bytes(self, stream: str) -> int:
        """What an element of a stream takes at most."""
        return sum(feed.element_bytes for feed in self._feeds.get(stream, ()))

    @property
    def stored_leaves(self) -> list[LeafBuffer | StoredLeaf]:
        """The leaves of stored graphs, which are no part of any window."""
        return [leaf for _, leaf in self._leaves_of_graphs()]

    def _enter_early(self, feeds: list[Feed], watermark_ms: int) -> None:
        """Do now what the next close would have to do, as far as nothing can come before it any more."""
        for feed in feeds:
            if not feed.instants:
                feed.release(watermark_ms)
        if len(self._rhythms) == 1:
            (rhythm,) = self._rhythms
            if rhythm.enters_early:
                close_ms = rhythm.wakes_at(max(self.passed_ms, time_of(self.moment)))
                for window in rhythm.closing:
                    if window.feed in feeds:
                        window.enter(close_ms, self._number + 1)

    def _leaves_of_graphs(self) -> list[tuple[tuple[int, LeafPattern], LeafBuffer | StoredLeaf]]:
        return [*self._stored_leaves.items(), *self._large_leaves.items()]

    # ---- time

    def advance(self, watermark_ms: int) -> None:
        """Visit every moment that the watermark allows, and report."""
        if watermark_ms >= self._wake_ms:
            self._visit_until(watermark_ms)
        if watermark_ms > self.passed_ms:
            self.passed_ms = watermark_ms

    def finish(self, watermarks: dict[str, int]) -> None:
        """The streams have ended, having come so far: visit what is left."""
        for rhythm in self._rhythms:
            rhythm.ended_at = min(watermarks[window.feed.stream] for window in rhythm.windows)
        self._visit_until(AFTER_ALL_TIME)
        self.passed_ms = AFTER_ALL_TIME

    def needed_from(self, name: str) -> int:
        """The earliest time of an element that matters to what the query puts out next, or has put out last."""
        member = self._members[name]
        if any(isinstance(window.window, EventTimeWindow) for window in member.rhythm.windows):
            return BEFORE_ALL_TIME  # a derived stream's times say nothing about those of its base
        known_ms = member.rhythm.held_since(self.passed_ms)
        if member.only_non_empty or not member.rhythm.rests:  # its answers are compared with those before
            known_ms = min(known_ms, member.known_before_ms)
        begins = (begin.time_ms for begin in self._needed_begins(member))
        return min([*(window.needed_from(known_ms) for window in member.rhythm.windows), *begins])

    def counted(self, name: str) -> Counted:
        """How many elements the windows of a query had counted where `needed_from` begins, as far as that matters."""
        member = self._members[name]
        begins = zip(member.counting, self._needed_begins(member), strict=True)
        at = member.rhythm.windows.index
        return [(at(window), *begin, window.feed.stream) for window, begin in begins if counts_in_steps(window.window)]

    def _needed_begins(self, member: ClockMember) -> tuple[Begin, ...]:
        """For each window that counts elements from where on it needs them."""
        begins = member.begins_before
        if begins is None:  # it was not reported twice yet: all that it has is needed, and what waits
            begins = tuple(
                Begin(self.passed_ms, 0) if window.feed.begin is FROM_THE_FIRST else window.feed.begin
                for window in member.counting
            )
        return begins

    def _visit_until(self, watermark_ms: int) -> None:
        for feed in self._all_feeds:
            if feed.waiting.from_ms < watermark_ms:
                feed.release(watermark_ms)
        limit = close_at(watermark_ms)
        moment = NEVER
        while moment != limit:  # what follows that is later
            moment = NEVER
            for rhythm in self._rhythms:
                if (soonest := rhythm.next_moment(self.moment)) < moment:
                    moment = soonest
            if moment > limit:
                break
            self._visit(moment)
            if self.on_visited is not None:
                self.on_visited()
        wake_ms = AFTER_ALL_TIME
        for rhythm in self._rhythms:
            if rhythm.has_closes and (close_ms := rhythm.wakes_at(watermark_ms)) < wake_ms:
                wake_ms = close_ms
        for feed in self._all_feeds:
            if feed.instants and feed.waiting.from_ms < wake_ms:
                wake_ms = feed.waiting.from_ms + 1
        self._wake_ms = wake_ms

    def _visit(self, moment: int) -> None:
        self.moment = moment
        self._number = number = self._number + 1
        time_ms = time_of(moment)
        rhythms = tuple(self._rhythms.items())  # whoever gets a report may add others
        for rhythm, _ in rhythms:  # before any moves: others may have the same windows
            rhythm.come_to(moment)
        for rhythm, _ in rhythms:
            for window in rhythm.moving:
                if window.number != number:
                    window.moved_ms = time_ms
                    window.move_to(time_ms, number)
        if self._stored_leaves or self._large_leaves:
            bound_ms = seen_before(moment)
            for _, leaf in self._leaves_of_graphs():
                if leaf.moves(BEFORE_ALL_TIME, bound_ms):
                    leaf.step(BEFORE_ALL_TIME, bound_ms, number)
                    self._stored_number = number
        for rhythm, members in rhythms:
            changed, due = rhythm.changed_at(number), rhythm.is_due(moment)
            if changed or due:
                for member in tuple(members):
                    self._step(member, time_ms, changed, due)

    def _step(self, member: ClockMember, time_ms: int, changed: bool, due: bool) -> None:
        if member.removed:
            return
        try:
            member.step(time_ms, self._number, changed, due, self._stored_number)
        except BrokenPipeError:  # nobody reads anything any more
            raise
        except Exception as error:  # whatever goes wrong in one query must not stop the others
            if member.removed:
                warn_gone(member.name, error)
            else:
                self.remove(member.name)
                self._on_failure(member.name, error)
