"""The records of two streams that wait for each other in a window, for the keys of one hash bucket.

It knows nothing of Spark: `take` gets a batch and gives the pairs, `pack` makes bytes of what is to be kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.kernels.join_windows import (
    CHILD,
    NEVER,
    NOTHING,
    PARENT,
    KeyWindows,
    Pairs,
    Sizing,
    adaptive_pairs,
    fixed_pairs,
)
from freshet.rml.cold_records import (
    BLOCK,
    HOT,
    ROW,
    ColdStore,
    Staying,
    blocks_of,
    cold_count,
    cool_records,
    whole_records,
)
from freshet.rml.join_clock import JoinClock, Times, advance_clock
from freshet.rml.sizing import check_sizes, load_policy
from freshet.rml.windows import FIXED, JoinWindow, WindowKind, default_window

# The columns of records that are to be joined; those that are carried along stand behind them.
KEY, TIME, TIE = "key", "time", "tie"
OWN = (KEY, TIME, TIE)
# In windows that adapt: 1 for records that have not entered a subwindow yet, as their side is ahead of the other.
AHEAD = "ahead"

Ids = NDArray[np.int64]


class Step(NamedTuple):
    """What a batch gave: pairs, as rows of both sides' records beside each other, how many records were late, and how
    many that waited were given up."""

    children: pa.Table
    parents: pa.Table
    late: int
    given_up: int = 0


@dataclass(frozen=True, slots=True)
class WindowState:
    """What waits: records of both sides (their KEY is the number of a row of `keys`), and a row a key.

    `memory` is what a sizing policy keeps in mind, `first` the size that new keys start with.
    """

    children: pa.Table
    parents: pa.Table
    keys: pa.Table
    clock: JoinClock
    first: int
    memory: NDArray[np.float64]

    @property
    def records(self) -> int:
        return len(self.children) + len(self.parents)

    @property
    def cold_records(self) -> int:
        return cold_count(self.children) + cold_count(self.parents)


def empty_state(child: pa.Schema, parent: pa.Schema, window: JoinWindow) -> WindowState:
    """The state before anything came, for records with these columns."""
    keys = _key_table(pa.array([], pa.string()), _fresh(0, window, window.size))
    children, parents = (_held_schema(schema, window).empty_table() for schema in (child, parent))
    return WindowState(children, parents, keys, JoinClock(), window.size, np.empty(0))


def take(
    state: WindowState,
    children: pa.Table,
    parents: pa.Table,
    newest: Times,
    window: JoinWindow,
    lateness_ms: int,
    store: ColdStore | None = None,
    *,
    most: int | None = None,
) -> tuple[WindowState, Step]:
    """The state after a batch, and what the batch gave. `newest` has the largest times of the batch in all buckets.

    The records of a batch arrive in the order of their times. A lossless window needs a store for what is cold. No more
    than `most` records wait in the end, those of the window where it is not said.
    """
    texts, numbers = _numbered(state.keys.column("text"), children.column(KEY), parents.column(KEY))
    new_children = len(children)
    children = _joined(state.children, children, numbers[:new_children])
    parents = _joined(state.parents, parents, numbers[new_children:])
    batch = _arrivals(children, len(state.children), parents, len(state.parents))
    after = advance_clock(state.clock, newest, lateness_ms, window.silent_limit_ms)
    limit = window.most_waiting if most is None else most
    clock = _Clock(state.clock.watermark(lateness_ms), lateness_ms, after.reached)
    if window.kind in FIXED:
        pairs = _fixed_window_pairs(batch, len(texts), window, clock)
        learned = _Learned(_fresh(len(texts), window, window.size), state.first, state.memory)
        worth = np.zeros(len(texts), np.bool_)
    else:
        hot, own_clock = np.ones(len(batch.keys), bool), clock
        if window.kind is WindowKind.LOSSLESS:
            # What is at hand is a matter of cost: the side that is ahead need not be held for the other.
            hot, own_clock = _hot(batch, children, parents), clock._replace(reached=after.front)
        pairs, learned = _adaptive(_part(batch, hot), len(texts), window, own_clock, state)
        worth = _worth(learned, window, int(pairs.watermark), limit)
    if window.kind is WindowKind.LOSSLESS:
        assert store is not None
        stays_hot = np.zeros(len(batch.keys), np.bool_)
        stays_hot[hot] = pairs.waiting
        pairs, given_up = _limit_waiting(_fixed_window_pairs(batch, len(texts), window, clock), batch, limit)
        step = _whole_step(children, parents, batch, pairs, store)
        sides = _move_to_blocks(children, parents, batch, pairs.waiting, stays_hot, store)
    else:
        pairs, given_up = _limit_waiting(pairs, batch, limit)
        rows = batch.places[pairs.children], batch.places[pairs.parents]
        step = Step(_met(children, rows[0]), _met(parents, rows[1]), int(pairs.late))
        sides = [_waiting(table, batch, pairs, side) for side, table in enumerate((children, parents))]
    worth[batch.keys[pairs.waiting]] = True
    keys = _key_table(texts, learned.windows).filter(pa.array(worth)).combine_chunks()
    kept = [_renumbered(side, np.cumsum(worth) - 1) for side in sides]
    after_all = WindowState(kept[0], kept[1], keys, after, int(learned.first), learned.memory)
    return after_all, step._replace(given_up=given_up)


def warm(window: JoinWindow) -> None:
    """Compile what the window needs, or take it from the cache of the kernels.

    Spark's Python workers must find it there: several at once must not fill the cache.
    """
    kinds = {WindowKind.SLIDING, WindowKind.DYNAMIC} if window.kind is WindowKind.LOSSLESS else {window.kind}
    nothing = pa.schema([(KEY, pa.string()), (TIME, pa.int64()), (TIE, pa.int64())])
    for kind in kinds:
        empty = empty_state(nothing, nothing, default_window(kind))
        take(empty, nothing.empty_table(), nothing.empty_table(), Times(), default_window(kind), 0)


class _Clock(NamedTuple):
    """The watermark before a batch, the lateness, and the time up to which both sides are known by its end."""

    watermark: int
    lateness_ms: int
    reached: int


class _Learned(NamedTuple):
    """What is known of sizes after a batch."""

    windows: KeyWindows
    first: int
    memory: NDArray[np.float64]


class _Batch(NamedTuple):
    """The rows of both sides as the kernels want them: those that were held, then those that come in their order."""

    keys: Ids
    times: Ids
    sides: Ids
    places: Ids  # the row in the table of its side
    held: int


def _held_schema(schema: pa.Schema, window: JoinWindow) -> pa.Schema:
    """The columns of records that wait: the number of a key in place of its text; where it is, if it can be cold;
    whether it is in a subwindow, if it may have to wait for one."""
    more = () if window.kind in FIXED else (BLOCK, ROW) if window.kind is WindowKind.LOSSLESS else (AHEAD,)
    own = (*OWN, *more)
    rest = [field for field in schema if field.name not in OWN]
    return pa.schema([*(pa.field(name, pa.int64()) for name in own), *rest])


def _numbered(held: pa.ChunkedArray, *columns: pa.ChunkedArray) -> tuple[pa.Array, Ids]:
    """The distinct texts, those that are held first, and the number of each text of the columns.

    Numbers stand for whole texts, so two keys are never taken for one.
    """
    chunks = [chunk for column in (held, *columns) for chunk in column.chunks]
    whole = pa.chunked_array(chunks, pa.string()).combine_chunks()
    encoded = pc.dictionary_encode(whole)
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary, numbers[len(held) :]


def _joined(held: pa.Table, new: pa.Table, numbers: Ids) -> pa.Table:
    """Those that wait and those that come, as one table."""
    columns = {name: new.column(name) for name in new.column_names}
    columns |= {KEY: pa.array(numbers), BLOCK: pa.array(np.full(len(new), HOT)), ROW: pa.array(np.zeros(len(new), int))}
    columns |= {AHEAD: pa.array(np.ones(len(new), np.int64))}
    arrays = [columns[field.name].cast(field.type) for field in held.schema]
    return pa.concat_tables([held, pa.Table.from_arrays(arrays, schema=held.schema)])


def _column(table: pa.Table, name: str) -> Ids:
    return np.ascontiguousarray(table.column(name).to_numpy())


def _arrivals(children: pa.Table, held_children: int, parents: pa.Table, held_parents: int) -> _Batch:
    both = [np.concatenate((_column(children, name), _column(parents, name))) for name in OWN]
    sides = np.repeat(np.array((CHILD, PARENT), np.int64), (len(children), len(parents)))
    places = np.concatenate((np.arange(len(children)), np.arange(len(parents))))
    comes = places >= np.where(sides == CHILD, held_children, held_parents)
    if AHEAD in children.column_names:
        comes = np.concatenate((_column(children, AHEAD), _column(parents, AHEAD))) == 1
    keys, times, ties = both
    # Ties are broken by what the records are, so that a batch that is repeated after a failure gives the same.
    order = np.lexsort((ties, sides, np.where(comes, times, NEVER), comes))
    return _Batch(keys[order], times[order], sides[order], places[order], int((~comes).sum()))


def _part(batch: _Batch, rows: NDArray[np.bool_]) -> _Batch:
    held = int(rows[: batch.held].sum())
    return _Batch(batch.keys[rows], batch.times[rows], batch.sides[rows], batch.places[rows], held)


def _hot(batch: _Batch, children: pa.Table, parents: pa.Table) -> NDArray[np.bool_]:
    """The rows that are not in blocks."""
    cold = [blocks_of(table) != HOT for table in (children, parents)]
    return ~np.concatenate(cold)[np.where(batch.sides == CHILD, batch.places, len(children) + batch.places)]


def _fixed_window_pairs(batch: _Batch, key_count: int, window: JoinWindow, clock: _Clock) -> Pairs:
    size = window.upper if window.kind is WindowKind.LOSSLESS else window.size
    tumbling = window.kind is WindowKind.TUMBLING
    rows = batch.keys, batch.times, batch.sides, batch.held
    return Pairs(*fixed_pairs(*rows, key_count, size, tumbling, *clock))


def _adaptive(
    batch: _Batch, key_count: int, window: JoinWindow, clock: _Clock, state: WindowState
) -> tuple[Pairs, _Learned]:
    """The pairs of subwindows, and what was learned from those that ended."""
    windows = _windows(state.keys, key_count, window, state.first)
    rows = batch.keys, batch.times, batch.sides, batch.held
    pairs, ended = adaptive_pairs(*rows, windows, _make_sizing(window, state.first), *clock)
    if not window.policy:
        return pairs, _Learned(windows, state.first, state.memory)
    first, sizes, memory = check_sizes(load_policy(window.policy), ended, window, state.memory)
    windows.sizes[ended.keys] = sizes
    return pairs, _Learned(windows, first, memory)


def _limit_waiting(pairs: Pairs, batch: _Batch, most: int) -> tuple[Pairs, int]:
    """Pairs of which at most `most` records keep waiting, and how many were dropped for that: the oldest.

    A side whose clock stands still while it goes on sending holds back all that the other sends.
    """
    waiting = np.flatnonzero(pairs.waiting)
    excess = len(waiting) - most
    if excess <= 0:
        return pairs, 0
    still = pairs.waiting.copy()
    still[waiting[np.argsort(batch.times[waiting], kind="stable")[:excess]]] = False
    return pairs._replace(waiting=still, ahead=pairs.ahead & still), excess


def _worth(learned: _Learned, window: JoinWindow, watermark: int, most: int) -> NDArray[np.bool_]:
    """The keys of which something was learned that is not to be forgotten yet: of too many, those that came last."""
    windows = learned.windows
    differs = (windows.sizes != learned.first) | (windows.limits != window.list_size).any(axis=1)
    worth = np.asarray(differs & (windows.newest + window.idle_ms > watermark))
    known = np.flatnonzero(worth)
    if len(known) > most:
        worth[known[np.argsort(windows.newest[known], kind="stable")[: len(known) - most]]] = False
    return worth


def _rows(batch: _Batch, chosen: NDArray[np.bool_], side: int) -> Ids:
    """The rows of a side's table that are chosen, in order."""
    return np.sort(batch.places[chosen & (batch.sides == side)])


