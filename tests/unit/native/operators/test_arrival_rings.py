"""The arrays of a join of arrivals over long streams: keys are shared, swept, indexed late, and nothing gets lost."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arrival_streams import PREDICATES, STREAMS, elements, window_content
from freshet.algebra.windows import AllWindow, CountWindow, NowWindow, RangeWindow, TriplesWindow
from freshet.kernels.index import FREE, IDLE, ROW_MASK, USED
from freshet.kernels.lives import COLUMNS, END, ENTRY, FIRST, KEYS, LINK_WIDTH, LINKS, NEWER, OLDER, ROOM, ROWS
from freshet.native.arrival_leaf import ArrivalLeaf, ArrivalLeaves
from freshet.native.arrival_source import NOTHING_OUT, ArrivalSource
from freshet.native.leaf_buffer import LeafPattern
from freshet.native.operators.arrival_join import ArrivalJoinOp
from freshet.rdf.terms import Iri

STORED_SHARE = 0.1
BATCHES = 120
SIZES = (1, 2, 4, 16, 40)
CHECKED = 0.2  # of the batches


def random_window(random: Random):
    stream = Iri(random.choice(STREAMS))
    size = random.randint(1, 12)
    kinds = (RangeWindow(stream, size), RangeWindow(stream, size, random.randint(1, 4)), NowWindow(stream))
    return random.choice((*kinds, TriplesWindow(stream, 2 * size), CountWindow(stream, 2 * size), AllWindow(stream)))


def random_leaves(random: Random, count: int, names: str) -> list[ArrivalLeaf]:
    leaves = []
    for at in range(count):
        window = None if at and random.random() < STORED_SHARE else random_window(random)
        pattern = LeafPattern((0, random.choice(PREDICATES), 0), ((0,), (2,)))
        leaves.append(ArrivalLeaf(window, pattern, tuple(random.sample(names, 2))))
    return sorted(leaves, key=lambda leaf: leaf.window is None)


def solutions(leaves, contents) -> Counter:
    """The join of the leaves' rows, leaf after leaf."""
    found = [{}]
    for leaf, rows in zip(leaves, contents, strict=True):
        by_key: dict = {}
        shared = [name for name in leaf.names if name in found[0]] if found else []
        for row in (dict(zip(leaf.names, values, strict=True)) for values in rows):
            by_key.setdefault(tuple(row[name] for name in shared), []).append(row)
        found = [{**one, **row} for one in found for row in by_key.get(tuple(one[name] for name in shared), ())]
    return Counter(tuple(value for _, value in sorted(one.items())) for one in found)


def check_index(arrays, idle_entries, room) -> np.ndarray:
    """The entries of an index, which has counted them, its idle and its free ones."""
    entries = arrays.table[arrays.table >= 0] & ROW_MASK
    free = arrays.free[: arrays.sizes[FREE]]
    assert arrays.sizes[USED] <= len(arrays.counts)
    assert sorted([*entries.tolist(), *free.tolist()]) == list(range(arrays.sizes[USED]))
    assert arrays.sizes[IDLE] == np.count_nonzero(idle_entries[entries])
    assert room == len(arrays.counts) - len(entries)
    return entries


def ring_of(leaves: ArrivalLeaves, place, entry: int) -> list[int]:
    """The rows of a key in one of the ring indexes that share it, newest first."""
    word = leaves.ring_entries.keys.item(entry, place.word)
    links = LINKS + LINK_WIDTH * place.slot
    row, newer, rows = word & ROW_MASK, -1, []
    while row >= 0:
        record = leaves.life.records[row, links : links + LINK_WIDTH].tolist()
        assert (record[NEWER], record[ENTRY]) == (newer, entry)
        rows.append(row)
        newer, row = row, record[OLDER]
    assert len(rows) == word >> 32
    return rows


