"""Statements of N-Triples, N-Quads and timed N-Triples from bytes to ids, in one pass.

Most terms have been seen before. So a term is not read closely: where it ends is found eight bytes at a time, and
where the dictionary has the very same bytes as a checked key, that is the term, and nothing more is done. Only what is
new is checked, by `freshet.kernels.ntriples`; a line that fails any check is left to a full parser.

Lines go in blocks, and each loop does one kind of access for the whole block, so that waits for memory overlap.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.dictionary import CHECKED, LENGTH_BYTES, UNKNOWN, enter, narrow, same_bytes
from freshet.kernels.hashing import hash_id, word_32, word_64
from freshet.kernels.iris import GREATER, HASH, IS_ALPHA, IS_DIGIT, LESS, UNSURE, iri_end, is_a
from freshet.kernels.jit import njit
from freshet.kernels.ntriples import (
    AT,
    CARET,
    GRAPH,
    NEWLINE,
    OBJECT,
    PREDICATE,
    RETURN,
    SPACE,
    STRING_SUFFIX,
    TAB,
    UNDERSCORE,
    blank_node_end,
    is_blank,
    literal_end,
    read_time,
    skip_space,
)
from freshet.kernels.pieces import copy_bytes
from freshet.kernels.terms import MINUS, POINT, QUOTE, ends_with, inline_id

LINES = 64  # statements in a block
RECENT = 256  # predicates that are known without a look into the dictionary

# why a scan stops: it found no room for a key (then the result is how long the key is), or one of these
DONE = np.int64(-1)
ROWS_FULL = np.int64(-2)
UNSURE_FULL = np.int64(-3)

# places in `progress`
NEXT_BYTE, NEXT_LINE, ROW, UNSURE_LINES = 0, 1, 2, 3

# what stands in `records` for a term that needs no look at its record
ABSENT = np.int64(-1)
RESOLVED = np.int64(-2)

_8, _16 = np.uint64(8), np.uint64(16)
_LOW = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_RECENT_SHIFT = np.uint64(64 - 8)


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


class Recent(NamedTuple):
    """Predicates seen lately, by a hash of their last bytes: where one stands in the data, its length and its id."""

    starts: np.ndarray
    lengths: np.ndarray
    ids: np.ndarray


@njit
def _hits(data, at, pattern):
    """The highest bit of each byte of a word that is the one looked for, and nothing below the lowest of them."""
    word = word_64(data, at) ^ pattern
    return (word - _LOW) & ~word & _HIGH


@njit
def find_byte(data, at, byte):
    """Where the byte stands from `at` on, or the size of the data."""
    here, size = np.uint64(at), np.uint64(data.size)
    pattern = np.uint64(byte) * _LOW
    while here + _16 <= size:
        hits = _hits(data, here, pattern)
        more = _hits(data, here + _8, pattern)
        if hits | more != 0:
            here += _8 if hits == 0 else np.uint64(0)
            hits = more if hits == 0 else hits
            below = (hits & (~hits + np.uint64(1))) - np.uint64(1)
            return np.int64(here) + np.int64(((below & _LOW) * _LOW) >> np.uint64(56)) - 1
        here += _16
    rest = np.int64(here)
    while rest < data.size and data[rest] != byte:
        rest += 1
    return rest


@njit
def _literal_range(data, start):
    """Where the key of a literal ends, and where the literal does, if it is one."""
    size = data.size
    quote = find_byte(data, start + 1, QUOTE)
    at = quote + 1
    if at >= size:
        return np.int64(size), np.int64(size)
    if data[at] == AT:
        at += 1
        while at < size and (is_a(data[at], IS_ALPHA | IS_DIGIT) or data[at] == MINUS):
            at += 1
    elif data[at] == CARET:
        at = find_byte(data, at, GREATER) + 1
        if at - quote == STRING_SUFFIX.size and at <= size and ends_with(data, quote, at, STRING_SUFFIX):
            return quote + 1, at
    return at, at


@njit
def _other_range(data, at, role):
    """Where the key of a term that is no IRI ends, and where the term does, if it is one; -1 where it surely is not."""
    if data[at] == QUOTE and role == OBJECT:
        return _literal_range(data, at)
    if data[at] == UNDERSCORE and role != PREDICATE:
        end = blank_node_end(data, at, data.size)
        return end, end
    return UNSURE, UNSURE


@njit
def _next_line(data, at):
    """Where the line after the statement that ends at `at` starts; -1 where more than a comment follows."""
    size = data.size
    if at == size:
        return np.int64(size)
    if data[at] == NEWLINE:
        return np.int64(at + 1)
    end = find_byte(data, at, NEWLINE)
    last = end - 1 if data[end - 1] == RETURN else end
    return np.int64(min(end + 1, size)) if is_blank(data, at, last) else UNSURE


@njit
def _range_statement(data, at, quads, starts, ends, term):
    """Finds the ranges of a statement's terms. Returns where the next line starts, or -1, and the next free term."""
    size = data.size
    for role in range(GRAPH + 1):
        at = skip_space(data, at, size)
        if at >= size or (role == GRAPH and (data[at] == POINT or not quads)):
            break
        starts[term] = at
        if data[at] == LESS:
            at = find_byte(data, at + 1, GREATER) + 1
            ends[term] = at
        else:
            ends[term], at = _other_range(data, at, role)
            if at < 0:
                return UNSURE, term
        term += 1
    at = skip_space(data, at, size)
    if at >= size or data[at] != POINT:
        return UNSURE, term
    return _next_line(data, at + 1), term


