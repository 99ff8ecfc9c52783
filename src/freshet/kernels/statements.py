"""Statements of N-Triples, N-Quads and timed N-Triples from bytes to ids, in one pass.

Most terms have been seen before. So a term is not read closely: where it ends is found eight bytes at a time, and
where the dictionary has the very same bytes as a checked key, that is the term, and nothing more is done. Only what is
new is checked, by `freshet.kernels.ntriples`; a line that fails any check is left to a full parser.

Lines go in blocks, and each loop does one kind of access for the whole block, so that waits for memory overlap.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.dictionary import ABSENT, CHECKED, LENGTH_BYTES, UNKNOWN, enter, narrow, same_bytes
from freshet.kernels.hashing import hash_id, word_32, word_64
from freshet.kernels.iris import GREATER, HASH, LESS, UNSURE, iri_end
from freshet.kernels.jit import leaf, njit
from freshet.kernels.ntriples import (
    AT,
    GRAPH,
    NEWLINE,
    RETURN,
    SPACE,
    TAB,
    UNDERSCORE,
    literal_end,
    read_time,
)
from freshet.kernels.pieces import copy_bytes
from freshet.kernels.term_ranges import find_byte, next_line, range_plain, range_statement
from freshet.kernels.terms import QUOTE, inline_id

LINES = 64  # statements in a block

# why a scan stops: it found no room for a key (then the result is how long the key is), or one of these
DONE = np.int64(-1)
ROWS_FULL = np.int64(-2)
UNSURE_FULL = np.int64(-3)

# places in `progress`
NEXT_BYTE, NEXT_LINE, ROW, UNSURE_LINES = 0, 1, 2, 3

RESOLVED = np.int64(-2)  # in place of a record: the id is the term's

_8, _16 = np.uint64(8), np.uint64(16)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xD6E8FEB86659FD93)


class Block(NamedTuple):
    """The lines of a block: where each starts, its number, its time, and its first term; and the terms."""

    line_starts: np.ndarray
    line_numbers: np.ndarray
    line_times: np.ndarray
    line_terms: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    ids: np.ndarray
    records: np.ndarray
    places: np.ndarray  # in the memo


class Memo(NamedTuple):
    """Terms seen lately, by a quick hash of some of their bytes: the id and the record in the dictionary, or -1.

    A term that has another's place takes it; who is not found here is looked for in the dictionary.
    """

    ids: np.ndarray
    records: np.ndarray


@leaf
def _memo_place(data, start, end, mask):
    """A place by the first and last sixteen bytes: there most terms differ, the longest IRIs too."""
    if end - start < 16:
        return (data[start + 1] * 31 + data[end - 2] + end - start) & mask
    first, last = np.uint64(start), np.uint64(end)
    mixed = (word_64(data, last - _8) ^ _MIX) * (word_64(data, last - _16) ^ _MIX_2)
    mixed ^= (word_64(data, first + _8) * _MIX) ^ (word_64(data, first) >> np.uint64(7))
    mixed *= _MIX_2
    return np.int64(mixed >> np.uint64(32)) & mask


@leaf
def _is_known(heap, record, data, start, end):
    """Whether the record holds these very bytes, checked."""
    length = np.uint64(end - start)
    if word_32(heap, np.uint64(record)) != length | CHECKED:
        return False
    return same_bytes(heap, record + LENGTH_BYTES, data, start, end)


@leaf
def _recall(heap, data, block, terms, memo):
    """Finds the ids of inline terms, and of those that the memo has."""
    _, _, _, _, starts, ends, ids, records, places = block
    memo_ids, memo_records = memo
    mask = memo_ids.size - 1
    for term in range(terms):
        start, end = starts[term], ends[term]
        places[term] = _memo_place(data, start, end, mask)
        records[term] = memo_records[places[term]]
        ids[term] = memo_ids[places[term]]
        if data[start] == QUOTE and data[end - 1] == GREATER:
            inline = inline_id(data, start, end)
            if inline != 0:
                ids[term] = inline
                records[term] = RESOLVED
    for term in range(terms):
        if records[term] >= 0:
            known = _is_known(heap, records[term], data, starts[term], ends[term])
            records[term] = RESOLVED if known else ABSENT


@leaf
def _look(arrays, data, block, terms, hash_mask):
    """Looks for the others in the dictionary; their records are in the processor's cache afterwards."""
    slots = arrays.slots
    _, _, _, _, starts, ends, ids, records, _ = block
    mask = np.int64(slots.size - 2)
    for term in range(terms):
        if records[term] == ABSENT:
            ids[term] = narrow(hash_id(data, starts[term], ends[term]), hash_mask)
    for term in range(terms):
        if records[term] == ABSENT:
            at = (ids[term] << 1) & mask
            while slots[at] != ids[term] and slots[at] != 0:
                at = (at + 2) & mask
            if slots[at] != 0:
                records[term] = slots[at + 1]


