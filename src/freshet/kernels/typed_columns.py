"""Columns of ids as typed values, and as numbers of the distinct terms in them.

Columns are read from one row on up to another, so that of a column that grows only what is new need be read.
"""

import numpy as np

from freshet.kernels import layout, wide
from freshet.kernels.dictionary import BLOCK, LENGTH_BYTES, _record_length, find_slot, same_bytes
from freshet.kernels.digits import EIGHT_DIGITS, are_eight, read_eight
from freshet.kernels.hashing import word_64
from freshet.kernels.iris import LESS
from freshet.kernels.jit import leaf, njit
from freshet.kernels.pieces import copy_bytes
from freshet.kernels.prefetch import fetch
from freshet.kernels.read_only import read_only
from freshet.kernels.terms import DECIMAL_SUFFIX, MINUS, NINE, POINT, QUOTE, ZERO
from freshet.kernels.values import DOUBLE, UNKNOWN, value_of

MOST_DIGITS = 18  # before the point, and after it, of decimals that are read here
NO_DECIMALS = -1
NOT_ALIKE = -1
DOUBLES, NOT_KNOWN, OTHERS = range(3)
LAST_CLASS = 3
_PLUS = ord("+")
_TEN = np.uint64(10)
_HASH = np.uint64(0x9E3779B97F4A7C15)
_HASH_SHIFT = np.uint64(32)


@leaf
def read_integers(ids, first, end, values):
    """The values of inline integers from a row on up to another; False where there is anything else."""
    for row in range(first, end):
        if layout.inline_type(ids[row]) != layout.INTEGER:
            return False
        values[row] = layout.inline_value(ids[row])
    return True


@leaf
def number_terms(table, sizes, ids, first, end, numbers, distinct):
    """Number the distinct ids of a column from a row on up to another, -1 for the id 0; gives the row it came to.

    It stops where the table is half full, or `distinct`, which gets the ids by number. `table` has two words a slot, an
    id (0 where it is free) and its number, and a power of two of slots; `sizes` is how many ids there are.
    """
    mask = np.int64(table.size - 2)
    most = min(table.size >> 2, distinct.size)
    for row in range(first, end):
        term_id = ids[row]
        if term_id == 0:
            numbers[row] = -1
            continue
        at = np.int64((np.uint64(term_id) * _HASH) >> _HASH_SHIFT) << 1 & mask
        while table[at] != term_id and table[at] != 0:
            at = (at + 2) & mask
        if table[at] == 0:
            if sizes[0] >= most:
                return row
            table[at] = term_id
            table[at + 1] = sizes[0]
            distinct[sizes[0]] = term_id
            sizes[0] += 1
        numbers[row] = table[at + 1]
    return end


@leaf
def classes_among(classes, numbers):
    """Which classes terms with these numbers have, -1 for none: a bit for each, the last for all others together; and
    whether they have several.
    """
    bits, first, several = 0, -1, False
    for row in range(numbers.size):
        if numbers[row] >= 0:
            of_row = classes[numbers[row]]
            if first >= 0 and first != of_row:
                several = True
            first = of_row
            bits |= 1 << (of_row if of_row < LAST_CLASS else LAST_CLASS)
    return bits, several


@leaf
def find_texts(arrays, ids, head, tail, records):
    """Finds the records of terms whose keys are a text between a byte and a tail; says how many bytes the texts take.

    `NOT_ALIKE` where a key is another, or an id is inline or unknown.
    """
    slots, heap, _ = arrays
    mask = np.int64(slots.size - 2)
    total = np.int64(0)
    for first in range(0, ids.size, BLOCK):
        stop = min(first + BLOCK, ids.size)
        for row in range(first, stop):
            fetch(slots, (ids[row] << 1) & mask)
        for row in range(first, stop):
            at = find_slot(slots, ids[row]) if ids[row] > 0 else np.int64(0)
            if ids[row] <= 0 or slots[at] == 0:
                return np.int64(NOT_ALIKE)
            records[row] = slots[at + 1]
            fetch(heap, records[row])
        for row in range(first, stop):
            size = _record_length(heap, records[row])
            start = records[row] + LENGTH_BYTES
            end = start + size
            if size <= tail.size or heap[start] != head or (head == LESS and heap[start + 1] == LESS):
                return np.int64(NOT_ALIKE)
            if not same_bytes(read_only(heap), end - tail.size, tail, np.int64(0), np.int64(tail.size)):
                return np.int64(NOT_ALIKE)
            total += size - 1 - tail.size
    return total


@leaf
def write_texts(heap, records, tail_size, data, offsets, count):
    """Writes what `find_texts` has found one after another, behind `count` texts that are there."""
    end = offsets[count]
    for row in range(records.size):
        start = records[row] + LENGTH_BYTES
        end = copy_bytes(heap, start + 1, start + _record_length(heap, records[row]) - tail_size, data, end)
        offsets[count + row + 1] = end


