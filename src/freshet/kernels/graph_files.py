"""What the files of a graph directory are made with: the dictionary's heap and table, hashes of keys, checksums."""

import numpy as np

from freshet.kernels.dictionary import LENGTH_BYTES, find_slot, narrow
from freshet.kernels.hashing import hash_id, xxh64
from freshet.kernels.jit import leaf
from freshet.kernels.pieces import copy_bytes


@leaf
def write_records(data, starts, ends, heap, records):
    """Writes the keys data[starts[i]:ends[i]] as the dictionary's records one after another, and says where each is."""
    at = np.int64(0)
    for i in range(starts.size):
        length = ends[i] - starts[i]
        records[i] = at
        for byte in range(LENGTH_BYTES):
            heap[at + byte] = (length >> (8 * byte)) & 255
        at = copy_bytes(data, starts[i], ends[i], heap, at + LENGTH_BYTES)


@leaf
def fill_slots(slots, ids, records, first):
    """Enters ids in the dictionary's table, each with its record, which is `first` bytes after the one given."""
    for i in range(ids.size):
        at = find_slot(slots, ids[i])
        slots[at + 1] = records[i] + first
        slots[at] = ids[i]


@leaf
def wanted_ids(data, starts, ends, hash_mask, ids):
    """The ids that keys ask for."""
    for i in range(starts.size):
        ids[i] = narrow(hash_id(data, starts[i], ends[i]), hash_mask)


@leaf
def checksum(data):
    """XXH64 with seed 42 of all bytes."""
    return xxh64(data, 0, data.size)


@leaf
def _before(rows, row, others, other):
    """Whether a row comes before another in the order of four columns."""
    for column in range(4):
        if rows[column, row] != others[column, other]:
            return rows[column, row] < others[column, other]
    return False


@leaf
def find_ranges_of_rows(rows, splitters, ranges):
    """The range of each row (a column of `rows`): how many of the splitters, which are in order, are not after it."""
    for row in range(rows.shape[1]):
        low, high = np.int64(0), np.int64(splitters.shape[1])
        while low < high:
            middle = (low + high) >> 1
            if _before(rows, row, splitters, middle):
                high = middle
            else:
                low = middle + 1
        ranges[row] = low
