"""What ids stand for: kinds and values of terms, and ids of computed numbers.

Inline ids are read from their bits. The term of a dictionary id is read once, and its value kept beside the
dictionary; see `freshet.kernels.values` for what a value is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.kernels import values as kernels
from freshet.kernels.literals import learn_terms, lexical_forms, read_terms
from freshet.kernels.number_text import ENTERED, enter_numbers, write_floats
from freshet.kernels.numbers import inline_ids
from freshet.kernels.values import DOUBLE, FLOAT, NOTHING, UNKNOWN, ValueArrays, Values
from freshet.rdf.arrow import Ranges, key_ranges
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Term

Ids = NDArray[np.int64]
Numbers = Values

_FIRST_SLOTS = 1 << 10
_SHORT_NUMBER = 64  # bytes; longer texts of numbers are read one by one
_FLOATS_LEFT = -2  # what `enter_numbers` says
_LONGEST_FLOAT = 32  # bytes of the shortest text of a float32 at most


class ValueTable:
    """The values of a dictionary's terms, as far as they have been asked for. It grows no larger than the dictionary.

    Several threads may read it; one adds to it at a time, and replaces arrays that are too small.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._use(_empty(_FIRST_SLOTS))
        self._constants: dict[Term, Ids] = {}
        self._constant_values: dict[Term, Values] = {}

    def __len__(self) -> int:
        return int(self._arrays.sizes[0])

    def _use(self, arrays: ValueArrays) -> None:
        self._arrays = arrays
        # The table as a plain tuple for kernels that compare: ids, kinds, high, low, reals.
        self.known: tuple[NDArray[Any], ...] = (arrays.ids, *arrays.values)

    def constant(self, dictionary: Dictionary, term: Term) -> Ids:
        """The id of a term of a query, as a column of one row."""
        ids = self._constants.get(term)
        if ids is None:
            ids = self._constants[term] = np.array([dictionary.encode(term)], np.int64)
        return ids

    def constant_values(self, dictionary: Dictionary, term: Term) -> Values:
        """The value of a term of a query, as a column of one row."""
        found = self._constant_values.get(term)
        if found is None:
            found = self._constant_values[term] = self.values(dictionary, self.constant(dictionary, term))
        return found

    def values(self, dictionary: Dictionary, ids: Ids) -> Values:
        """The values of ids; `ids` is contiguous and writable."""
        found, unknown = kernels.look_up(self._arrays, ids)
        if unknown:
            with self._lock:
                self._learn(dictionary, ids)
            found, _ = kernels.look_up(self._arrays, ids)
        result: Values = found
        return result

    def _learn(self, dictionary: Dictionary, ids: Ids) -> None:
        """See that all ids are known. The kernel reads nearly all terms; where it stops at another, all are read that
        are left.
        """
        arrays = dictionary.arrays
        while ids.size > (done := learn_terms(arrays, self._arrays, ids)):
            ids = ids[done:]
            if not self._make_room(1):
                found, _ = kernels.look_up(self._arrays, ids)
                left = np.unique(ids[found.kinds == UNKNOWN])
                read = values_of_keys(dictionary.keys(left))
                self._make_room(left.size)
                kernels.remember(self._arrays, left, read)
                return

    def _make_room(self, more: int) -> bool:
        """Make room for more values, if needed; says whether it had to be made."""
        slots = self._arrays.ids.size
        while 2 * (len(self) + more) > slots:
            slots *= 2
        if slots == self._arrays.ids.size:
            return False
        larger = _empty(slots)
        kernels.remember(larger, self._arrays.ids, self._arrays.values)
        self._use(larger)
        return True


def _empty(slots: int) -> ValueArrays:
    room = Values(np.empty(slots, np.uint8), np.empty(slots, np.int64), np.empty(slots, np.uint64), np.empty(slots))
    return ValueArrays(np.zeros(slots, np.int64), room, np.zeros(1, np.int64))