def _met(table: pa.Table, rows: Ids) -> pa.Table:
    return table.take(pa.array(rows)).drop_columns([name for name in (AHEAD,) if name in table.column_names])


def _waiting(table: pa.Table, batch: _Batch, pairs: Pairs, side: int) -> pa.Table:
    """The rows of a side that wait on."""
    rows = _rows(batch, pairs.waiting, side)
    waiting = table.take(pa.array(rows))
    if AHEAD not in table.column_names:
        return waiting
    ahead = np.zeros(len(table), np.int64)
    ahead[batch.places[pairs.ahead & (batch.sides == side)]] = 1
    return waiting.set_column(table.column_names.index(AHEAD), AHEAD, pa.array(ahead[rows]))


def _whole_step(children: pa.Table, parents: pa.Table, batch: _Batch, pairs: Pairs, store: ColdStore) -> Step:
    return Step(
        whole_records(children, batch.places[pairs.children], CHILD, store),
        whole_records(parents, batch.places[pairs.parents], PARENT, store),
        int(pairs.late),
    )


def _move_to_blocks(
    children: pa.Table,
    parents: pa.Table,
    batch: _Batch,
    waiting: NDArray[np.bool_],
    stays_hot: NDArray[np.bool_],
    store: ColdStore,
) -> list[pa.Table]:
    sides = []
    for side, table in ((CHILD, children), (PARENT, parents)):
        rows = _rows(batch, waiting, side)
        cold = ~np.isin(rows, _rows(batch, waiting & stays_hot, side))
        carried = [name for name in table.column_names if name not in (*OWN, BLOCK, ROW)]
        sides.append(cool_records(table, Staying(rows, cold), side, store, carried))
    return sides


