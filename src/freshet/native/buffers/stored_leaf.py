"""The rows that a pattern matches in a stored graph, read where the store has them.

A stored leaf has no rows of its own: a row is a number that says where in the store to read
(`freshet.kernels.pattern_rows`). What it knows is when rows begin. Loaded rows have always been there; a row that was
absorbed at time t lives from the instant at t on, or from the first moment of the batch that finds it, where that is
later. Rows never end: where triples are deleted that a leaf can show, another one takes its place
(`freshet.native.queries.rebuild`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np

from freshet.kernels import records
from freshet.kernels.pattern_rows import OLD as _OLD
from freshet.kernels.pattern_rows import begin_rows, drop_unborn, row_births
from freshet.native.buffers.pending_rows import PendingRows
from freshet.native.buffers.record import Record
from freshet.native.buffers.result_buffer import ResultBuffer
from freshet.native.buffers.ring_index import Lives
from freshet.native.moments import OPEN
from freshet.rdf.triples import DEFAULT_GRAPH, Ids
from freshet.store.compaction import PointsToRows
from freshet.store.graph import Reader
from freshet.store.graph_snapshot import GraphSnapshot
from freshet.store.pattern_rows import UNBOUND, PatternRows, Rows
from freshet.store.triple_index import PREDICATE, TripleIndex

_NO_ROWS = np.empty(0, np.int32)
_NO_MOMENTS = np.empty(0, np.int64)
_NO_KEY = np.empty((1, 0), np.int64)
_BEFORE = int(_OLD)
_OWN_LIVES = Lives(_NO_MOMENTS, _NO_MOMENTS, False)
_FEW = 8  # rows that Python looks at sooner than a kernel


class Pattern(Protocol):
    """Three terms, 0 where there is a variable, and for each variable the places it stands at."""

    @property
    def constants(self) -> tuple[int, int, int]: ...
    @property
    def columns(self) -> tuple[tuple[int, ...], ...]: ...


class Moments(Protocol):
    """The moments of a batch, from the first to the last. Batches are in order, and have numbers from 1."""

    @property
    def number(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...


class Graphs(Protocol):
    """All stored graphs as readers have them now."""

    @property
    def number(self) -> int:
        """Another one wherever anything has changed."""

    @property
    def deletions(self) -> Mapping[tuple[int, int], int]:
        """How often triples of a graph and a predicate, or of any (ANY), were deleted."""

    def graph(self, name: int) -> Reader: ...
    def names(self) -> Ids: ...


class GraphStore(Protocol):
    """The store: it publishes what was loaded and absorbed before a batch by the time that the batch is stepped."""

    def named(self) -> Graphs: ...
    def point_to_rows(self, pointing: PointsToRows, graph: int = DEFAULT_GRAPH) -> None: ...


class StoredLeaf:
    """A leaf buffer of a pattern over a stored graph.

    `step` brings it to a batch once. Until the next step it shows the graph as it was then, whatever
    is absorbed, loaded or compacted meanwhile. A step that finds rows compacted has other numbers for them; the
    results that point to them (`point_from`) get these.
    """

    died = _NO_MOMENTS  # no row ends

    def __init__(self, pattern: Pattern, store: GraphStore, graph: int = DEFAULT_GRAPH) -> None:
        self.pattern = pattern
        self._store = store
        self._graph = graph
        self._rows = PatternRows(pattern.constants, pattern.columns)
        self._places = tuple(places[0] for places in pattern.columns)
        self.values = _Values(self._rows, self._places)
        self._indexes: dict[tuple[int, ...], StoredIndex] = {}
        self.record = Record(records.BUFFER_FIELDS)  # without arrays: only what a join has to know
        self._number = 0  # of the batch
        self._changed = False
        self._first = self._last = _BEFORE  # moments of the batch
        self._before = _BEFORE  # the last moment of the one before
        self._seen = 0  # appended rows that the one before had looked at
        self._floor = 0  # below which appended rows are older than the batch
        self._base_birth = _BEFORE
        self._early, self._early_births = _NO_MOMENTS, _NO_MOMENTS
        self._pending = PendingRows()
        self._lowerings = 0
        self._mark = 0  # of what `newer` has given
        self._fresh: Rows = _NO_ROWS
        self._young_from = 0  # the least number of a row that may be younger than the batch; see `_note_lives`
        self._results: WeakKeyDictionary[ResultBuffer, int] = WeakKeyDictionary()  # with the column that points here
        self._settled: tuple[TripleIndex, int] | None = None  # a base, and how many rows appended to it
        self._is_retired = False
        store.point_to_rows(self, graph)  # before it is read: from here on the base stays, if it has anything
        self._deletions = self._deletion_count()
        self._reader = store.named().graph(graph)
        self._rows.read(self._reader)
        self.live = self._rows.base_rows()
        self._note_lives()

    @property
    def row_capacity(self) -> int:
        """More than the number of any row."""
        return self._rows.appended + self._rows.limit

    @property
    def held_bytes(self) -> int:
        """What it has itself; the rows are the store's."""
        return self._pending.nbytes + self._early.nbytes + self._early_births.nbytes + self._fresh.nbytes

    def reachable_ids(self) -> Iterator[Ids]:
        """The ids that it has itself."""
        yield np.array(self.pattern.constants, np.int64)

    def sizes(self) -> tuple[int, list[int]]:
        """About how many rows there are, and how many different values each column has in them."""
        rows = self.live + len(self._pending)
        return rows, [min(rows, self._rows.distinct(place)) for place in self._places]

    @property
    def most_rows(self) -> int:
        """More rows than there are, where it has not been stepped yet and appended ones are not counted."""
        return self.live + (len(self._pending) if self._number else self._rows.limit)

    def point_from(self, results: ResultBuffer, column: int) -> None:
        """Results have numbers of rows in a column."""
        self._results[results] = column

    def settled_rows(self, reader: GraphSnapshot) -> int | None:
        """How many of the appended rows are old to the next batch; None where that has nothing new to look at."""
        if self._is_retired:
            return None
        settled = self._settled  # another thread may be in the middle of a step
        if settled is None:  # the first batch will look at all of them
            return None
        rows = settled[1] if settled[0] is reader.base else 0
        if settled[0] is not reader.base and not len(settled[0]):  # a load may have replaced a base that had nothing
            return 0
        predicate = self.pattern.constants[PREDICATE]
        return None if predicate and reader.appended.end_of(predicate) <= rows else rows

    def has_seen_ends(self, reader: GraphSnapshot) -> bool:
        """Whether none of the rows that it shows has ended."""
        if self._is_retired or reader.ended is None or not reader.ended.concerns(self.pattern.constants[PREDICATE]):
            return True
        ended = self._reader.ended if isinstance(self._reader, GraphSnapshot) else None
        return ended is not None and ended.log is reader.ended.log and ended.total == reader.ended.total

    def retire(self) -> None:
        """Nothing reads it any more, though it may be there until the next collection of garbage."""
        self._is_retired = True

    @property
    def is_settled(self) -> bool:
        """Whether further batches find it as the last one did, as long as the graph stays the same."""
        is_at_rest = not (len(self._fresh) or len(self._pending) or len(self._early))
        return is_at_rest and self._number > 0 and self._base_birth == _BEFORE

    @property
    def has_lost_rows(self) -> bool:
        """Whether triples were deleted that it can show."""
        return self._deletion_count() != self._deletions

    def _deletion_count(self) -> int:
        return self._store.named().deletions.get((self._graph, self.pattern.constants[PREDICATE]), 0)

    # ---- batches

    def step(self, batch: Moments) -> bool:
        """Show what begins by the last moment of a batch; says whether anything begins in it."""
        if batch.number == self._number:
            return self._changed
        is_first = self._number == 0
        self._before, self._seen = self._last, self._rows.limit
        self._number, self._first, self._last = batch.number, batch.first, batch.last
        self._base_birth = _BEFORE
        if len(self._early):
            self._settle_early()
        pending = self._pending
        self._floor = pending.least_row(self._floor) if len(pending) else self._seen
        reader = self._store.named().graph(self._graph)
        if is_first:
            self._begin(reader)
        elif self._rows.is_compacted(reader):
            self._follow_compaction(reader)
            self._go_on(reader)
        elif pending.first_birth > batch.last and (reader is self._reader or self._rows.is_untouched(reader)):
            self._fresh = _NO_ROWS
        else:
            self._go_on(reader)
        self._reader = reader
        self._note_lives()
        self._settled = (self._rows.current_base, pending.least_row(self._floor) if len(pending) else self._rows.limit)
        self._changed = len(self._fresh) > 0
        return self._changed

    def _begin(self, reader: Reader) -> None:
        """At the first batch, rows that were born before its moments are old."""
        if self._rows.read(reader):
            self.live = self._rows.base_rows()
        self._seen, self._before = self._rows.limit, self._first - 1
        self._lowerings = self._rows.lowerings
        rows, self._mark = self._rows.newer(self._mark)
        births = self._births_of(rows)
        old = births < self._first
        self.live += int(np.count_nonzero(old))
        self._note_early(rows[old], births[old], _BEFORE)
        self._floor = int(rows[~old].min()) if not old.all() else self._rows.limit
        self._begin_rows(rows[~old], births[~old])

    def _follow_compaction(self, reader: Reader) -> None:
        """Read a graph of which more is compacted: rows that are older than the batch."""
        count = self._rows.newly_compacted(reader)
        pointed = [(results, column, results.pointed_to(column)) for results, column in self._results.items()]
        held = np.unique(np.concatenate((_NO_ROWS, *(rows for _, _, rows in pointed))))
        renumbered = self._rows.renumber(reader, held)
        for results, column, rows in pointed:
            results.point_to(column, renumbered[np.searchsorted(held, rows)])
        self._seen, self._floor, self._mark = (max(0, each - count) for each in (self._seen, self._floor, self._mark))
        self._pending.shift(count)
        self._early_births = self._early_births[self._early >= count]
        self._early = self._early[self._early >= count] - count

    def _go_on(self, reader: Reader) -> None:
        base_rows = _NO_ROWS
        if self._rows.read(reader):
            assert self.live + len(self._pending) == 0, "a base stays as long as its rows are in use"
            self._mark = self._seen = self._floor = 0
            self.live = self._rows.base_rows()
            self._base_birth = self._first
            base_rows = self._rows.find(self._rows.lookup(()), _NO_KEY)[1]
            base_rows = base_rows[base_rows < self._rows.appended]
        if self._rows.lowerings != self._lowerings:
            self._lowerings = self._rows.lowerings
            if len(self._pending):
                pending = self._pending.rows()
                self._pending.replace(pending, self._births_of(pending))
        rows, self._mark = self._rows.newer(self._mark)
        arrays = self._rows.arrays
        fresh, births, is_simple = begin_rows(
            rows, arrays.times, arrays.earliest, self._first, self._last, self._rows.appended
        )
        if is_simple and self._pending.first_birth > self._last:
            self._fresh = fresh
            self.live += len(fresh)
        else:
            self._begin_rows(rows, births)
        if len(base_rows):
            self._fresh = np.concatenate((base_rows, self._fresh))

    def _births_of(self, rows: Ids | Rows) -> Ids:
        """The moments at which appended rows begin, by the earliest time that they came with."""
        births: Ids = 2 * self._rows.arrays.earliest[rows] + 1
        return births

    def _begin_rows(self, rows: Ids, births: Ids) -> None:
        """Rows begin, and those that are pending, as far as their time has come."""
        if self._pending.first_birth <= self._last:
            released, released_births = self._pending.release(self._last)
            self._note_early(released, released_births, self._first)
        else:
            released, released_births = _NO_ROWS, _NO_MOMENTS
        due = births <= self._last
        if not due.all():
            self._pending.add(rows[~due], births[~due])
            rows, births = rows[due], births[due]
        self._note_early(rows, births, self._first)
        if len(released):
            rows, births = np.concatenate((released, rows)), np.concatenate((released_births, births))
        order = np.argsort(np.maximum(births, self._first), kind="stable")
        self._fresh = (rows[order] + self._rows.appended).astype(np.int32)
        self.live += len(rows)

    def _note_early(self, rows: Ids | Rows, births: Ids, earliest: int) -> None:
        """Remember the rows that begin before the time that they first came with, as a later one was earlier."""
        arrays = self._rows.arrays
        if arrays.earliest is arrays.times:
            return
        early = births < 2 * arrays.times[rows] + 1
        if early.any():
            noted = np.append(self._early, rows[early].astype(np.int64))
            noted_births = np.append(self._early_births, np.maximum(births[early], earliest))
            order = np.argsort(noted)
            self._early, self._early_births = noted[order], noted_births[order]

    def _settle_early(self) -> None:
        """They are old now; those whose first time has passed need not be remembered any more."""
        times = self._rows.arrays.times[self._early]
        self._early = self._early[2 * times + 1 > self._before]
        self._early_births = np.full(len(self._early), _BEFORE, np.int64)

    # ---- rows

    def fresh(self, number: int) -> Rows:
        """The rows that begin in a batch, in order of birth."""
        return self._fresh if number == self._number else _NO_ROWS

    def dead(self, number: int) -> Rows:
        """The rows that end in a batch: none."""
        return _NO_ROWS

    def births(self, rows: Rows) -> Ids:
        """The moments at which rows begin: none before the first of the batch."""
        births: Ids = row_births(np.ascontiguousarray(rows), *self._lives)
        return births

    def deaths(self, rows: Rows) -> Ids:
        """The moments at which rows end: never."""
        return np.full(len(rows), OPEN)

    def lives(self, number: int) -> Lives:
        """Its indexes know themselves when rows begin."""
        return _OWN_LIVES

    def old_rows(self, first_moment: int) -> Rows:
        """The rows that are older than a batch that begins at a moment."""
        return self.index_on(()).probe(_NO_KEY, np.array([first_moment], np.int64), 0)[1]

    def live_rows(self) -> Rows:
        """The rows that hold at the end of the batch."""
        return self.index_on(()).probe(_NO_KEY, np.array([self._last], np.int64), 1)[1]

    def graph_at(self, moment: int) -> Reader | None:
        """The graph itself, where all that is in it holds at a moment of the batch."""
        if len(self._pending) or (len(self._fresh) and int(self.births(self._fresh).max()) > moment):
            return None
        return self._reader

    def index_on(self, columns: tuple[int, ...]) -> StoredIndex:
        """What finds rows by some of the columns."""
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = StoredIndex(self, columns)
        return index

    def _are_born(self, lefts: Ids, rows: Rows, moments: Ids, ties: int) -> bool:
        """Whether a few rows begin before their moments; False where it takes a kernel to know."""
        if len(self._early) or self._base_birth > _BEFORE:
            return False
        times, appended = self._rows.arrays.times, self._rows.appended
        for at, row in enumerate(rows.tolist()):
            if row >= self._young_from:
                birth = 2 * times.item(row - appended) + 1
                if row - appended < self._seen and birth <= self._before:
                    continue
                if max(birth, self._first) >= moments.item(lefts.item(at)) + ties:
                    return False
        return True

    def _note_lives(self) -> None:
        """Have at hand what kernels need to know when a row begins."""
        rows = self._rows
        self._lives = (
            rows.appended, self._base_birth, self._floor, rows.arrays.times, self._seen, self._before, self._first,
            self._early, self._early_births,
        )  # fmt: skip
        self._young_from = rows.appended + self._floor if self._base_birth == _BEFORE else 0
        fields = self.record.fields
        fields[records.NUMBER], fields[records.FRESH_COUNT] = self._number, len(self._fresh)
        if fields[records.LIVE] != self.live:
            fields[records.LIVE] = self.live
            for index in self._indexes.values():
                index.expect()