def values_of_keys(keys: pa.Array) -> Values:
    """The values of terms by their keys, which no dictionary need know; a null is NOTHING."""
    data, starts, ends = key_ranges(keys)
    missing = starts < 0
    if missing.any():
        found = Values(*(np.zeros(starts.size, array.dtype) for array in _NO_VALUES))
        for array, part in zip(found, values_of_keys(keys.drop_null()), strict=True):
            array[~missing] = part
        return found
    read, unread = read_terms(data, starts, ends)
    rows = np.flatnonzero(unread)
    if rows.size:
        read.reals[rows] = _reals(data, starts, ends, rows)
        single = rows[read.kinds[rows] == FLOAT]
        with np.errstate(over="ignore"):  # too large for a float is INF
            read.reals[single] = read.reals[single].astype(np.float32)
    return Values(*read)


def _reals(data: NDArray[np.uint8], starts: Ids, ends: Ids, rows: Ids) -> NDArray[np.float64]:
    """The numbers that some literals' lexical forms spell, correctly rounded."""
    lengths = ends[rows] - starts[rows]
    short = lengths <= _SHORT_NUMBER + lengths.min()
    result = np.empty(rows.size)
    for some in (np.flatnonzero(short), *np.flatnonzero(~short)[:, None]):
        texts = lexical_forms(data, starts, ends, rows[some], int(lengths[some].max()))
        result[some] = texts.view(f"S{texts.shape[1]}")[:, 0].astype(np.float64)
    return result


_NO_VALUES = _empty(0).values


def value_table(dictionary: Dictionary) -> ValueTable:
    """The table beside a dictionary. After a sweep it is another: an id may have become another term's."""
    generation, table = dictionary.values_beside
    if not isinstance(table, ValueTable) or generation != dictionary.generation:
        table = ValueTable()
        dictionary.values_beside = dictionary.generation, table
    return table


def as_kernel_ids(ids: Ids) -> Ids:
    """Ids as kernels take them: contiguous and writable, so that each kernel is compiled once."""
    if ids.flags.carray:
        return ids
    return np.array(ids, np.int64)


def values(dictionary: Dictionary, ids: Ids) -> Values:
    """Kinds and values of ids, one row each."""
    return value_table(dictionary).values(dictionary, as_kernel_ids(ids))


def numbers(dictionary: Dictionary, ids: Ids) -> Numbers:
    """The numbers that ids stand for; kind 0 (NOTHING) for all other terms."""
    found = values(dictionary, ids)
    found.kinds[found.kinds > DOUBLE] = NOTHING
    return found


def number_ids(dictionary: Dictionary, computed: Numbers) -> Ids:
    """The ids of numbers in canonical form; 0 where the kind is not that of a number."""
    ids, others = inline_ids(computed)
    if others:
        rows = np.flatnonzero((ids == 0) & (computed.kinds != NOTHING) & (computed.kinds <= DOUBLE))
        found = np.zeros(rows.size, np.int64)
        intern_numbers(dictionary, number_records(Values(*(array[rows] for array in computed))), found)
        ids[rows] = found
    return np.asarray(ids)


def number_records(computed: Numbers) -> Ids:
    """Numbers as rows of kind, high, low and real, the latter two by their bits."""
    low, reals = computed.low.view(np.int64), computed.reals.view(np.int64)
    return np.stack([computed.kinds.astype(np.int64), computed.high, low, reals], axis=1)


def intern_numbers(dictionary: Dictionary, numbers: Ids, ids: Ids, enter: Callable[..., int] = enter_numbers) -> None:
    """Put in the ids of numbers that have no inline id, where the kind is that of a number; `ids` are 0 there.

    Each row of `numbers` is as `number_records` makes it, and is overwritten. `enter` is the kernel, however it
    is called.
    """
    left = dictionary.run(
        lambda arrays, hash_mask: enter(arrays, hash_mask, numbers, ids), lambda: ids[numbers[:, 0] != ENTERED]
    )
    if left == _FLOATS_LEFT:
        rows = np.flatnonzero(numbers[:, 0] == FLOAT)
        ids[rows] = dictionary.intern_keys(*_float_keys(numbers[rows, 3].view(np.float64)))


def _float_keys(reals: NDArray[np.float64]) -> Ranges:
    # NumPy writes the shortest text that gives the number back; the kernel brings it into the canonical form
    texts = reals.astype(np.float32).astype(f"S{_LONGEST_FLOAT}").view(np.uint8).reshape(reals.size, _LONGEST_FLOAT)
    data, starts, ends = write_floats(texts)
    return data, starts, ends