def check_arrays(leaves: ArrivalLeaves, places) -> None:
    """What must hold between batches."""
    rows, keys = leaves.row_entries.arrays, leaves.ring_entries.arrays
    check_index(rows, rows.counts == 0, leaves.row_entries.room)
    words = keys.keys[:, 1 + leaves.key_columns :]
    entries = check_index(keys, (words == 0).all(axis=1), leaves.ring_entries.room)
    assert (leaves.life.heirs < 0).all()
    for place in places:
        columns = leaves.rings.columns[place.number, COLUMNS:]
        columns = columns[columns >= 0]
        used = entries[(keys.keys[entries, 0] == place.variables) & (keys.keys[entries, place.word] != 0)]
        rings = {entry: ring_of(leaves, place, entry) for entry in used.tolist()}
        for entry, ring in rings.items():
            assert (leaves.values[np.ix_(ring, 1 + columns)] == keys.keys[entry, 1 : 1 + len(columns)]).all()
        linked = [row for ring in rings.values() for row in ring]
        assert sorted(linked) == leaves.live_rows(place.leaf).tolist()
        sizes = leaves.rings.sizes[place.number]
        assert (sizes[ROWS], sizes[KEYS]) == (len(linked), len(rings))
    queues = leaves.life.queues
    queued = queues[:, ROOM] - queues[:, END] + queues[:, FIRST]
    assert queued.min() >= 0
    slots = leaves.rings.slots.shape[1]
    assert leaves._room <= min(leaves.row_entries.room, leaves.ring_entries.room // slots, queued.min())


class Case:
    """A join with what has come so far, and the solutions that there are by what it says came and went."""

    def __init__(self, random: Random, count: int, names: str) -> None:
        self.random = random
        self.leaves = random_leaves(random, count, names)
        self.names = sorted({name for leaf in self.leaves for name in leaf.names})
        self.source, self.buffers = ArrivalSource(self.leaves), ArrivalLeaves(self.leaves)
        self.join = ArrivalJoinOp(self.buffers, deaths=True)
        self.came = {stream: [] for stream in STREAMS}
        self.stored = []
        self.now = 0
        self.there: Counter = Counter()

    def late_index(self) -> None:
        """An index on a variable that two leaves have, as another probing order would ask for."""
        having = Counter(name for leaf in self.leaves for name in leaf.names)
        leaf = self.random.randrange(len(self.leaves))
        for column, name in enumerate(self.leaves[leaf].names):
            if having[name] > 1 and self.random.random() < 0.2:
                self.buffers.index_on(leaf, (column,))

    def arrivals(self, count: int, until: int):
        """Some nodes come again and again, for a while; most never do, so that keys fall out of use."""
        times = sorted(self.random.randrange(self.now, until) for _ in range(count))
        return [(t, (self.node(), self.random.choice(PREDICATES), self.node())) for t in times]

    def node(self) -> int:
        if self.random.random() < 0.3:
            return self.random.randrange(10**6, 2 * 10**6)
        return 1 + self.now // 40 + self.random.randrange(4)

    def batch(self, size: int) -> None:
        until = self.now + 1 + self.random.randrange(1 + size // self.random.choice((1, 4, 16)))
        for stream in self.source.streams:
            arrivals = self.arrivals(self.random.randint(0, size), until)
            self.came[stream] += arrivals
            self.source.receive(stream, elements(arrivals))
        more = self.arrivals(self.random.randrange(3), until)
        self.stored += more
        self.source.stored(elements(more))
        self.now = until
        ready = self.source.ready(until)
        if ready is not None:
            self.late_index()
            born, died = self.step(ready)
            self.there.update(born)
            self.there.subtract(died)

    def step(self, ready):
        homes = self.join.homes(self.names)
        if self.random.random() < 0.3:
            return self.step_by_step(ready)
        if ready.is_instant:
            came, went = self.join.pass_instant(self.source, ready, NOTHING_OUT, homes)
            return map(tuple, came.tolist()), map(tuple, went.tolist())
        came, went = self.join.pass_through_kept(self.source, ready, NOTHING_OUT, homes)
        return map(tuple, came[:, 1:].tolist()), map(tuple, went[:, 1:].tolist())

    def step_by_step(self, ready):
        self.buffers.step(self.source.gather(ready), self.source.first)
        self.late_index()
        changes = self.join.step(self.source.first, self.source.steps)
        columns = [self.join.columns(change.pointers, self.names) for change in changes]
        self.buffers.end_step()
        return [list(zip(*(side[name].tolist() for name in self.names), strict=True)) for side in columns]

    def from_scratch(self) -> Counter:
        time = self.source.last_ms
        contents = []
        for leaf in self.leaves:
            if leaf.window is None:
                triples = {triple for t, triple in self.stored if t <= time}
            else:
                triples = window_content(leaf.window, self.came[leaf.window.stream.value], time)
            contents.append([(s, o) for s, p, o in triples if p == leaf.pattern.constants[1]])
        return solutions(self.leaves, contents)


@pytest.mark.parametrize("names", ["ab", "abc", "abcd"])
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32), st.integers(2, 5))
def test_the_arrays_are_right_between_batches_and_so_are_the_answers(names, seed, count):
    case = Case(Random(seed), count, names)
    for _ in range(BATCHES):
        case.batch(case.random.choice(SIZES))
        if case.random.random() < CHECKED:
            check_arrays(case.buffers, case.buffers._indexes.values())
            assert case.there == case.from_scratch()