class _Values:
    """The values of a stored leaf's rows, as one would ask an array for them: `values[rows, column]`."""

    def __init__(self, rows: PatternRows, places: tuple[int, ...]) -> None:
        self._rows = rows
        self._places = places

    def __getitem__(self, at: tuple[Rows, int]) -> Ids:
        rows, column = at
        return self._rows.terms(rows, self._places[column])

    def item(self, row: int, column: int) -> int:
        return self._rows.term(row, self._places[column])


class StoredIndex:
    """The rows of a stored leaf that have a key."""

    def __init__(self, leaf: StoredLeaf, columns: tuple[int, ...]) -> None:
        self._leaf = leaf
        self._columns = columns
        self._rows = leaf._rows
        self._lookup = leaf._rows.lookup(columns)
        self.record = Record(records.RING_FIELDS)
        self.expect()

    def expect(self) -> None:
        """Write down how many rows a probe may expect."""
        leaf, fields = self._leaf, self.record.fields
        places = {place for place in range(3) if self._lookup[place] != UNBOUND}
        distinct = 1
        if places >= {0, 2} or not leaf.live:
            distinct = max(1, leaf.live)
        elif self._columns:
            distinct = max(1, *(self._rows.distinct(leaf._places[column]) for column in self._columns))
        fields[records.RING_ROWS], fields[records.EXPECTED] = leaf.live, distinct

    def probe(self, keys: Ids, moments: Ids, ties: int, lives: Lives = _OWN_LIVES) -> tuple[Ids, Rows]:
        """Pairs (which key, row) for all rows with the keys that begin before its moment, with ties 1 or at it."""
        lefts, rows = self._rows.find(self._lookup, keys)
        leaf, found = self._leaf, len(rows)
        if found and not (found <= _FEW and leaf._are_born(lefts, rows, moments, ties)):
            count = drop_unborn(lefts, rows, moments, ties, *leaf._lives)
            if count < found:
                lefts, rows = lefts[:count], rows[:count]
        return lefts, rows

    def counts(self, keys: Ids) -> Ids:
        """How many rows each key has, or somewhat more: also those that do not hold yet."""
        return self._rows.count(self._lookup, keys)

    @property
    def is_skewed(self) -> bool:
        """Whether keys may have many more rows than a probe may expect."""
        return self.rows_per_key() > records.MANY_STORED

    def rows_per_key(self) -> float:
        """How many rows a probe that hits may expect."""
        fields = self.record.fields
        return max(1.0, fields[records.RING_ROWS] / fields[records.EXPECTED])