def _make_sizing(window: JoinWindow, first: int) -> Sizing:
    return Sizing(
        window.kind is WindowKind.DYNAMIC_COUNT,
        window.policy is None,
        first,
        window.lower,
        window.upper,
        float(window.shrink_above),
        float(window.grow_below),
        float(window.list_size),
        window.idle_ms,
    )


def _fresh(count: int, window: JoinWindow, first: int) -> KeyWindows:
    """The subwindows of keys that nothing is known of."""
    return KeyWindows(
        np.zeros(count, np.int64),
        np.full(count, first, np.int64),
        np.full((count, 2), float(window.list_size)),
        np.full(count, NEVER, np.int64),
        np.full(count, NOTHING, np.int64),
    )


def _windows(keys: pa.Table, count: int, window: JoinWindow, first: int) -> KeyWindows:
    """The subwindows of the keys that are held, and after them those of new keys."""
    windows = _fresh(count, window, first)
    known = len(keys)
    for name in ("opened", "sizes", "newest", "needed"):
        getattr(windows, name)[:known] = keys.column(name).to_numpy()
    windows.limits[:known, CHILD] = keys.column("child_limit").to_numpy()
    windows.limits[:known, PARENT] = keys.column("parent_limit").to_numpy()
    return windows


def _key_table(texts: pa.Array, windows: KeyWindows) -> pa.Table:
    return pa.table(
        {
            "text": texts,
            "opened": windows.opened,
            "sizes": windows.sizes,
            "newest": windows.newest,
            "needed": windows.needed,
            "child_limit": np.ascontiguousarray(windows.limits[:, CHILD]),
            "parent_limit": np.ascontiguousarray(windows.limits[:, PARENT]),
        }
    )


def _renumbered(records: pa.Table, numbers: Ids) -> pa.Table:
    """Records whose keys have other numbers."""
    return records.set_column(0, KEY, pa.array(numbers[_column(records, KEY)])).combine_chunks()
