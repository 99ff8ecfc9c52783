"""Statements of N-Triples, N-Quads and timed N-Triples from bytes to ids, in one pass.

Most terms have been seen before. So a term is not read closely: where it ends is found eight bytes at a time, and
where the dictionary has the very same bytes as a checked key, that is the term, and nothing more is done. Only what is
new is checked, by `freshet.kernels.ntriples`; a line that fails any check is left to a full parser.

Where a line has the subject of the line before it, or the predicate that came last time after the two before it, that
is seen by comparing bytes (`freshet.kernels.plain_lines`).

Lines go in blocks, and each loop does one kind of access for the whole block, so that waits for memory overlap.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.dictionary import ABSENT, CHECKED, LENGTH_BYTES, UNKNOWN, enter, narrow, same_bytes
from freshet.kernels.hashing import hash_id, word_32
from freshet.kernels.iris import GREATER, HASH, LESS, UNSURE, iri_end
from freshet.kernels.jit import leaf, njit
from freshet.kernels.ntriples import (
    AT,
    GRAPH,
    NEWLINE,
    PREDICATE,
    RETURN,
    SPACE,
    TAB,
    UNDERSCORE,
    literal_end,
    read_time,
)
from freshet.kernels.pieces import copy_bytes
from freshet.kernels.plain_lines import GUESSES, range_plain, remember_predicate
from freshet.kernels.read_only import read_only
from freshet.kernels.term_ranges import (
    END,
    ID,
    QUICK,
    RECALLED,
    RECORD,
    REPEATED,
    RESOLVED,
    START,
    UNFOUND,
    WORDS,
    find_byte,
    next_line,
    quick_hash,
    range_statement,
)
from freshet.kernels.terms import MINUS, QUOTE, inline_id

LINES = 64  # statements in a block
_TERMS = LINES * (GRAPH + 1)

# The second word of a place in the memo: a record, and above it bits of a quick hash.
_RECORD_BITS = np.int64(40)
_RECORD_MASK = np.int64((1 << 40) - 1)
_TAG_MASK = np.int64((1 << 22) - 1)

# why a scan stops: it found no room for a key (then the result is how long the key is), or one of these
DONE = np.int64(-1)
ROWS_FULL = np.int64(-2)
UNSURE_FULL = np.int64(-3)

# what stands before statements
UNTIMED, TIMED, DELETING = 0, 1, 2

# places in `progress`
NEXT_BYTE, NEXT_LINE, ROW, UNSURE_LINES = 0, 1, 2, 3


class Block(NamedTuple):
    """The lines of a block: where each starts, its number, its time, whether it deletes, and its first term; and the
    terms.
    """

    line_starts: np.ndarray
    line_numbers: np.ndarray
    line_times: np.ndarray
    line_deletes: np.ndarray
    line_terms: np.ndarray
    terms: np.ndarray


@leaf
def holds_checked(heap, record, data, start, end):
    """Whether the record holds these very bytes, checked."""
    length = np.uint64(end - start)
    if word_32(read_only(heap), np.uint64(record)) != length | CHECKED:
        return False
    return same_bytes(read_only(heap), record + LENGTH_BYTES, data, start, end)


@leaf
def _find_inline(data, terms, stop, asked):
    """Finds inline terms; says how many others are to be asked for, and which."""
    count = 0
    for term in range(0, stop, WORDS):
        if terms[term + RECORD] != UNFOUND:
            continue
        start, end = terms[term + START], terms[term + END]
        if data[start] == QUOTE and data[end - 1] == GREATER:
            inline = inline_id(data, start, end)
            if inline != 0:
                terms[term + ID] = inline
                terms[term + RECORD] = RESOLVED
                continue
        terms[term + QUICK] = quick_hash(data, start, end)
        asked[count] = term
        count += 1
    return count


@leaf
def _memo_place(quick, memo):
    return (quick >> _RECORD_BITS & (memo.size // 2 - 1)) * 2


@leaf
def _memo_word(quick, record):
    return (quick & _TAG_MASK) << _RECORD_BITS | record


@leaf
def _recall(heap, data, terms, asked, found, count, memo):
    """Finds the terms that the memo has; says how many of those that are asked for it has not.

    The memo has terms seen lately, two words a place that a quick hash gives: the id, and the record in the dictionary
    together with a few bits of the hash. They show whether the term is there before anything else has to be read; a
    wrong guess here would wait for memory, so the loop that asks them has no branch.
    """
    hits, left = 0, 0
    for at in range(count):
        term = asked[at]
        quick = terms[term + QUICK]
        place = _memo_place(quick, memo)
        word = memo[place + 1]
        terms[term + ID] = memo[place]
        terms[term + RECORD] = word & _RECORD_MASK
        same = word >> _RECORD_BITS == quick & _TAG_MASK
        found[hits] = term
        asked[left] = term
        hits += same
        left += not same
    for at in range(hits):
        term = found[at]
        if holds_checked(heap, terms[term + RECORD], data, terms[term + START], terms[term + END]):
            terms[term + RECORD] = RECALLED
        else:
            asked[left] = term
            left += 1
    return left


@leaf
def _recall_again(heap, data, terms, term, memo):
    """The record of a term that the memo has by now, and the term its id; else -1."""
    quick = terms[term + QUICK]
    place = _memo_place(quick, memo)
    word = memo[place + 1]
    record = word & _RECORD_MASK
    if word >> _RECORD_BITS != quick & _TAG_MASK:
        return ABSENT
    if not holds_checked(heap, record, data, terms[term + START], terms[term + END]):
        return ABSENT
    terms[term + ID] = memo[place]
    return record


@leaf
def _look_up(slots, data, terms, asked, count, hash_mask):
    """Looks for the others in the dictionary; their records are in the processor's cache afterwards."""
    mask = np.int64(slots.size - 2)
    for at in range(count):
        term = asked[at]
        terms[term + ID] = narrow(hash_id(data, terms[term + START], terms[term + END]), hash_mask)
    for at in range(count):
        term = asked[at]
        wanted = terms[term + ID]
        slot = (wanted << 1) & mask
        while slots[slot] != wanted and slots[slot] != 0:
            slot = (slot + 2) & mask
        terms[term + RECORD] = slots[slot + 1] if slots[slot] != 0 else UNFOUND


