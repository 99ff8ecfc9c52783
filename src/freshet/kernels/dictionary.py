"""The dictionary's arrays: an open-addressing table from id to key, and the heap that holds the bytes of the keys.

A slot is two words, the id (0 where the slot is free) and the position of its record in the heap. A record is the
length of the key in four bytes, then the key. A key asks for the id that is its hash; where another key has that id
already, it asks for the next one in a fixed sequence, so that two terms never share an id.

The highest bit of a length says that the key has been checked: that these very bytes, where N-Triples has them, are
the term. Who finds them there again need not look at them closely.

Kernels only fill what room there is; Python makes more room between calls (`intern` says where it stopped).
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.hashing import hash_id, word_32, word_64
from freshet.kernels.jit import leaf, njit
from freshet.kernels.layout import DATETIME, HASH_MASK, INTEGER, TYPE_MASK, TYPE_SHIFT
from freshet.kernels.lexical import LONGEST_KEY, write_inline
from freshet.kernels.pieces import copy_bytes
from freshet.kernels.prefetch import fetch
from freshet.kernels.read_only import read_only
from freshet.kernels.terms import inline_id

LENGTH_BYTES = 4
CHECKED = np.uint64(1 << 31)
_1, _8, _16, _24, _32 = (np.uint64(i) for i in (1, 8, 16, 24, 32))
BLOCK = 64
_CACHED = 1 << 16  # words
ABSENT = np.int64(-1)
UNKNOWN = np.int64(0)
LATEST = np.int64(2**63 - 1)  # beyond every time
HELD, PASSED = np.uint8(1), np.uint8(2)  # marks of slots that a sweep keeps

# x -> a * x + c modulo 2**63 runs through every number before it returns, as c is odd and a - 1 divisible by 4:
# the search for a free id ends.
# Unsigned, because signed numbers must not overflow: the compiler takes it that they do not.
_STEP_FACTOR = np.uint64(0x5851F42D4C957F2D)
_STEP_ADDEND = np.uint64(0x14057B7EF767814F)


class DictionaryArrays(NamedTuple):
    """`slots` has two words for each slot, and a power of two of slots; `sizes` is [keys, bytes used of the heap]."""

    slots: np.ndarray
    heap: np.ndarray
    sizes: np.ndarray


@leaf
def next_id(term_id):
    """The id to try after this one."""
    following = np.int64((np.uint64(term_id) * _STEP_FACTOR + _STEP_ADDEND) & np.uint64(HASH_MASK))
    return following if following != 0 else np.int64(_STEP_ADDEND)


@leaf
def find_slot(slots, term_id):
    """The index in `slots` of an id, or of the free slot where it would go."""
    mask = np.int64(slots.size - 2)
    at = (term_id << 1) & mask
    while slots[at] != term_id and slots[at] != 0:
        at = (at + 2) & mask
    return at


@leaf
def _record_length(heap, record):
    return np.int64(word_32(heap, np.uint64(record)) & ~CHECKED)


@njit
def key_range(arrays, term_id):
    """Where the key of a dictionary id, which must be known, starts and ends in the heap."""
    record = arrays.slots[find_slot(arrays.slots, term_id) + 1]
    start = record + LENGTH_BYTES
    return start, start + _record_length(arrays.heap, record)


@leaf
def _differ_32(left, i, right, j):
    """0 where 32 bytes are the same."""
    return (
        (word_64(left, i) ^ word_64(right, j))
        | (word_64(left, i + _8) ^ word_64(right, j + _8))
        | (word_64(left, i + _16) ^ word_64(right, j + _16))
        | (word_64(left, i + _24) ^ word_64(right, j + _24))
    )


@leaf
def same_bytes(left, first, right, start, end):
    """Whether the bytes of `left` from `first` on are right[start:end].

    Words that overlap rather than loops over the rest: most keys have 32 to 64 bytes, and take the same two branches.
    """
    i, j = np.uint64(first), np.uint64(start)
    length = np.uint64(end) - j
    if length >= _32:
        last = length - _32
        at = np.uint64(0)
        while at < last and _differ_32(left, i + at, right, j + at) == 0:
            at += _32
        return at >= last and _differ_32(left, i + last, right, j + last) == 0
    if length >= _8:
        last = length - _8
        differ = word_64(left, i + last) ^ word_64(right, j + last)
        if length > _16:
            middle = length - _16
            differ |= word_64(left, i + _8) ^ word_64(right, j + _8)
            differ |= word_64(left, i + middle) ^ word_64(right, j + middle)
        return differ | (word_64(left, i) ^ word_64(right, j)) == 0
    at = np.uint64(0)
    while at < length and left[i + at] == right[j + at]:
        at += np.uint64(1)
    return at == length


@leaf
def _equal(heap, record, data, start, end):
    """Whether the record holds the key data[start:end]."""
    return _record_length(heap, record) == end - start and same_bytes(
        read_only(heap), record + LENGTH_BYTES, data, start, end
    )


@leaf
def find_key(arrays, data, start, end, wanted):
    """The id of a key that asks for the id `wanted`, and the slot: a free one where the key is unknown."""
    at = find_slot(arrays.slots, wanted)
    while arrays.slots[at] != 0 and not _equal(arrays.heap, arrays.slots[at + 1], data, start, end):
        wanted = next_id(wanted)
        at = find_slot(arrays.slots, wanted)
    return wanted, at


@leaf
def _append(arrays, at, term_id, data, start, end):
    record = arrays.sizes[1]
    length = end - start
    for i in range(LENGTH_BYTES):
        arrays.heap[record + i] = (length >> (8 * i)) & 255
    copy_bytes(data, start, end, arrays.heap, record + LENGTH_BYTES)
    # the id comes last: a reader that finds it finds the record too
    arrays.slots[at + 1] = record
    arrays.slots[at] = term_id
    arrays.sizes[0] += 1
    arrays.sizes[1] += LENGTH_BYTES + length


@leaf
def enter(arrays, data, start, end, wanted, checked):
    """The id and the record of a key that asks for the id `wanted`, entered where it is new; id 0 where no room is."""
    slots, heap, sizes = arrays
    term_id, at = find_key(arrays, data, start, end, wanted)
    if slots[at] == 0:
        if 4 * sizes[0] >= slots.size or sizes[1] + LENGTH_BYTES + end - start > heap.size:
            return UNKNOWN, ABSENT
        _append(arrays, at, term_id, data, start, end)
    record = slots[at + 1]
    if checked:
        heap[record + LENGTH_BYTES - 1] |= 0x80
    return term_id, record


@leaf
def narrow(wanted, hash_mask):
    """Keeps the bits of a hash that the mask has (all of them, but in tests of collisions)."""
    narrowed = wanted & hash_mask
    return narrowed if narrowed != 0 else np.int64(1)


@leaf
def enter_key(arrays, key, hash_mask):
    """The id of a key that is not inline; 0 where there is no room for it."""
    term_id, _ = enter(arrays, key, 0, key.size, narrow(hash_id(key, 0, key.size), hash_mask), False)
    return term_id


@leaf
def _expected_id(data, start, end, hashes, row, hash_mask):
    """The id that a key asks for: inline, or its hash; 0 where there is no key."""
    if start < 0:
        return UNKNOWN
    inline = inline_id(data, start, end)
    if inline != 0:
        return inline
    if hashes.size > 0 and hashes[row] > 0:
        return narrow(hashes[row], hash_mask)
    return narrow(hash_id(data, start, end), hash_mask)


@njit
def intern(arrays, data, starts, ends, hashes, hash_mask, row, ids):
    """Gives ids to the keys data[starts[i]:ends[i]] from `row` on: 0 where the start is -1, inline where that can be.

    `hashes` are the ids that the keys ask for, or is empty. Returns the row that found no room, or the number of rows.

    Most keys are known, and most of the time goes into waiting for memory. So rows go in blocks, and each loop below
    does one kind of access for the whole block: the waits overlap.
    """
    slots, heap, sizes = arrays
    greatest_count = slots.size // 4  # half of the slots
    mask = np.int64(slots.size - 2)
    records = np.empty(BLOCK, np.int64)
    lengths = np.empty(BLOCK, np.int64)
    for first in range(row, starts.size, BLOCK):
        stop = min(first + BLOCK, starts.size)
        for i in range(first, stop):
            ids[i] = _expected_id(data, starts[i], ends[i], hashes, i, hash_mask)
        for i in range(first, stop):
            at = (ids[i] << 1) & mask
            records[i - first] = slots[at + 1] if ids[i] > 0 and slots[at] == ids[i] else ABSENT
        for i in range(first, stop):
            record = records[i - first]
            lengths[i - first] = _record_length(heap, record) if record >= 0 else ABSENT
        for i in range(first, stop):
            start, end = starts[i], ends[i]
            if ids[i] <= 0:
                continue
            if lengths[i - first] == end - start and _equal(heap, records[i - first], data, start, end):
                continue
            ids[i], at = find_key(arrays, data, start, end, ids[i])
            if slots[at] == 0:
                if sizes[0] >= greatest_count or sizes[1] + LENGTH_BYTES + end - start > heap.size:
                    return i
                _append(arrays, at, ids[i], data, start, end)
    return starts.size


@njit
def framed_size(starts, ends, frame_size):
    """The bytes of the keys that `frame_keys` makes."""
    total = np.int64(0)
    for row in range(starts.size):
        if starts[row] >= 0:
            total += ends[row] - starts[row] + frame_size
    return total


@njit
def frame_keys(data, starts, ends, before, after, keys, key_starts, key_ends):
    """Puts together keys that are a text between two others; the start of a key is -1 where that of its text is."""
    at = np.int64(0)
    for row in range(starts.size):
        if starts[row] < 0:
            key_starts[row] = key_ends[row] = -1
            continue
        key_starts[row] = at
        at = copy_bytes(before, np.int64(0), before.size, keys, at)
        at = copy_bytes(data, starts[row], ends[row], keys, at)
        at = copy_bytes(after, np.int64(0), after.size, keys, at)
        key_ends[row] = at


@leaf
def move_slots(old_slots, new_slots):
    """Enters the ids of the old table in the new one, which is empty."""
    for i in range(0, old_slots.size, 2):
        if old_slots[i] != 0:
            at = find_slot(new_slots, old_slots[i])
            new_slots[at + 1] = old_slots[i + 1]
            new_slots[at] = old_slots[i]


@leaf
def is_known(slots, term_id):
    """Whether a term has this id: one of the dictionary, or inline of a type that there is."""
    if term_id < 0:
        return INTEGER <= (term_id >> TYPE_SHIFT) & TYPE_MASK <= DATETIME
    return slots[find_slot(slots, term_id)] != 0


@leaf
def copy_known(slots, times, subjects, predicates, objects, copies):
    """Copies rows, a row of `copies` for each column, if all their ids are of terms.

    Gives the first row with an id that no term has, or -1, and the least and the largest time. Rows go in blocks, so
    that the waits for memory overlap; a small table is in the cache.
    """
    mask = np.int64(slots.size - 2)
    predicate = UNKNOWN  # that of the row before: there often is no other
    least, largest = LATEST, -LATEST
    for i in range(times.size):
        time = times[i]
        copies[0, i] = time
        least, largest = min(least, time), max(largest, time)
    for first in range(0, subjects.size, BLOCK):
        stop = min(first + BLOCK, subjects.size)
        if mask > _CACHED:
            for i in range(first, stop):
                fetch(slots, (subjects[i] << 1) & mask)
                fetch(slots, (objects[i] << 1) & mask)
        for i in range(first, stop):
            subject, object = subjects[i], objects[i]
            known = is_known(slots, subject) and is_known(slots, object)
            if known and (predicates[i] != predicate or predicate == UNKNOWN):
                predicate = predicates[i]
                known = is_known(slots, predicate)
            if not known:
                return i, least, largest
            copies[1, i], copies[2, i], copies[3, i] = subject, predicate, object
    return -1, least, largest


@leaf
def find_records(arrays, ids, records):
    """Finds where the records of dictionary ids are; says how many bytes the keys of all the ids take at most.

    Where an id is unknown, the result is -1 - its row.
    """
    for i in range(ids.size):
        records[i] = ABSENT
        if ids[i] > 0:
            at = find_slot(arrays.slots, ids[i])
            if arrays.slots[at] == 0:
                return np.int64(-1 - i)
            records[i] = arrays.slots[at + 1]
    total = np.int64(0)
    for i in range(ids.size):
        if ids[i] < 0:
            total += LONGEST_KEY
        elif ids[i] > 0:
            total += _record_length(arrays.heap, records[i])
    return total


@leaf
def write_keys(heap, ids, records, out, offsets):
    """Writes the keys of the ids one after another; key i is out[offsets[i]:offsets[i + 1]], empty for the id 0."""
    end = np.int64(0)
    for i in range(ids.size):
        offsets[i] = end
        if ids[i] < 0:
            end = write_inline(out, end, ids[i])
        elif ids[i] > 0:
            length = _record_length(heap, records[i])
            first = records[i] + LENGTH_BYTES
            end = copy_bytes(heap, first, first + length, out, end)
    offsets[ids.size] = end


@leaf
def fill_filter(slots, bits):
    """Sets a bit for each id; there is a power of two of words."""
    mask = np.int64(64 * bits.size - 1)
    for i in range(0, slots.size, 2):
        if slots[i] != 0:
            place = slots[i] & mask
            bits[place >> 6] |= _1 << np.uint64(place & 63)


@njit
def mark(arrays, ids, hash_mask, keep, end, bits):
    """Marks the slots of ids, and those that their keys passed over because another key had the id they asked for.

    If one of those went, the key would be looked for in vain, and get a second id. Ids are left out whose records are
    not before `end`. Most numbers may be no ids: of those that have no bit (see `fill_filter`) only that is looked up.
    """
    slots = arrays.slots
    mask, bit_mask = np.int64(slots.size - 2), np.int64(64 * bits.size - 1)
    found = np.empty(BLOCK, np.int64)
    for start in range(0, ids.size, BLOCK):
        count = 0
        for i in range(start, min(start + BLOCK, ids.size)):
            place = ids[i] & bit_mask
            found[count] = ids[i]
            count += (ids[i] > 0) & (np.int64(bits[place >> 6] >> np.uint64(place & 63)) & 1)
        for at in range(count):
            fetch(slots, (found[at] << 1) & mask)
        for at in range(count):
            _mark_id(arrays, found[at], hash_mask, keep, end)


@leaf
def _mark_id(arrays, term_id, hash_mask, keep, end_of_records):
    at = find_slot(arrays.slots, term_id)
    record = arrays.slots[at + 1]
    if arrays.slots[at] == 0 or record >= end_of_records or keep[at >> 1] == HELD:
        return
    keep[at >> 1] = HELD
    first = record + LENGTH_BYTES
    end = first + _record_length(arrays.heap, record)
    wanted = narrow(hash_id(arrays.heap, first, end), hash_mask)
    while wanted != term_id:
        passed = find_slot(arrays.slots, wanted)
        if keep[passed >> 1] == 0:
            keep[passed >> 1] = PASSED
        wanted = next_id(wanted)


@leaf
def move_records(heap, ids, records, arrays):
    """Enters ids and their records of an old heap in arrays that are empty, and large enough."""
    for i in range(ids.size):
        end = records[i] + LENGTH_BYTES + _record_length(heap, records[i])
        at = find_slot(arrays.slots, ids[i])
        arrays.slots[at + 1] = arrays.sizes[1]
        arrays.slots[at] = ids[i]
        arrays.sizes[0] += 1
        arrays.sizes[1] = copy_bytes(heap, records[i], end, arrays.heap, arrays.sizes[1])
