"""The rows of a stored graph that match a pattern, by number, so that others can point to them instead of copying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.adjacency import find_groups
from freshet.kernels.ended_rows import drop_ended, live_pair_rows
from freshet.kernels.pattern_rows import (
    chain_rows,
    count_rows,
    key_rows,
    pair_rows,
    row_predicates,
    row_terms,
    rows_along_since,
    rows_of_key_since,
    triple_rows,
)
from freshet.kernels.sorted_triples import find_grouped_ranges, narrow_ranges, spread_rows
from freshet.rdf.errors import InputError
from freshet.rdf.triples import ANY, Ids, Triples
from freshet.store.appended_view import NOTHING_APPENDED, AppendedView
from freshet.store.ended import EndedView
from freshet.store.found import Column, Found
from freshet.store.order_arrays import OrderArrays
from freshet.store.triple_index import OBJECT, PREDICATE, SUBJECT, TripleIndex

Rows = NDArray[np.int32]

CONSTANT, UNBOUND = -1, -2  # instead of a column of the keys

_MOST_ROWS = 2**31 - 1
_COUNT_MASK = 0xFFFFFFFF
_NO_IDS = np.empty(0, np.int64)
_NO_BASE = TripleIndex()
_NO_KEY = np.empty((1, 0), np.int64)


class BothParts(Protocol):
    """A graph of a base, appended rows and ended ones: a GraphSnapshot."""

    base: TripleIndex
    appended: AppendedView
    ended: EndedView | None


Reader = TripleIndex | BothParts


class Lookup(NamedTuple):
    """Where a search gets the terms of a place from: a column of its keys, the pattern (CONSTANT), or not (UNBOUND)."""

    subject: int
    predicate: int
    object: int


class PatternRows:
    """Rows of a base and what is appended to it; `freshet.kernels.pattern_rows` says how they are numbered.

    It reads what `read` was given last. Numbers stay as long as the base does; `renumber` says what they become.
    """

    def __init__(self, constants: tuple[int, int, int], columns: Sequence[tuple[int, ...]]) -> None:
        """The terms of the pattern, 0 for variables, and the places of each variable."""
        self.constants = constants
        self.columns = tuple(columns)
        self._equal = [(places[0], place) for places in columns for place in places[1:]]
        self.base: TripleIndex | None = None
        self._view = NOTHING_APPENDED
        self.ended: EndedView | None = None  # of the graph, where it can matter
        self._group = -1
        self._distinct: dict[int, int] = {}
        self._by_object = False  # whether rows may have numbers in the order by object, which is sorted when needed
        self._place_columns: dict[int, tuple[Ids, Ids]] = {}
        self._bound: dict[Lookup, tuple[Any, ...]] = {}  # what kernels take, until `read`
        self._bound_in_base: dict[Lookup, tuple[Any, ...]] = {}  # as far as it is of the base

    def read(self, reader: Reader) -> bool:
        """Read a graph as it is now; says whether its base is another one."""
        base, view, ended = _parts(reader)
        self._view = view
        self.ended = ended if ended is not None and ended.concerns(self.constants[PREDICATE]) else None
        self.limit = view.rows  # rows that are appended
        self.compacted = view.compacted  # rows that were appended before, and are part of the base now
        self.compactions = view.compactions
        self.lowerings = view.lowerings  # how often some came again with earlier times
        self.arrays = view.arrays
        predicate = self.constants[PREDICATE]
        group = view.group(predicate) if predicate else None
        self._group = -1
        self._group_end = -1  # the number of its last row + 1, if that is among those that are read
        if group is not None and group < len(self.arrays.groups.ends):
            self._group = group
            end = self.arrays.groups.ends.item(group, 1)
            self._group_end = end if 0 < end <= self.limit else -1
        self._bound.clear()
        if base is self.base:
            return False
        self._read_base(base)
        return True

    def newly_compacted(self, reader: Reader) -> int:
        """How many of the appended rows of `read` are part of the base of another reader."""
        return _parts(reader)[1].compacted - self.compacted

    def is_compacted(self, reader: Reader) -> bool:
        """Whether the base of another reader is one that has what `read` had, but for rows that have ended."""
        return _parts(reader)[1].compactions > self.compactions

    def renumber(self, reader: Reader, rows: Rows) -> Rows:
        """Read a graph of which more is compacted; the numbers that rows have there."""
        every = tuple(range(len(self.columns)))
        keys = np.empty((len(rows), len(every)), np.int64)
        for column, places in enumerate(self.columns):
            keys[:, column] = self.terms(rows, places[0])
        self.read(reader)
        numbers, found = self.find(self.lookup(every), keys)
        assert len(numbers) == len(rows), "a row that is compacted is in the base once"
        return found

    def is_untouched(self, reader: Reader) -> bool:
        """Whether nothing that can match has come since `read`, so that it need not read anew."""
        predicate, arrays = self.constants[PREDICATE], self.arrays
        if not predicate or isinstance(reader, TripleIndex) or reader.base is not self.base:
            return False
        appended, ended = reader.appended, reader.ended
        if (
            ended is not None
            and ended.concerns(predicate)
            and (self.ended is None or ended.number != self.ended.number)
        ):
            return False
        newer = appended.arrays
        # what has grown is replaced, and should not be kept for nothing
        if newer.groups is not arrays.groups or newer.triples is not arrays.triples or newer.times is not arrays.times:
            return False
        if self._group < 0:
            return appended.group(predicate) is None
        return bool(newer.groups.ends.item(self._group, 1) == self._group_end)

    def _read_base(self, base: TripleIndex) -> None:
        self.base = base
        order, predicate = base.order(SUBJECT), self.constants[PREDICATE]
        start, count = 0, len(order)
        if predicate:
            group = order.group(predicate)
            start = count = 0
            if group is not None:
                start, count = group[0] >> 32, group[0] & _COUNT_MASK
        if 2 * count >= _MOST_ROWS:
            raise InputError(f"a pattern matches {count:,} stored triples: continuous queries take half of 2³¹")
        self._start = start
        self.base_count = count  # rows of the predicate, or of all
        self.appended = 2 * count  # the first number of appended rows
        self._distinct.clear()
        self._place_columns.clear()
        self._bound_in_base.clear()

    @property
    def current_base(self) -> TripleIndex:
        """The base of the graph that is read."""
        return _NO_BASE if self.base is None else self.base

    # ---- what rows have

    def terms(self, rows: Rows, place: int) -> Ids:
        """What stands at a place (0 subject, 1 predicate, 2 object) of rows."""
        rows = np.ascontiguousarray(rows)
        arrays = self.arrays
        terms: Ids
        if place != PREDICATE:
            nodes = arrays.into.nodes if place == SUBJECT else arrays.out.nodes
            terms = row_terms(rows, *self._columns_of(place), nodes)
        elif constant := self.constants[PREDICATE]:
            terms = np.full(len(rows), constant, np.int64)
        else:
            order = self._order(SUBJECT)
            terms = row_predicates(rows, order.bounds, order.predicates, arrays.out.nodes, arrays.groups.known)
        return terms

    def term(self, row: int, place: int) -> int:
        """The same for one row."""
        count = self.base_count
        if place != PREDICATE and row < 2 * count:
            by_subject, by_object = self._columns_of(place)
            return int(by_subject.item(row) if row < count else by_object.item(row - count))
        if place != PREDICATE:
            nodes = self.arrays.into.nodes if place == SUBJECT else self.arrays.out.nodes
            return int(nodes.item(row - 2 * count, 0))
        return int(self.terms(np.array([row], np.int32), place)[0])

    def _columns_of(self, place: int) -> tuple[Ids, Ids]:
        """The terms at a place in the order by subject and in that by object."""
        found = self._place_columns.get(place)
        if found is None:
            own = slice(self._start, self._start + self.base_count)
            orders = self._order(SUBJECT), self._order(OBJECT) if self._by_object else None
            by_subject, by_object = (
                _NO_IDS if order is None else (order.keys if place == key else order.seconds)[own]
                for order, key in zip(orders, (SUBJECT, OBJECT), strict=True)
            )
            found = self._place_columns[place] = by_subject, by_object
        return found

    def _order(self, key: int) -> OrderArrays:
        if key == OBJECT and not self._by_object:
            self._by_object = True
            self._place_columns.clear()
        return self.current_base.order(key).arrays

    # ---- which rows have what

    def lookup(self, columns: tuple[int, ...]) -> Lookup:
        """How rows are found by some of the pattern's variables."""
        sources = [CONSTANT if constant else UNBOUND for constant in self.constants]
        for at, column in enumerate(columns):
            for place in self.columns[column]:
                sources[place] = at
        return Lookup(*sources)

    def find(self, lookup: Lookup, keys: Ids) -> tuple[Ids, Rows]:
        """The rows of many keys: the number of the key, ascending, and the row. A key is a row of `keys`."""
        numbers: Ids
        rows: Rows
        if lookup.predicate != CONSTANT:
            numbers, rows = self._find_anywhere(lookup, keys)
        elif lookup.subject == UNBOUND == lookup.object:
            numbers, rows = _each(len(keys), self._all_rows())
        elif lookup.subject == UNBOUND or lookup.object == UNBOUND:
            numbers, rows = key_rows(*self._bound_key(lookup), keys, *self._key_source(lookup))
        elif (ended := self.ended) is not None:
            numbers, rows = live_pair_rows(
                *self._bound_pair(lookup), ended.by_subject, ended.appended, ended.number, keys,
                lookup.subject, self.constants[SUBJECT], lookup.object, self.constants[OBJECT],
            )  # fmt: skip
        else:
            numbers, rows = pair_rows(
                *self._bound_pair(lookup), keys,
                lookup.subject, self.constants[SUBJECT], lookup.object, self.constants[OBJECT],
            )  # fmt: skip
        if self.ended is not None:
            numbers, rows = self._drop_ended(numbers, rows, self.ended)
        for place, other in self._equal:
            same = self.terms(rows, place) == self.terms(rows, other)
            numbers, rows = numbers[same], rows[same]
        return numbers, rows

    def _drop_ended(self, numbers: Ids, rows: Rows, ended: EndedView) -> tuple[Ids, Rows]:
        ends = ended.by_subject, ended.by_object, ended.appended, ended.number
        left = drop_ended(numbers, rows, self._start, self.base_count, *ends)
        return numbers[:left], rows[:left]

    def count(self, lookup: Lookup, keys: Ids) -> Ids:
        """How many rows each key has, or somewhat more."""
        if lookup.predicate == CONSTANT and (lookup.subject == UNBOUND) != (lookup.object == UNBOUND):
            slots, first, shift, _, table, filter, entries, _, limit, group, _ = self._bound_key(lookup)
            source = self._key_source(lookup)
            counts: Ids = count_rows(slots, first, shift, table, filter, entries, limit, group, keys, *source)
            return counts
        return np.bincount(self.find(lookup, keys)[0], minlength=len(keys))

    def _key_source(self, lookup: Lookup) -> tuple[int, int]:
        place = SUBJECT if lookup.subject != UNBOUND else OBJECT
        return lookup[place], self.constants[place]

    def _bound_key(self, lookup: Lookup) -> tuple[Any, ...]:
        """What `key_rows` takes before the keys."""
        bound = self._bound.get(lookup)
        if bound is None:
            by_subject = lookup.subject != UNBOUND
            in_base = self._bound_in_base.get(lookup)
            if in_base is None:
                key = SUBJECT if by_subject else OBJECT
                shifted = (0 if by_subject else self.base_count) - self._start
                in_base = self._bound_in_base[lookup] = (self._order(key).slots, *self._directory(key), shifted)
            table, filter, entries, nodes, _, _ = self.arrays.out if by_subject else self.arrays.into
            bound = (*in_base, table, filter, entries, nodes, self.limit, self._group, self.appended)
            self._bound[lookup] = bound
        return bound

    def _bound_pair(self, lookup: Lookup) -> tuple[Any, ...]:
        """What `pair_rows` takes before the keys."""
        bound = self._bound.get(lookup)
        if bound is None:
            in_base = self._bound_in_base.get(lookup)
            if in_base is None:
                order = self._order(SUBJECT)
                in_base = (order.slots, *self._directory(SUBJECT), order.seconds, -self._start)
                self._bound_in_base[lookup] = in_base
            arrays = self.arrays
            appended = (arrays.triples, arrays.out.nodes, arrays.into.nodes, self.limit, self._group, self.appended)
            bound = self._bound[lookup] = (*in_base, *appended)
        return bound

    def _directory(self, key: int) -> tuple[int, int]:
        """Where the table of the predicate begins in an order's directory, and its shift; 0 for none."""
        group = self.current_base.order(key).group(self.constants[PREDICATE])
        return (0, 0) if group is None else group[1:]

    def _all_rows(self) -> Rows:
        """All rows of the pattern's predicate, or all."""
        base = np.arange(self.base_count, dtype=np.int32)
        newer, _ = self._newer(0)
        return np.concatenate((base, (newer + self.appended).astype(np.int32)))

    def _find_anywhere(self, lookup: Lookup, keys: Ids) -> tuple[Ids, Rows]:
        """As `find` where the predicate is not the pattern's."""
        terms = [_terms(keys, source, constant) for source, constant in zip(lookup, self.constants, strict=True)]
        if all(each is None for each in terms):
            return _each(len(keys), self._all_rows())
        numbers, rows = self._find_in_base(len(keys), *terms)
        more, appended = self._find_appended(len(keys), *terms)
        if len(more):
            rows = np.concatenate((rows, (appended + self.appended).astype(np.int32)))
            numbers = np.concatenate((numbers, more))
            order = np.argsort(numbers, kind="stable")
            numbers, rows = numbers[order], rows[order]
        return numbers, rows

    def _find_in_base(
        self, count: int, subjects: Ids | None, predicates: Ids | None, objects: Ids | None
    ) -> tuple[Ids, Rows]:
        key = OBJECT if subjects is None and objects is not None else SUBJECT
        order, arrays = self.current_base.order(key), self._order(key)
        numbers = np.arange(count)
        keys, seconds = (objects, None) if key == OBJECT else (subjects, objects)
        if keys is None:
            assert predicates is not None, "something is given"
            ranges = np.append(arrays.bounds[:-1] << 32 | np.diff(arrays.bounds), 0)[order.groups_of(predicates)]
        elif predicates is None:
            numbers, _, ranges = order.find_everywhere(keys)
        else:
            groups = order.groups_of(predicates)
            ranges, _ = find_grouped_ranges(arrays.slots, arrays.firsts, arrays.shifts, groups, keys)
        if seconds is not None and len(ranges):
            narrow_ranges(arrays.seconds, ranges, seconds[numbers])
        at, places = spread_rows(ranges, int((ranges & _COUNT_MASK).sum()))
        shifted = self.base_count if key == OBJECT else 0
        return numbers[at], (places + shifted).astype(np.int32)

    def _find_appended(
        self, count: int, subjects: Ids | None, predicates: Ids | None, objects: Ids | None
    ) -> tuple[Ids, Ids]:
        arrays, limit = self.arrays, self.limit
        if not limit:
            return _NO_IDS, _NO_IDS
        groups, every = _NO_IDS, 0
        if predicates is None:
            every = self._view.asked_groups(0)[1]
        else:
            groups = find_groups(predicates, arrays.groups.slots, arrays.groups.known)
        found: tuple[Ids, Ids]
        if subjects is not None and objects is not None:
            nodes = arrays.out.nodes, arrays.into.nodes
            if self.ended is None:
                found = triple_rows(arrays.triples, *nodes, limit, subjects, groups, objects, every)
            else:  # a triple may have several rows
                chains = arrays.out
                at, rows = chain_rows(chains.table, chains.entries, chains.nodes, limit, subjects, groups, every)
                same = chains.nodes[rows, 0] == objects[at]
                found = at[same], rows[same]
        elif subjects is not None or objects is not None:
            chains, keys = (arrays.out, subjects) if subjects is not None else (arrays.into, objects)
            found = chain_rows(chains.table, chains.entries, chains.nodes, limit, keys, groups, every)
        else:
            lists = {group: self._rows_along(group, 0)[0] for group in set(groups.tolist())}
            each_rows = [lists[group] for group in groups.tolist()]
            found = (
                np.repeat(np.arange(count), [len(each) for each in each_rows]),
                np.concatenate([_NO_IDS, *each_rows]),
            )
        return found

    # ---- what came since

    def newer(self, mark: int) -> tuple[Ids, int]:
        """The appended rows that match and came since a mark, numbered among those appended, and the next mark.

        The first mark is 0.
        """
        rows, mark = self._newer(mark)
        for place in (SUBJECT, OBJECT):
            if len(rows) and (constant := self.constants[place]):
                rows = rows[self._appended_terms(rows, place) == constant]
        for place, other in self._equal:
            rows = rows[self._appended_terms(rows, place) == self._appended_terms(rows, other)]
        if len(rows) and self.ended is not None:
            numbered = (rows + self.appended).astype(np.int32)
            rows = self._drop_ended(rows.copy(), numbered, self.ended)[0]
        return rows, mark

    def _newer(self, mark: int) -> tuple[Ids, int]:
        """Those that have one term of the pattern, or all."""
        subject, predicate, object = self.constants
        if not predicate:
            return np.arange(mark, self.limit), self.limit
        if self._group < 0:
            return _NO_IDS, mark
        if not subject and not object:
            return self._rows_along(self._group, mark)
        chains, key = (self.arrays.out, subject) if subject else (self.arrays.into, object)
        found: tuple[Ids, int] = rows_of_key_since(
            chains.table, chains.entries, chains.nodes, mark, self.limit, key, self._group
        )
        return found

    def _rows_along(self, group: int, mark: int) -> tuple[Ids, int]:
        ends = self.arrays.groups.ends
        if not 0 <= group < len(ends):
            return _NO_IDS, mark
        found: tuple[Ids, int] = rows_along_since(self.arrays.along, ends.item(group, 0), mark, self.limit)
        return found

    def _appended_terms(self, rows: Ids, place: int) -> Ids:
        arrays = self.arrays
        terms: Ids
        if place == PREDICATE:
            terms = arrays.groups.known[arrays.out.nodes[rows, 1] >> 32]
        else:
            terms = (arrays.into if place == SUBJECT else arrays.out).nodes[rows, 0]
        return terms

    # ---- how many there are

    def base_rows(self) -> int:
        """How many rows of the base match."""
        if not self.base_count:
            return 0
        if not self._equal:
            return self.current_base.count(*self.constants)
        rows = self.find(self.lookup(()), np.empty((1, 0), np.int64))[1]
        return int(np.count_nonzero(rows < self.appended))

    def distinct(self, place: int) -> int:
        """At most about how many different terms stand at a place of the rows."""
        predicate, view = self.constants[PREDICATE], self._view
        if place == PREDICATE:
            return len(self._order(SUBJECT).predicates) + view.asked_groups(0)[1]
        if place not in self._distinct:
            self._distinct[place] = self.current_base.distinct(predicate, place)
        return self._distinct[place] + view.distinct(predicate, place)


