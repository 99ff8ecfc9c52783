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

from freshet.kernels.join_windows import CHILD, NEVER, NOTHING, PARENT, KeyWindows, Pairs, Sizing, adaptive_pairs
from freshet.kernels.join_windows import fixed_pairs as _fixed_pairs
from freshet.rml.sizing import checked_sizes, sizing_policy
from freshet.rml.windows import FIXED, JoinWindow, WindowKind

# The columns of records that are to be joined; those that are carried along stand behind them.
KEY, TIME, TIE = "key", "time", "tie"
OWN = (KEY, TIME, TIE)

Ids = NDArray[np.int64]


class Step(NamedTuple):
    """What a batch gave: pairs, as rows of both sides' records beside each other, and how many records were late."""

    children: pa.Table
    parents: pa.Table
    late: int


@dataclass(frozen=True, slots=True)
class WindowState:
    """What waits: records of both sides (their KEY is the number of a row of `keys`), and a row a key.

    `memory` is what a sizing policy keeps in mind, `first` the size that new keys start with.
    """

    children: pa.Table
    parents: pa.Table
    keys: pa.Table
    watermark: int
    first: int
    memory: NDArray[np.float64]

    @property
    def records(self) -> int:
        return len(self.children) + len(self.parents)


def empty_state(child: pa.Schema, parent: pa.Schema, window: JoinWindow) -> WindowState:
    """The state before anything came, for records with these columns."""
    keys = _key_table(pa.array([], pa.string()), _fresh(0, window, window.size))
    return WindowState(
        _held(child).empty_table(), _held(parent).empty_table(), keys, int(NEVER), window.size, np.empty(0)
    )


def take(
    state: WindowState, children: pa.Table, parents: pa.Table, newest: int, window: JoinWindow, lateness_ms: int
) -> tuple[WindowState, Step]:
    """The state after a batch, and what the batch gave. `newest` is the largest time seen anywhere by now.

    The records of a batch arrive in the order of their times.
    """
    texts, numbers = _numbered(state.keys.column("text"), children.column(KEY), parents.column(KEY))
    children = _joined(state.children, children, numbers[: len(children)])
    parents = _joined(state.parents, parents, numbers[len(children) - len(state.children) :])
    batch = _arrivals(children, len(state.children), parents, len(state.parents))
    if window.kind in FIXED or window.kind is WindowKind.LOSSLESS:
        pairs = _fixed(batch, len(texts), window, state.watermark, lateness_ms, newest)
        windows = _fresh(len(texts), window, window.size)
        first, memory = state.first, state.memory
        worth = np.zeros(len(texts), np.bool_)
    else:
        windows = _windows(state.keys, len(texts), window, state.first)
        sizing = _sizing(window, state.first)
        pairs, ended = adaptive_pairs(
            batch.keys, batch.times, batch.sides, batch.held, windows, sizing, state.watermark, lateness_ms, newest
        )
        first, memory = state.first, state.memory
        if window.policy:
            first, sizes, memory = checked_sizes(sizing_policy(window.policy), ended, window, memory)
            windows.sizes[ended.keys] = sizes
        learned = (windows.sizes != first) | (windows.limits != window.list_size).any(axis=1)
        worth = learned & (windows.newest + window.idle_ms > pairs.watermark)
    step = Step(
        children.take(pa.array(batch.places[pairs.children])),
        parents.take(pa.array(batch.places[pairs.parents])),
        int(pairs.late),
    )
    kept = _kept(children, parents, batch, pairs, texts, windows, worth)
    return WindowState(*kept, int(pairs.watermark), int(first), memory), step


class _Batch(NamedTuple):
    """The rows of both sides as the kernels want them: those that were held, then the new ones in their order."""

    keys: Ids
    times: Ids
    sides: Ids
    places: Ids  # the row in the table of its side
    held: int


def _held(schema: pa.Schema) -> pa.Schema:
    """The columns of records that wait: the number of a key in place of its text."""
    rest = [field for field in schema if field.name not in OWN]
    return pa.schema([pa.field(KEY, pa.int64()), pa.field(TIME, pa.int64()), pa.field(TIE, pa.int64()), *rest])


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
    return pa.concat_tables([held, new.set_column(0, KEY, pa.array(numbers)).cast(held.schema)])


def _column(table: pa.Table, name: str) -> Ids:
    return np.ascontiguousarray(table.column(name).to_numpy())


def _arrivals(children: pa.Table, held_children: int, parents: pa.Table, held_parents: int) -> _Batch:
    both = [np.concatenate((_column(children, name), _column(parents, name))) for name in OWN]
    sides = np.repeat(np.array((CHILD, PARENT), np.int64), (len(children), len(parents)))
    places = np.concatenate((np.arange(len(children)), np.arange(len(parents))))
    is_new = places >= np.where(sides == CHILD, held_children, held_parents)
    keys, times, ties = both
    # Ties are broken by what the records are, so that a batch that is repeated after a failure gives the same.
    order = np.lexsort((ties, sides, np.where(is_new, times, NEVER), is_new))
    held = held_children + held_parents
    return _Batch(keys[order], times[order], sides[order], places[order], held)


def _fixed(batch: _Batch, key_count: int, window: JoinWindow, watermark: int, lateness_ms: int, newest: int) -> Pairs:
    size = window.upper if window.kind is WindowKind.LOSSLESS else window.size
    tumbling = window.kind is WindowKind.TUMBLING
    return Pairs(
        *_fixed_pairs(
            batch.keys, batch.times, batch.sides, batch.held, key_count, size, tumbling, watermark, lateness_ms, newest
        )
    )


def _sizing(window: JoinWindow, first: int) -> Sizing:
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


def _kept(
    children: pa.Table,
    parents: pa.Table,
    batch: _Batch,
    pairs: Pairs,
    texts: pa.Array,
    windows: KeyWindows,
    worth: NDArray[np.bool_],
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """What waits on: the records, and the keys that have any or are worth remembering, numbered anew."""
    keys_wanted = worth.copy()
    keys_wanted[batch.keys[pairs.waiting]] = True
    renumbered = np.cumsum(keys_wanted) - 1
    sides = []
    for side, table in ((CHILD, children), (PARENT, parents)):
        rows = np.sort(batch.places[pairs.waiting & (batch.sides == side)])
        kept = table.take(pa.array(rows))
        sides.append(kept.set_column(0, KEY, pa.array(renumbered[_column(kept, KEY)])).combine_chunks())
    keys = _key_table(texts, windows).filter(pa.array(keys_wanted)).combine_chunks()
    return sides[0], sides[1], keys
