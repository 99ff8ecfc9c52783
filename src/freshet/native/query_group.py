"""Queries that wait for the same streams go through event time together, a batch of moments at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter

import numpy as np

from freshet.algebra.windows import CountWindow, EventTimeWindow, WindowOperator
from freshet.native.buffers.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.buffers.leaf_view import LeafView
from freshet.native.buffers.one_way_index import Ids
from freshet.native.buffers.stored_leaf import GraphStore, StoredLeaf
from freshet.native.change import MomentBatch
from freshet.native.failures import warn_gone
from freshet.native.moments import (
    AFTER_ALL_TIME,
    BEFORE_ALL_TIME,
    FIRST_MOMENT,
    close_after,
    close_at,
    last_close_allowed,
)
from freshet.native.operators.stored_copy import FEW_STORED, StoredCopy
from freshet.native.r2s.grounded import is_grounded
from freshet.native.r2s.relation_to_stream import Answers
from freshet.native.s2r.adaptive_window import AdaptiveWindowContent, Subwindow
from freshet.native.s2r.content import WindowContent
from freshet.native.s2r.contents import MOVING_TOGETHER, content_of
from freshet.native.s2r.feed import FROM_THE_FIRST, Begin, Feed
from freshet.native.s2r.window_view import WindowView
from freshet.native.schedule import Due, EvaluationSchedule
from freshet.native.scheduled_query import GroupedQuery, ScheduledQuery
from freshet.native.timing import Counted, Timing, closes_regularly, depends_on_all, source_of
from freshet.rdf.deadline import QueryLimits
from freshet.rdf.elements import Elements
from freshet.rdf.triples import DEFAULT_GRAPH

FEW_SCHEDULES = 16  # up to this number all are gone through with every batch
_MOST_SLEPT = 1 << 16  # elements whose times windows that sleep may keep

BATCH_ELEMENTS = 4096  # of a stream that enter windows in one batch, or as many as a window holds

_WindowKey = tuple[WindowOperator, tuple[str, ...], int]
_ScheduleKey = tuple[int | None, tuple[WindowContent | WindowView, ...]]
_NO_MOMENTS = np.empty(0, np.int64)


@dataclass(slots=True, eq=False)
class WindowSet:
    """Feeds by their streams, and windows over them."""

    feeds: dict[str, Feed] = field(default_factory=dict)
    windows: dict[_WindowKey, WindowContent] = field(default_factory=dict)


_order = attrgetter("order")


class QueryGroup:
    """The windows, stored leaves and queries that depend on one set of streams.

    All moments that the watermarks of these streams allow are one batch: windows say when their elements enter and
    leave, leaf buffers give rows lives, and each query is asked once for the answers of all its evaluations. Equal
    patterns in equal windows share one leaf buffer.

    A query sees what comes after it was registered. One that comes later reads the windows and leaf buffers that are
    there, from the number of the next element on (`LeafView`, `WindowView`). That works where elements to come are
    behind those that wait; else it has feeds of its own, with those who are registered before the next element.
    With `one_by_one` each evaluation is a batch of its own.
    """

    def __init__(
        self,
        streams: Iterable[str],
        stored: GraphStore,
        on_failure: Callable[[str, Exception], None],
        *,
        one_by_one: bool = False,
    ) -> None:
        self.streams = set(streams)
        self.moment = close_at(BEFORE_ALL_TIME)  # of the evaluation that was reported last
        self.passed_ms = BEFORE_ALL_TIME  # nothing is left to do up to the close at this time
        self.on_begin: Callable[[], None] | None = None  # before each batch
        self.on_visited: Callable[[], None] | None = None  # after each batch, when all is where others find it
        self._stored = stored
        self._on_failure = on_failure
        self._one_by_one = one_by_one
        self._queries: dict[str, ScheduledQuery] = {}
        # The queries of each schedule: all, and those that must be asked in every batch, or in the present one.
        self._schedules: dict[EvaluationSchedule, list[ScheduledQuery]] = {}
        self._restless: dict[EvaluationSchedule, dict[ScheduledQuery, None]] = {}
        self._readers: dict[int, list[ScheduledQuery]] = {}  # by the identities of leaf buffers
        self._schedule_of: dict[_ScheduleKey, EvaluationSchedule] = {}
        self._feeds: dict[str, list[Feed]] = {}
        self._all_feeds: list[Feed] = []
        self._all_windows: list[WindowContent] = []
        self._shared = WindowSet()
        self._apart = WindowSet()  # of queries that were registered since the last element and cannot share
        self._chosen = self._shared  # by the query that is being registered
        self._begins: dict[WindowOperator, Begin | Subwindow] = {}  # of one that is registered again after a restart
        self._sources: tuple[str, ...] = ()  # its streams
        self._watermarks: dict[str, int] = {}  # how far streams had come with their last elements
        self._stored_leaves: dict[tuple[int, LeafPattern], StoredLeaf] = {}
        self._copies: dict[StoredLeaf, StoredCopy] = {}
        self._is_outgrown = False  # whether any of these has too many rows
        self._settled_graphs: int | None = None  # the graphs of which these have nothing new to say
        self._deletions: Mapping[tuple[int, int], int] = {}  # as the last batch found them
        self._added = 0  # queries so far
        self._number = 0  # of the last batch
        self._next_moment = FIRST_MOMENT  # the first of the next batch
        self._loaded = False  # whether a stored graph has changed that no leaf reads
        self._next_due_ms = AFTER_ALL_TIME  # below this watermark there is nothing to do
        self._closes: set[tuple[int, int]] | None = None  # slides and starts of all windows, None when these change
        self._any_asleep = False
        self._slept = 0  # elements since windows that sleep were brought up to date

    # ---- queries

    @property
    def names(self) -> list[str]:
        return list(self._queries)

    def query(self, name: str) -> GroupedQuery:
        return self._queries[name].query

    def counts_every_element(self, name: str) -> bool:
        """Whether elements that match none of a query's patterns make a difference to its reports all the same."""
        query = self._queries[name]
        return (
            query.only_changed
            or bool(query.schedule.arriving)
            or any(isinstance(window.window, EventTimeWindow) for window in query.schedule.windows)
        )

    @contextmanager
    def registering(self, timing: Timing) -> Iterator[None]:
        """A query is registered. One whose windows go on from where they were, or adapt, shares no windows."""
        self._sources = timing.streams
        self._begins = dict(timing.begins)
        is_alone = timing.begins or timing.adapts
        self._chosen = WindowSet() if is_alone else self._shared if self.can_share(timing) else self._apart
        try:
            yield
        finally:
            self._sources, self._begins, self._chosen = (), {}, self._shared

    def can_share(self, timing: Timing) -> bool:
        """Whether a query that is registered now sees a suffix of what windows will take in: elements and instants."""
        if timing.begins or timing.adapts:
            return False
        if not any(feed.waiting.count for feed in self._shared.feeds.values()):
            return True
        passed = [max(self.passed_ms, self._watermarks.get(stream, BEFORE_ALL_TIME)) for stream in timing.streams]
        latest = [self._latest_waiting(stream) for stream in timing.streams]
        if all(closes_regularly(window) for window in timing.windows):
            return all(waiting_ms <= passed_ms for waiting_ms, passed_ms in zip(latest, passed, strict=True))
        return max(latest) <= min(passed)

    def _latest_waiting(self, stream: str) -> int:
        feed = self._shared.feeds.get(stream)
        return BEFORE_ALL_TIME if feed is None else feed.waiting.last_ms

    def window(self, window: WindowOperator) -> WindowContent:
        """The content of a window for the query that is being registered."""
        chosen, together = self._chosen, isinstance(window, MOVING_TOGETHER)
        start = self._begins.get(window)
        begin, subwindow = (None, start) if isinstance(start, Subwindow) else (start, None)
        feed = self._feed(source_of(window), begin)
        phase = feed.elements_so_far % window.step if isinstance(window, CountWindow) else 0
        key = (window, self._sources if together else (), phase)
        if key not in chosen.windows:
            instants = [self._feed(source, None) for source in self._sources] if together else [feed]
            content = chosen.windows[key] = content_of(window, feed, instants, phase, subwindow)
            feed.readers.append(content)
            self._all_windows.append(content)
        content = chosen.windows[key]
        if self._any_asleep:
            content.skip_to(self._next_moment - 1)
        return content

    def leaf(self, window: WindowOperator, pattern: LeafPattern) -> LeafBuffer | LeafView:
        """The leaf of a pattern in a window as the query that is being registered sees it."""
        content = self.window(window)
        leaf, begin = content.leaf(pattern), content.begin
        return LeafView(leaf, begin) if begin else leaf

    def _feed(self, stream: str, begin: Begin | None) -> Feed:
        """The feed of a stream, or one of its own for a window that goes on counting."""
        feed = self._chosen.feeds.get(stream) if begin is None else None
        if feed is None:
            feed = Feed(stream, begin or FROM_THE_FIRST)
            self._feeds.setdefault(stream, []).append(feed)
            self._all_feeds.append(feed)
            if begin is None:
                self._chosen.feeds[stream] = feed
        return feed

    def stored_leaf(self, pattern: LeafPattern, graph: int = DEFAULT_GRAPH) -> StoredLeaf:
        """The leaf of a pattern in a stored graph, which reads it where it is."""
        pattern = replace(pattern, filters=())  # the join with the parameters selects
        leaf = self._stored_leaves.get((graph, pattern))
        if leaf is None:
            leaf = self._stored_leaves[graph, pattern] = StoredLeaf(pattern, self._stored, graph)
            self._settled_graphs = None
        return leaf

    def copy_of(self, leaf: StoredLeaf) -> StoredCopy | None:
        """The rows of a stored leaf in arrays, where these are few."""
        copy = self._copies.get(leaf)
        if copy is None and leaf.most_rows <= FEW_STORED:
            copy = self._copies[leaf] = StoredCopy(leaf)
            self._settled_graphs = None
        return copy

    def add(self, name: str, query: GroupedQuery, timing: Timing, limits: QueryLimits | None = None) -> None:
        """Evaluate a query from now on. Its windows and leaves have been asked for just before."""
        contents = tuple(self.window(window) for window in timing.windows)
        begins = tuple(content.begin for content in contents)
        counted = tuple(content.feed.elements_so_far for content in contents)
        windows: tuple[WindowContent | WindowView, ...] = contents
        if any(begins) and not (timing.is_plain and is_grounded(query.plan.root)):  # else what others see gives no rows
            windows = tuple(
                WindowView(content, begin) if begin else content
                for content, begin in zip(contents, begins, strict=True)
            )
        schedule = self._schedule_of.get((timing.period_ms, windows))
        if schedule is None:
            schedule = EvaluationSchedule(windows, timing.period_ms, self._next_moment - 1)
            self._schedule_of[timing.period_ms, windows] = schedule
            self._schedules[schedule], self._restless[schedule] = [], {}
            self._closes = None
            if schedule.arriving and timing.period_ms is None:
                for content in contents:
                    content.feed.instants = True
        began_ms = min(self._watermarks.get(stream, BEFORE_ALL_TIME) for stream in timing.streams)
        scheduled = ScheduledQuery(name, query, timing, schedule, limits, counted, max(began_ms, self.passed_ms))
        self._added += 1
        scheduled.order = self._added
        self._queries[name] = scheduled
        schedule.has_ungrounded |= not is_grounded(query.plan.root)
        schedule.can_sleep &= scheduled.can_rest and not schedule.has_ungrounded
        self._schedules[schedule].append(scheduled)
        self._restless[schedule][scheduled] = None
        for leaf in query.leaves:
            if isinstance(leaf, LeafBuffer):
                self._readers.setdefault(id(leaf), []).append(scheduled)
        self._next_due_ms = min(self._next_due_ms, schedule.next_due(self.passed_ms))

    def wake(self, name: str) -> None:
        """A query must be asked in the next batch, also where its leaves do not change."""
        query = self._queries[name]
        self._restless[query.schedule][query] = None

    def remove(self, name: str) -> None:
        """Forget a query, and the windows and leaves that no other query reads."""
        query = self._queries.pop(name)
        query.removed = True
        others = self._schedules[query.schedule]
        others.remove(query)
        self._restless[query.schedule].pop(query, None)
        for leaf in query.query.leaves:
            if id(leaf) in self._readers:
                readers = self._readers[id(leaf)] = [each for each in self._readers[id(leaf)] if each is not query]
                if not readers:
                    del self._readers[id(leaf)]
        if not others:
            self._closes = None
            del self._restless[query.schedule]
            del self._schedules[query.schedule], self._schedule_of[query.schedule.period_ms, query.schedule.windows]
        self.free()

    def free(self) -> None:
        """Keep the leaves that the remaining queries name, and the windows that their schedules have."""
        leaves = {id(leaf) for query in self._queries.values() for leaf in query.query.leaves}
        windows = {window.content for schedule in self._schedules for window in schedule.windows}
        for window in windows:
            window.keep_leaves(leaves)
        self._all_windows = [window for window in self._all_windows if window in windows]
        self._stored_leaves = {key: leaf for key, leaf in self._stored_leaves.items() if id(leaf) in leaves}
        self._copies = {leaf: copy for leaf, copy in self._copies.items() if id(leaf) in leaves}
        for stream, feeds in list(self._feeds.items()):
            for feed in feeds:
                feed.readers = [window for window in feed.readers if window in windows]
                feed.routes = None
            self._feeds[stream] = [feed for feed in feeds if feed.readers]
        self._all_feeds = [feed for feed in self._all_feeds if feed.readers]
        for each in (self._shared, self._apart):
            each.windows = {key: window for key, window in each.windows.items() if window in windows}
            each.feeds = {stream: feed for stream, feed in each.feeds.items() if feed.readers}

    # ---- data

    def note_stored(self) -> None:
        """A stored graph has changed: what reads it looks again with the next batch."""
        self._loaded = True

    def push(self, stream: str, elements: Elements, watermark_ms: int = BEFORE_ALL_TIME) -> None:
        """Elements of a stream in the order they came, none behind its watermark, which has come so far with them."""
        self._watermarks[stream] = watermark_ms
        feeds = self._feeds.get(stream)
        if not feeds or not len(elements.times):
            return
        if self._apart.feeds:  # who is registered from now on does not see these
            self._apart = WindowSet()
        for feed in feeds:
            feed.waiting.push(elements)
            if feed.instants and feed.waiting.from_ms < self._next_due_ms:
                self._next_due_ms = feed.waiting.from_ms + 1

    def element_bytes(self, stream: str) -> int:
        """What an element of a stream takes at most."""
        return sum(feed.element_bytes for feed in self._feeds.get(stream, ()))

    @property
    def next_due_ms(self) -> int:
        """The first watermark at which there is something to do."""
        return self._next_due_ms

    @property
    def stored_leaves(self) -> list[StoredLeaf]:
        """The leaves of stored graphs, which are no part of any window."""
        return list(self._stored_leaves.values())

    # ---- time

    def advance(self, watermark_ms: int) -> None:
        """Evaluate at every moment that the watermark allows, and report."""
        if watermark_ms >= self._next_due_ms:
            self._go_to(watermark_ms)
        if watermark_ms > self.passed_ms:
            self.passed_ms = watermark_ms

    def finish(self, watermarks: dict[str, int]) -> None:
        """The streams have ended, having come so far: evaluate what is left."""
        for schedule in self._schedules:
            schedule.end_at(min(watermarks[window.feed.stream] for window in schedule.windows))
        self._go_to(AFTER_ALL_TIME)
        self.passed_ms = AFTER_ALL_TIME

    def needed_from(self, name: str) -> int:
        """The earliest time of an element that matters to what the query reports next, or has reported last."""
        query = self._queries[name]
        if any(isinstance(window.window, EventTimeWindow) for window in query.schedule.windows):
            return BEFORE_ALL_TIME  # a derived stream's times say nothing about those of its base
        known_ms = query.schedule.held_since(self.passed_ms)
        if query.only_non_empty or not query.schedule.rests:  # its answers are compared with those before
            known_ms = min(known_ms, query.last_known_ms)
        begins = (begin.time_ms for begin in self._needed_begins(query))
        return min([*(window.needed_from(known_ms) for window in query.schedule.windows), *begins])

    def counted(self, name: str) -> Counted:
        """How many elements the windows of a query had counted where `needed_from` begins, as far as that matters."""
        query = self._queries[name]
        begins = zip((window for window, _ in query.counting), self._needed_begins(query), strict=True)
        at = query.schedule.windows.index
        return [
            (at(window), *begin[:2], window.feed.stream, *map(repr, begin[2:]))
            for window, begin in begins
            if depends_on_all(window.window)
        ]

    def _needed_begins(self, query: ScheduledQuery) -> tuple[Begin | Subwindow, ...]:
        """For each window that counts elements from where on it needs them."""
        if query.begins_before is not None:
            return query.begins_before
        # It was not evaluated twice yet: all that it has is needed, and what waits.
        return tuple(
            window.content.first_begin(self.passed_ms)
            if isinstance(window.content, AdaptiveWindowContent)
            else self._first_begin(query, window.feed, counted)
            for window, counted in query.counting
        )

    def _first_begin(self, query: ScheduledQuery, feed: Feed, counted: int) -> Begin:
        """Where the first element of a feed is that a query sees."""
        if counted:
            return Begin(query.began_ms, 0)
        if feed.begin is not FROM_THE_FIRST:
            return feed.begin
        return Begin(min(self.passed_ms, feed.waiting.from_ms), 0)

    def _go_to(self, watermark_ms: int) -> None:
        last = last_close_allowed(watermark_ms)
        cuts: list[int] = []
        for feed in self._all_feeds:
            if feed.waiting.from_ms < watermark_ms:
                before = feed.count
                feed.release(watermark_ms)
                more = feed.count - before
                self._slept += more
                if more > BATCH_ELEMENTS:
                    cuts += self._cuts(feed, before)
        if self._one_by_one:
            cuts = self._foresee(last).tolist()
        if cuts:
            for moment in sorted(set(cuts)):
                self._run(min(moment, last))
        self._run(last)
        next_due_ms = self._next_close(watermark_ms)
        for feed in self._all_feeds:
            if feed.instants and feed.waiting.from_ms < next_due_ms:
                next_due_ms = feed.waiting.from_ms + 1
        self._next_due_ms = next_due_ms

    def _next_close(self, passed_ms: int) -> int:
        """The first watermark after one that has been passed at which any window closes."""
        if self._closes is None:
            self._closes = {close for schedule in self._schedules for close in schedule.closes}
        close_ms = AFTER_ALL_TIME
        for slide_ms, start_ms in self._closes:
            close_ms = min(close_ms, close_after(passed_ms, slide_ms, start_ms))
        return close_ms

    def _cuts(self, feed: Feed, before: int) -> list[int]:
        """The moments at which a long batch is cut: what enters in one is no more than windows hold, or a few thousand.

        Rows that have died in a batch are still found, and left out, until it ends.
        """
        step = max([BATCH_ELEMENTS, *(window.held for window in feed.readers)])
        return [2 * feed.time(number) + 1 for number in range(before + step, feed.count, step)]

    def _foresee(self, last: int) -> Ids:
        """The moments up to one at which any query is evaluated."""
        places = [window.place for window in self._all_windows]
        for window in self._all_windows:
            window.advance(last)
        moments = [schedule.foresee(last) for schedule in self._schedules]
        for window, place in zip(self._all_windows, places, strict=True):
            window.go_back(place)
        return np.unique(np.concatenate([_NO_MOMENTS, *moments]))

    def _run(self, last: int) -> None:
        """Take the moments up to one as a batch."""
        if last < self._next_moment:
            return
        if self.on_begin is not None:
            self.on_begin()
        first, self._next_moment = self._next_moment, last + 1
        self._number = number = self._number + 1
        awake: Iterable[EvaluationSchedule] = self._schedules
        windows: Iterable[WindowContent] = self._all_windows
        if self._any_asleep or len(self._schedules) > FEW_SCHEDULES:
            awake = self._awake(first, last)
            windows = dict.fromkeys(content for schedule in awake for content in schedule.contents)
        restless, readers = self._restless, self._readers
        if self._stored_leaves:
            deletions = self._stored.named().deletions
            if self._is_outgrown or self._deletions is not deletions:
                self._deletions, self._is_outgrown = deletions, False
                self._replace_leaves(first)
        for window in windows:
            window.advance(last)
            if window.filled:
                for changed_leaf in window.step_leaves(number, first):
                    for query in readers.get(id(changed_leaf), ()):
                        restless[query.schedule][query] = None
        loaded, self._loaded = self._loaded, False
        if self._stored_leaves:
            loaded |= self._step_stored(MomentBatch(number, first, last, _NO_MOMENTS))
        found: list[tuple[ScheduledQuery, Ids, Answers]] = []
        for schedule in tuple(awake):
            due = schedule.due(last)
            if len(due.moments) or loaded or schedule.has_moved:
                asks_all = loaded or (schedule.has_ungrounded and not due.held.all())
                for query in tuple(self._schedules.get(schedule, ())) if asks_all else self._affected_queries(schedule):
                    if (given := self._evaluate(query, number, first, last, due)) is not None:
                        found.append((query, *given))
        for query, moments, answers in found:  # a callback may add and remove queries
            self._report(query, moments, answers)
        if self.on_visited is not None:
            self.on_visited()

    def _step_stored(self, batch: MomentBatch) -> bool:
        """Bring the leaves of stored graphs to a batch, and their copies; says whether any row begins in it."""
        graphs = self._stored.named().number
        if graphs == self._settled_graphs:  # as it mostly is where no stream is absorbed
            return False
        copies, has_begun, is_settled = self._copies, False, True
        for leaf in self._stored_leaves.values():
            changed = leaf.step(batch)
            has_begun |= changed
            is_settled &= leaf.is_settled
            copy = copies.get(leaf)
            if copy is not None:
                copy.follow_leaf(batch, changed=changed)
                is_settled &= copy.is_settled
                self._is_outgrown |= changed and copy.is_outgrown
        self._settled_graphs = graphs if is_settled else None
        return has_begun

    def _replace_leaves(self, first: int) -> None:
        """Have other leaves where triples were deleted, or copies have grown large, and operators that read them."""
        outgrown = {leaf for leaf, copy in self._copies.items() if copy.is_outgrown}
        lost = {key: leaf for key, leaf in self._stored_leaves.items() if leaf in outgrown or leaf.has_lost_rows}
        gone = set(map(id, lost.values()))
        concerned = [each for each in self._queries.values() if any(id(leaf) in gone for leaf in each.query.leaves)]
        ended = [each for each in concerned if self._is_done(each, partial(each.end_all, first))]
        for (graph, pattern), leaf in lost.items():
            self._stored_leaves[graph, pattern] = StoredLeaf(pattern, self._stored, graph)
            self._copies.pop(leaf, None)
        self._settled_graphs = None
        for each in ended:
            if self._is_done(each, each.query.rebuild):
                self._restless[each.schedule][each] = None
        for leaf in lost.values():
            leaf.retire()

    def _is_done(self, query: ScheduledQuery, work: Callable[[], None]) -> bool:
        try:
            work()
        except Exception as error:  # an error in one query must not stop the others
            self._failed(query, error)
            return False
        return True

    def _awake(self, first: int, last: int) -> list[EvaluationSchedule]:
        """The schedules to which a batch can make a difference, each come to where it begins. The others sleep.

        One sleeps while its queries rest and no row is in a leaf buffer of its windows. Where a stored graph is read,
        or the streams have ended, none does.
        """
        none_sleeps = self._loaded or self._stored_leaves or last >= last_close_allowed(AFTER_ALL_TIME)
        awake = []
        for schedule, restless in self._restless.items():
            if none_sleeps or restless or not schedule.can_sleep or schedule.is_filled:
                if schedule.is_asleep:
                    schedule.is_asleep = False
                    schedule.skip_to(first - 1)
                awake.append(schedule)
            else:
                schedule.is_asleep = True
        self._any_asleep = len(awake) < len(self._restless)
        if self._slept > _MOST_SLEPT:
            self._slept = 0
            for schedule in self._restless:
                if schedule.is_asleep:
                    schedule.skip_to(first - 1)
        return awake

    def _affected_queries(self, schedule: EvaluationSchedule) -> Sequence[ScheduledQuery]:
        """The queries of a schedule to which a batch makes a difference, in the order in which they came."""
        asked = self._restless.get(schedule)
        if not asked:
            return ()
        return sorted(asked, key=_order) if len(asked) > 1 else tuple(asked)

    def _evaluate(
        self, query: ScheduledQuery, number: int, first: int, last: int, due: Due
    ) -> tuple[Ids, Answers] | None:
        try:
            given = query.evaluate(number, first, last, due)
            if query.removed:
                return None
            restless = self._restless[query.schedule]
            if query.can_rest and query.query.rests:
                restless.pop(query, None)
            elif query not in restless:
                restless[query] = None
            return given
        except BrokenPipeError:  # the reader has gone
            raise
        except Exception as error:  # an error in one query must not stop the others
            self._failed(query, error)
            return None

    def _report(self, query: ScheduledQuery, moments: Ids, answers: Answers) -> None:
        self.moment = moments.item(-1)
        try:
            query.report(moments, answers)
        except BrokenPipeError:
            raise
        except Exception as error:
            self._failed(query, error)

    def _failed(self, query: ScheduledQuery, error: Exception) -> None:
        if query.removed:
            warn_gone(query.name, error)
        else:
            self.remove(query.name)
            self._on_failure(query.name, error)