def match_rows(graph: BothParts, pattern: tuple[int, int, int]) -> Triples:
    """The triples that match a pattern, found by rows."""
    rows = PatternRows(pattern, [(place,) for place in range(3) if pattern[place] == ANY])
    rows.read(graph)
    _, found = rows.find(rows.lookup(()), _NO_KEY)
    return Triples(*(rows.terms(found, place) for place in range(3)))


def probe_rows(graph: BothParts, patterns: tuple[Column, Column, Column]) -> Found:
    """Every match of many patterns, with the number of the pattern, in the order of the patterns, found by rows."""
    asked = [place for place in range(3) if isinstance(patterns[place], np.ndarray)]
    others = [place for place in range(3) if place not in asked and patterns[place] == ANY]
    constants = [0 if place in asked else int(patterns[place]) for place in range(3)]
    rows = PatternRows((constants[0], constants[1], constants[2]), [(place,) for place in (*asked, *others)])
    rows.read(graph)
    keys = np.stack([patterns[place] for place in asked], axis=1)
    numbers, found = rows.find(rows.lookup(tuple(range(len(asked)))), keys)
    return numbers, Triples(*(rows.terms(found, place) for place in range(3)))


def _parts(reader: Reader) -> tuple[TripleIndex, AppendedView, EndedView | None]:
    if isinstance(reader, TripleIndex):
        return reader, NOTHING_APPENDED, None
    return reader.base, reader.appended, reader.ended


def _terms(keys: Ids, source: int, constant: int) -> Ids | None:
    if source == UNBOUND:
        return None
    return np.full(len(keys), constant, np.int64) if source == CONSTANT else keys[:, source].copy()


def _each(count: int, rows: Rows) -> tuple[Ids, Rows]:
    """All rows for each of some keys."""
    return np.repeat(np.arange(count), len(rows)), np.tile(rows, count)