@leaf
def read_doubles(known, ids, reals):
    """The values of doubles, which a table of values has, as `freshet.kernels.values` has them, and zeros for the id 0.

    Gives `DOUBLES`, `NOT_KNOWN` where the table does not have one, or `OTHERS` where one is no double.
    """
    for row in range(ids.size):
        kind, _, _, reals[row] = value_of(known[0], known[1], known[2], known[3], known[4], ids[row])
        if kind == UNKNOWN:
            return NOT_KNOWN
        if kind != DOUBLE and ids[row] != 0:
            return OTHERS
    return DOUBLES


@leaf
def _read_digits(heap, at, stop):
    """The number that the digits from a byte on are, as far as 64 bits hold it, and where they end."""
    number = np.uint64(0)
    while at + 8 <= stop:
        word = word_64(heap, np.uint64(at))
        if not are_eight(word):
            break
        number = number * EIGHT_DIGITS + read_eight(word)
        at += 8
    while at < stop and ZERO <= heap[at] <= NINE:
        number = number * _TEN + np.uint64(heap[at] - ZERO)
        at += 1
    return number, at


@leaf
def _read_decimal(heap, start, end, row, parts):
    """Sign, digits before the point and, as if there were 18, after it; gives how many there are, or `NO_DECIMALS`."""
    at, stop = start + 1, end - DECIMAL_SUFFIX.size
    if (
        stop < at
        or heap[start] != QUOTE
        or not same_bytes(read_only(heap), stop, DECIMAL_SUFFIX, 0, DECIMAL_SUFFIX.size)
    ):
        return NO_DECIMALS
    negative = at < stop and heap[at] == MINUS
    at += at < stop and (heap[at] == MINUS or heap[at] == _PLUS)
    first = at
    whole, at = _read_digits(heap, at, stop)
    before, after, fraction = at - first, 0, np.uint64(0)
    if at < stop and heap[at] == POINT:
        first = at + 1
        fraction, at = _read_digits(heap, first, stop)
        after = at - first
    if at != stop or before + after == 0 or before > MOST_DIGITS or after > MOST_DIGITS:
        return NO_DECIMALS
    parts[row, 0] = negative
    parts[row, 1] = whole
    parts[row, 2] = fraction * wide.POWERS_OF_TEN[MOST_DIGITS - after]
    return after


@leaf
def _inline_decimal(term_id, row, parts):
    """The same of an inline id."""
    value = layout.inline_value(term_id)
    mantissa, scale = value >> layout.SCALE_BITS, value & layout.SCALE_MASK
    if layout.inline_type(term_id) != layout.DECIMAL or scale > MOST_DIGITS:
        return NO_DECIMALS
    size = np.uint64(abs(mantissa))
    parts[row, 0] = mantissa < 0
    parts[row, 1] = size // wide.POWERS_OF_TEN[scale]
    parts[row, 2] = size % wide.POWERS_OF_TEN[scale] * wide.POWERS_OF_TEN[MOST_DIGITS - scale]
    return scale


@leaf
def _read_block(dictionary, ids, first, stop, parts):
    """The same of some rows; gives the most digits after a point. Slots are asked for ahead."""
    slots, heap = dictionary.slots, dictionary.heap
    mask = np.int64(slots.size - 2)
    for row in range(first, stop):
        fetch(slots, (ids[row] << 1) & mask)
    most = 0
    for row in range(first, stop):
        digits = 0
        if ids[row] < 0:
            digits = _inline_decimal(ids[row], row, parts)
        elif ids[row] > 0:
            at = find_slot(slots, ids[row])
            if slots[at] == 0:
                return NO_DECIMALS
            start = slots[at + 1] + LENGTH_BYTES
            digits = _read_decimal(heap, start, start + _record_length(heap, slots[at + 1]), row, parts)
        if digits < 0:
            return NO_DECIMALS
        most = max(most, digits)
    return most


@njit
def read_decimals(dictionary, ids, words):
    """Decimals, and zeros for the id 0, as words of 128 bits, the lower first; gives how many digits they have after
    the point, or `NO_DECIMALS` where there is anything else, or one with many digits.
    """
    parts = np.zeros((ids.size, 3), np.uint64)
    most = 0
    for first in range(0, ids.size, BLOCK):
        digits = _read_block(dictionary, ids, first, min(first + BLOCK, ids.size), parts)
        if digits < 0:
            return NO_DECIMALS
        most = max(most, digits)
    shift = wide.POWERS_OF_TEN[MOST_DIGITS - most]
    for row in range(ids.size):
        high, low = wide.product_64(parts[row, 1], wide.POWERS_OF_TEN[most])
        part = parts[row, 2] // shift
        low += part
        high += np.uint64(low < part)
        signed_high, signed_low, _ = wide.with_sign(high, low, parts[row, 0] != 0)
        words[row, 0] = np.int64(signed_low)
        words[row, 1] = signed_high
    return most