@leaf
def _enter_written(arrays, end, hash_mask):
    """Enters a key that has been written where the next record's key goes, up to `end`."""
    start = arrays.sizes[1] + LENGTH_BYTES
    wanted = narrow(hash_id(read_only(arrays.heap), start, end), hash_mask)
    term_id, _ = enter(arrays, read_only(arrays.heap), start, end, wanted, False)
    return term_id, ABSENT


@leaf
def _enter_scoped(arrays, data, start, end, scope, hash_mask):
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
        return _enter_scoped(arrays, data, start, end, scope, hash_mask)
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
def _resolve(arrays, data, line_terms, terms, lines, memo, guesses, scope, hash_mask):
    """Gives the other terms of a block their ids. Says how many lines are sure, and 0 or how long a key lacks room."""
    heap = arrays.heap
    for line in range(lines):
        for term in range(line_terms[line], line_terms[line + 1], WORDS):
            record = terms[term + RECORD]
            if record == RESOLVED:
                continue
            if record == REPEATED:
                terms[term + ID] = terms[line_terms[line - 1] + ID]
                continue
            start, end = terms[term + START], terms[term + END]
            if record == UNFOUND:  # what came first within this block comes again as a rule
                record = _recall_again(heap, data, terms, term, memo)
            elif record >= 0 and not holds_checked(heap, record, data, start, end):
                record = UNFOUND
            if record == UNFOUND:
                term_id, record = _check_and_enter(arrays, data, start, end, terms[term + ID], scope, hash_mask)
                if term_id == UNKNOWN:
                    return line, end - start + scope.size
                if term_id < 0:
                    return line, np.int64(0)
                terms[term + ID] = term_id
            if record >= 0:
                quick = terms[term + QUICK]
                place = _memo_place(quick, memo)
                memo[place] = terms[term + ID]
                memo[place + 1] = _memo_word(quick, record)
            if term == line_terms[line] + PREDICATE * WORDS:
                remember_predicate(data, start, end, terms[term + ID], guesses)
    return lines, np.int64(0)