@leaf
def _enter_written(arrays, end, hash_mask):
    """Enters a key that has been written where the next record's key goes, up to `end`."""
    start = arrays.sizes[1] + LENGTH_BYTES
    wanted = narrow(hash_id(arrays.heap, start, end), hash_mask)
    term_id, _ = enter(arrays, arrays.heap, start, end, wanted, False)
    return term_id, ABSENT


@leaf
def _scoped(arrays, data, start, end, scope, hash_mask):
    """Enters a blank node under its scope."""
    heap, at = arrays.heap, arrays.sizes[1] + LENGTH_BYTES
    if at + end - start + scope.size > heap.size:
        return UNKNOWN, ABSENT
    at = copy_bytes(data, start, start + 2, heap, at)
    at = copy_bytes(scope, 0, scope.size, heap, at)
    at = copy_bytes(data, start + 2, end, heap, at)
    return _enter_written(arrays, at, hash_mask)


@leaf
def _in_lower_case(arrays, data, start, end, hash_mask):
    """Enters a literal with its language tag in lower case."""
    heap, at = arrays.heap, arrays.sizes[1] + LENGTH_BYTES
    if at + end - start > heap.size:
        return UNKNOWN, ABSENT
    at = copy_bytes(data, start, end, heap, at)
    letter = at - 1
    while heap[letter] != AT:
        if ord("A") <= heap[letter] <= ord("Z"):
            heap[letter] += 32
        letter -= 1
    return _enter_written(arrays, at, hash_mask)


@leaf
def _has_capitals(data, start, end):
    """Whether a literal has a language tag that is not in lower case."""
    if data[end - 1] == QUOTE or data[end - 1] == GREATER:
        return False
    at = end - 1
    while data[at] != AT:
        if ord("A") <= data[at] <= ord("Z"):
            return True
        at -= 1
    return False


@leaf
def _check_and_enter(arrays, data, start, end, wanted, scope, hash_mask):
    """The id and the record of a term that is not known as it stands; -1 for what may not be a term.

    The id is 0 where there is no room; the record is -1 where it does not hold the bytes that stand here.
    """
    if data[start] == UNDERSCORE:
        return _scoped(arrays, data, start, end, scope, hash_mask)
    if data[start] == LESS:
        if iri_end(data, start, end) != end:
            return UNSURE, ABSENT
    else:
        _, stop = literal_end(data, start, end)
        if stop != end:
            return UNSURE, ABSENT
        if _has_capitals(data, start, end):
            return _in_lower_case(arrays, data, start, end, hash_mask)
    return enter(arrays, data, start, end, wanted, True)


@leaf
def _resolve(arrays, data, block, lines, memo, scope, hash_mask):
    """Gives the other terms of a block their ids. Says how many lines are sure, and 0 or how long a key lacks room."""
    heap = arrays.heap
    memo_ids, memo_records = memo
    _, _, _, line_terms, starts, ends, ids, records, places = block
    for line in range(lines):
        for term in range(line_terms[line], line_terms[line + 1]):
            record, start, end = records[term], starts[term], ends[term]
            if record == RESOLVED:
                continue
            if record < 0 or not _is_known(heap, record, data, start, end):
                term_id, record = _check_and_enter(arrays, data, start, end, ids[term], scope, hash_mask)
                if term_id == UNKNOWN:
                    return line, end - start + scope.size
                if term_id < 0:
                    return line, np.int64(0)
                ids[term] = term_id
            if record >= 0:
                memo_ids[places[term]] = ids[term]
                memo_records[places[term]] = record
    return lines, np.int64(0)


