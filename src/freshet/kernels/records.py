"""Records of arrays: where the arrays of a buffer are in memory, and how long they are.

To hand an array to a kernel takes longer than a kernel takes for a row, and a join has a hundred of them. So each
buffer writes down once where its arrays are, in an array of int64 that stays, and a kernel is given the addresses of
these records. Who has a record keeps its arrays alive, and writes down where the new ones are whenever it takes others.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from freshet.kernels.index import FREE, IDLE, USED, IndexArrays, RingArrays
from freshet.kernels.jit import njit
from freshet.kernels.pointers import PointerArrays

# A buffer of rows with lives. What is fresh and dead is so in the batch NUMBER.
VALUES, COLUMNS, BORN, DIED, ROOM, NUMBER, FRESH, FRESH_COUNT, DEAD, DEAD_COUNT, LIVE = range(11)
BUFFER_FIELDS = 11

# A leaf buffer: that, and the rows by their values, the room for rows that are fresh, dead or replaced, its queues, its
# ring indexes, what the last step lets in and out, and its pattern. Its ordered indexes are Python's: ORDERED where
# these still have dead rows.
ROW_TABLE, ROW_TABLE_SIZE, ROW_COUNTS, UNUSED_ROWS, ROW_SIZES, HEIRS = range(11, 17)
REPLACED, REPLACED_COUNT, FRESH_ROOM, DEAD_ROOM, WAITING, INSIDE, EXPIRES = range(17, 24)
RINGS, RING_COUNT, ORDERED, COMING, LEAVING = range(24, 29)
# The three terms, 0 for a variable; at which place each column stands; and whether places have to be equal, as bits.
CONSTANTS, PLACES, EQUAL = 29, 32, 35
# Where it was ever told to delete: two numbers for each row (`freshet.kernels.row_lifetimes`). Else nothing.
DELETED = 36
LEAF_FIELDS = 37

# A queue of rows with their positions, from FIRST up to END.
POSITIONS, QUEUED, FIRST, END, QUEUE_ROOM = range(5)
QUEUE_FIELDS = 5

# A ring index. KEY_COLUMNS has the column of counters in it; RING_ROWS are in the rings, the longest had LARGEST.
# Of an index on a stored graph there are only these two, and EXPECTED: how many keys its rows have about.
RING_ROWS, LARGEST, EXPECTED = range(3)
TABLE, TABLE_SIZE, KEYS, KEY_COLUMNS, KEY_ROOM, COUNTS, UNUSED, SIZES, OLDER, NEWER, ENTRIES, RING_ROOM = range(3, 15)
KEY_PLACES = 15
RING_FIELDS = 16

# Results of a join as pointers.
# The arrays of PointerArrays, in its order, from POINTERS on.
SLOTS, LEAVES, EXPIRING, ROW_ROOM, POINTERS, ALIVE, HEADS = range(7)
OLDER_RESULTS, NEWER_RESULTS, UNUSED_SLOTS, SLOT_SIZES = range(7, 11)
RESULT_FIELDS = 11

# A key with more rows than the first number, and the second number times the rows of others, is skewed.
# Of the keys of a stored graph the mean is all that is known: where it is greater than this some may have many.
MANY_ROWS, SKEW = 64, 8
MANY_STORED = 4


def _pointer(typing_context, address):
    """An address as a pointer."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


_pointer_to: Any = intrinsic(_pointer)


@njit
def numbers_at(address, count):
    """An array of int64."""
    return carray(_pointer_to(address), (count,), np.int64)


@njit
def small_numbers_at(address, count):
    """An array of int32."""
    return carray(_pointer_to(address), (count,), np.int32)


@njit
def rows_at(address, count, width):
    """An array of int64 with two dimensions."""
    return carray(_pointer_to(address), (count, width), np.int64)


@njit
def small_rows_at(address, count, width):
    """An array of int32 with two dimensions."""
    return carray(_pointer_to(address), (count, width), np.int32)


@njit
def buffer_at(address):
    """The record of a buffer."""
    return numbers_at(address, BUFFER_FIELDS)


@njit
def ring_at(address):
    """The record of a ring index."""
    return numbers_at(address, RING_FIELDS)


@njit
def values_of(buffer):
    """The values of a buffer's rows."""
    return rows_at(buffer[VALUES], buffer[ROOM], buffer[COLUMNS])


@njit
def ring_index(ring):
    """The one-way index of a ring index."""
    room = ring[KEY_ROOM]
    return IndexArrays(
        numbers_at(ring[TABLE], ring[TABLE_SIZE]),
        rows_at(ring[KEYS], room, ring[KEY_COLUMNS]),
        small_numbers_at(ring[COUNTS], room),
        small_numbers_at(ring[UNUSED], room),
        numbers_at(ring[SIZES], 3),
    )


@njit
def ring_links(ring):
    """The rings of a ring index."""
    room = ring[RING_ROOM]
    return RingArrays(
        small_numbers_at(ring[OLDER], room),
        small_numbers_at(ring[NEWER], room),
        small_numbers_at(ring[ENTRIES], room),
    )


@njit
def rows_per_key(ring):
    """How many rows a probe that hits may expect."""
    if ring[EXPECTED] > 0:
        return max(1.0, ring[RING_ROWS] / ring[EXPECTED])
    sizes = numbers_at(ring[SIZES], 3)
    return ring[RING_ROWS] / max(1, sizes[USED] - sizes[IDLE] - sizes[FREE])


@njit
def is_skewed(ring):
    """Whether some key has, or had, many more rows than a probe may expect."""
    if ring[EXPECTED] > 0:
        return rows_per_key(ring) > MANY_STORED
    return ring[LARGEST] > MANY_ROWS and ring[LARGEST] > SKEW * rows_per_key(ring)


@njit
def results_at(address):
    """The arrays of results."""
    record = numbers_at(address, RESULT_FIELDS)
    slots, expiring, rows = record[SLOTS], record[EXPIRING], record[ROW_ROOM]
    return PointerArrays(
        small_rows_at(record[POINTERS], slots, record[LEAVES]),
        carray(_pointer_to(record[ALIVE]), (slots,), np.bool_),
        small_rows_at(record[HEADS], expiring, rows),
        small_rows_at(record[OLDER_RESULTS], expiring, slots),
        small_rows_at(record[NEWER_RESULTS], expiring, slots),
        small_numbers_at(record[UNUSED_SLOTS], slots),
        numbers_at(record[SLOT_SIZES], 5),
    )