@njit
def _recent_place(data, start, end):
    if end - start < 9:
        return np.int64(0)
    return np.int64((word_64(data, np.uint64(end - 9)) * _MIX) >> _RECENT_SHIFT)


@njit
def _ask(data, start, end, hash_mask):
    """The id that a term asks for: inline, or its hash."""
    if data[start] == QUOTE and data[end - 1] == GREATER:
        inline = inline_id(data, start, end)
        if inline != 0:
            return inline
    return narrow(hash_id(data, start, end), hash_mask)


@njit
def _look(arrays, data, block, lines, recent, hash_mask):
    """Looks for the terms of a block where they most likely are; their records are in the cache afterwards."""
    slots, heap, _ = arrays
    _, _, _, line_terms, starts, ends, ids, records = block
    recent_starts, recent_lengths, recent_ids = recent
    terms = line_terms[lines]
    for term in range(terms):
        records[term] = ABSENT
    for line in range(lines):
        term = line_terms[line] + PREDICATE
        start, end = starts[term], ends[term]
        place = _recent_place(data, start, end)
        if recent_lengths[place] == end - start and same_bytes(data, recent_starts[place], data, start, end):
            ids[term] = recent_ids[place]
            records[term] = RESOLVED
    for term in range(terms):
        if records[term] == ABSENT:
            ids[term] = _ask(data, starts[term], ends[term], hash_mask)
    mask = np.int64(slots.size - 2)
    for term in range(terms):
        if ids[term] < 0:
            records[term] = RESOLVED
        elif records[term] == ABSENT:
            at = (ids[term] << 1) & mask
            while slots[at] != ids[term] and slots[at] != 0:
                at = (at + 2) & mask
            if slots[at] != 0:
                records[term] = slots[at + 1]
    for term in range(terms):
        if records[term] >= 0:
            length = np.uint64(ends[term] - starts[term])
            if word_32(heap, np.uint64(records[term])) != length | CHECKED:
                records[term] = ABSENT


@njit
def _scoped(arrays, data, start, end, scope, hash_mask):
    """Enters a blank node under its scope."""
    key = np.empty(end - start + scope.size, np.uint8)
    at = copy_bytes(data, start, start + 2, key, 0)
    at = copy_bytes(scope, 0, scope.size, key, at)
    at = copy_bytes(data, start + 2, end, key, at)
    return enter(arrays, key, 0, at, narrow(hash_id(key, 0, at), hash_mask), False)