@leaf
def _range_block(data, at, number, timed, quads, block, guesses):
    """Finds the terms of the next lines: how many statements, where the lines after them start, and their number.

    It stops before a line of which it is not sure.
    """
    line_starts, line_numbers, line_times, line_deletes, line_terms, terms = block
    lines, term, before = 0, 0, -1
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
            line_deletes[lines] = 0
            if timed == DELETING and start + 1 < data.size and data[start] == MINUS and data[start + 1] in (SPACE, TAB):
                line_deletes[lines] = 1
                start += 2
        following = range_plain(data, start, before, terms, term, guesses) if start < data.size else UNSURE
        before = term
        if following >= 0:
            term += GRAPH * WORDS
        else:
            following, term = range_statement(data, start, quads, terms, term)
            if following < 0:
                break
        line_starts[lines] = at
        line_numbers[lines] = number
        lines += 1
        line_terms[lines] = term
        at = following
        number += 1
    return lines, at, number


@njit
def _new_block():
    return Block(
        np.empty(LINES, np.int64),
        np.empty(LINES, np.int64),
        np.zeros(LINES, np.int64),
        np.zeros(LINES, np.int64),
        np.empty(LINES + 1, np.int64),
        np.empty(_TERMS * WORDS, np.int64),
    )


@leaf
def _put(block, lines, row, timed, quads, times, ids):
    """Writes the statements of a block from a row on."""
    _, _, line_times, line_deletes, line_terms, terms = block
    for line in range(lines):
        first = line_terms[line] + ID
        if timed:
            times[row + line] = line_times[line]
        for role in range(GRAPH):
            ids[role, row + line] = terms[first + role * WORDS]
        if line_deletes[line]:
            ids[PREDICATE, row + line] *= -1
        if quads:
            named = line_terms[line + 1] - line_terms[line] > GRAPH * WORDS
            ids[GRAPH, row + line] = terms[first + GRAPH * WORDS] if named else UNKNOWN


@njit
def scan(arrays, memo, data, scope, timed, quads, hash_mask, times, ids, unsure, progress):
    """Reads statements from data[progress[NEXT_BYTE]:] on into `times` and `ids` (a row of it a role).

    `timed` is UNTIMED, TIMED, or DELETING: then a minus sign before a statement says that it is deleted, and the id of
    its predicate is negative. `unsure` gets a column for each line that is left to a full parser: its number, where it
    starts and ends, and the row before which its statements belong. Returns why it stopped; `progress` says how far it
    came.
    """
    block, guesses = _new_block(), np.zeros(GUESSES, np.int64)
    asked, found = np.empty(_TERMS, np.int64), np.empty(_TERMS, np.int64)
    at, number, row, left = progress
    while at < data.size:
        if row + LINES > ids.shape[1]:
            return ROWS_FULL
        if left == unsure.shape[1]:
            return UNSURE_FULL
        lines, following, next_number = _range_block(data, at, number, timed, quads, block, guesses)
        line_terms, terms = block.line_terms, block.terms
        count = _find_inline(data, terms, line_terms[lines], asked)
        count = _recall(arrays.heap, data, terms, asked, found, count, memo)
        _look_up(arrays.slots, data, terms, asked, count, hash_mask)
        right, length = _resolve(arrays, data, line_terms, terms, lines, memo, guesses, scope, hash_mask)
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