@leaf
def _range_block(data, at, number, timed, quads, block):
    """Finds the terms of the next lines: how many statements, where the lines after them start, and their number.

    It stops before a line of which it is not sure.
    """
    line_starts, line_numbers, line_times, line_terms, starts, ends, _, _, _ = block
    lines, terms = 0, 0
    line_terms[0] = 0
    while lines < LINES and at < data.size:
        if data[at] in (SPACE, TAB, HASH, NEWLINE, RETURN):
            following = next_line(data, at)
            if following >= 0:  # nothing there but a comment
                at = following
                number += 1
                continue
        start = at
        if timed:
            line_times[lines], start = read_time(data, at, data.size)
            if start < 0:
                break
        following = range_plain(data, start, starts, ends, terms) if start < data.size else UNSURE
        if following >= 0:
            terms += GRAPH
        else:
            following, terms = range_statement(data, start, quads, starts, ends, terms)
            if following < 0:
                break
        line_starts[lines] = at
        line_numbers[lines] = number
        lines += 1
        line_terms[lines] = terms
        at = following
        number += 1
    return lines, at, number


@njit
def _new_block():
    terms = LINES * (GRAPH + 1)
    return Block(
        np.empty(LINES, np.int64),
        np.empty(LINES, np.int64),
        np.zeros(LINES, np.int64),
        np.empty(LINES + 1, np.int64),
        np.empty(terms, np.int64),
        np.empty(terms, np.int64),
        np.empty(terms, np.int64),
        np.empty(terms, np.int64),
        np.empty(terms, np.int64),
    )


@leaf
def _put(block, lines, row, timed, quads, times, ids):
    """Writes the statements of a block from a row on."""
    _, _, line_times, line_terms, _, _, term_ids, _, _ = block
    for line in range(lines):
        first = line_terms[line]
        if timed:
            times[row + line] = line_times[line]
        for role in range(GRAPH):
            ids[role, row + line] = term_ids[first + role]
        if quads:
            named = line_terms[line + 1] - first > GRAPH
            ids[GRAPH, row + line] = term_ids[first + GRAPH] if named else UNKNOWN


@njit
def scan(arrays, memo, data, scope, timed, quads, hash_mask, times, ids, unsure, progress):
    """Reads statements from data[progress[NEXT_BYTE]:] on into `times` and `ids` (a row of it a role).

    `unsure` gets a column for each line that is left to a full parser: its number, where it starts and ends, and the
    row before which its statements belong. Returns why it stopped; `progress` says how far it came.
    """
    block = _new_block()
    at, number, row, left = progress
    while at < data.size:
        if row + LINES > ids.shape[1]:
            return ROWS_FULL
        if left == unsure.shape[1]:
            return UNSURE_FULL
        lines, following, next_number = _range_block(data, at, number, timed, quads, block)
        terms = block.line_terms[lines]
        _recall(arrays.heap, data, block, terms, memo)
        _look(arrays, data, block, terms, hash_mask)
        right, length = _resolve(arrays, data, block, lines, memo, scope, hash_mask)
        if length > 0:
            return length
        _put(block, right, row, timed, quads, times, ids)
        row += right
        at, number = following, next_number
        if right < lines:
            at, number = block.line_starts[right], block.line_numbers[right]
        if right < LINES and at < data.size:  # a line of which it is not sure
            end = find_byte(data, at, NEWLINE)
            unsure[0, left], unsure[1, left], unsure[2, left], unsure[3, left] = number, at, end, row
            left += 1
            at, number = min(end + 1, data.size), number + 1
        progress[NEXT_BYTE], progress[NEXT_LINE], progress[ROW], progress[UNSURE_LINES] = at, number, row, left
    return DONE