@njit
def _in_lower_case(arrays, data, start, end, hash_mask):
    """Enters a literal with its language tag in lower case."""
    key = np.empty(end - start, np.uint8)
    copy_bytes(data, start, end, key, 0)
    at = key.size - 1
    while key[at] != AT:
        if ord("A") <= key[at] <= ord("Z"):
            key[at] += 32
        at -= 1
    return enter(arrays, key, 0, key.size, narrow(hash_id(key, 0, key.size), hash_mask), False)


@njit
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


@njit
def _check_and_enter(arrays, data, start, end, wanted, scope, hash_mask):
    """The id of a term that is not known as it stands: 0 where it finds no room, -1 where it may not be a term."""
    if data[start] == UNDERSCORE:
        return _scoped(arrays, data, start, end, scope, hash_mask)
    if data[start] == LESS:
        if iri_end(data, start, end) != end:
            return UNSURE
    else:
        _, stop = literal_end(data, start, end)
        if stop != end:
            return UNSURE
        if _has_capitals(data, start, end):
            return _in_lower_case(arrays, data, start, end, hash_mask)
    return enter(arrays, data, start, end, wanted, True)


@njit
def _resolve(arrays, data, block, lines, recent, scope, hash_mask):
    """Gives the terms of a block their ids. Says how many lines are sure, and 0 or how long a key without room is."""
    heap = arrays.heap
    _, _, _, line_terms, starts, ends, ids, records = block
    for line in range(lines):
        first = line_terms[line]
        for term in range(first, line_terms[line + 1]):
            record, start, end = records[term], starts[term], ends[term]
            if record == RESOLVED or (record >= 0 and same_bytes(heap, record + LENGTH_BYTES, data, start, end)):
                continue
            term_id = _check_and_enter(arrays, data, start, end, ids[term], scope, hash_mask)
            if term_id == UNKNOWN:
                return line, end - start + scope.size
            if term_id < 0:
                return line, np.int64(0)
            ids[term] = term_id
        if records[first + PREDICATE] != RESOLVED:
            _remember(data, starts[first + PREDICATE], ends[first + PREDICATE], ids[first + PREDICATE], recent)
    return lines, np.int64(0)


@njit
def _remember(data, start, end, term_id, recent):
    place = _recent_place(data, start, end)
    recent.starts[place] = start
    recent.lengths[place] = end - start
    recent.ids[place] = term_id


@njit
def _range_block(data, at, number, timed, quads, block):
    """Finds the terms of the next lines: how many statements, where the lines after them start, and their number.

    It stops before a line of which it is not sure.
    """
    line_starts, line_numbers, line_times, line_terms, starts, ends, _, _ = block
    lines, terms = 0, 0
    line_terms[0] = 0
    while lines < LINES and at < data.size:
        if data[at] in (SPACE, TAB, HASH, NEWLINE, RETURN):
            following = _next_line(data, at)
            if following >= 0:  # nothing there but a comment
                at = following
                number += 1
                continue
        start = at
        if timed:
            line_times[lines], start = read_time(data, at, data.size)
            if start < 0:
                break
        following, terms = _range_statement(data, start, quads, starts, ends, terms)
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
    )


@njit
def _put(block, lines, row, timed, quads, times, ids):
    """Writes the statements of a block from a row on."""
    _, _, line_times, line_terms, _, _, term_ids, _ = block
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
def scan(arrays, data, scope, timed, quads, hash_mask, times, ids, unsure, progress):
    """Reads statements from data[progress[NEXT_BYTE]:] on into `times` and `ids` (a row of it a role).

    `unsure` gets a column for each line that is left to a full parser: its number, where it starts and ends, and the
    row before which its statements belong. Returns why it stopped; `progress` says how far it came.
    """
    block = _new_block()
    recent = Recent(np.zeros(RECENT, np.int64), np.full(RECENT, -1, np.int64), np.zeros(RECENT, np.int64))
    at, number, row, left = progress
    while at < data.size:
        if row + LINES > ids.shape[1]:
            return ROWS_FULL
        if left == unsure.shape[1]:
            return UNSURE_FULL
        lines, following, next_number = _range_block(data, at, number, timed, quads, block)
        _look(arrays, data, block, lines, recent, hash_mask)
        right, length = _resolve(arrays, data, block, lines, recent, scope, hash_mask)
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
