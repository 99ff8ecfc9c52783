"""SPARQL's order of terms (15.1) as whole numbers that are made once for each row, and the order of rows by them.

| class | terms | FIRST, SECOND, THIRD |
| --- | --- | --- |
| 0 | unbound | 0 |
| 1, 2, 6, 7 | blank nodes, IRIs, other literals, triple terms | the first 24 bytes of the text |
| 3 | numbers | float64 in order (NaN last), then the exact number |
| 4 | dates and times | 0, then the time since 1970 |
| 5 | booleans | as float64 |

Two terms of equal numbers are equal, so that the next condition decides, but for those that go by their text: where
the first bytes are the same, the dictionary has the others. So beside these numbers stand the id of the term and the
place of its record in the dictionary's heap. Numbers of descending conditions are inverted (~x).

A float or a double has as its exact number the shortest decimal that rounds to it, as far as that has 15 digits: so
0.1 as a double and as a decimal are equal, and all numbers are in one order.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels import wide
from freshet.kernels.comparison import lexical_end, order_of
from freshet.kernels.dictionary import LENGTH_BYTES, _record_length, find_slot
from freshet.kernels.jit import inlined, leaf, njit
from freshet.kernels.lexical import LONGEST_KEY, write_decimal
from freshet.kernels.members import _ordered_real
from freshet.kernels.values import (
    BLANK_NODE,
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    IRI,
    NOTHING,
    TIME_LOCAL,
    TRIPLE_TERM,
    UNKNOWN,
    plain_number,
    value_of,
)

# What comes before what; the same as in `freshet.expressions.order`.
_UNBOUND = 0
_BLANK_NODES = 1
_IRIS = 2
_NUMBERS = 3
_MOMENTS = 4
_BOOLEANS = 5
_OTHERS = 6
_TRIPLE_TERMS = 7

# Columns of the keys of rows: GROUP, those of each condition, and last the number of the arrival.
GROUP = 0
CONDITIONS = 1
TERM_WIDTH = 6  # columns of a condition, so that a row with one of them is a line of the cache
_CLASS, _FIRST, _SECOND, _THIRD, _ID, _RECORD = range(TERM_WIDTH)
OTHER_COLUMNS = 2

SCRATCH_BYTES = 2 * LONGEST_KEY

_SIGN = np.int64(-(2**63))
_WORD_BYTES = 8
_WORDS = 3  # of a text
_EXACT = 2.0**53  # up to here float64 holds every integer
_MOST_WHOLE = 2.0**63


class Texts(NamedTuple):
    """Where the texts of terms are."""

    heap: np.ndarray  # uint8, of the dictionary
    scratch: np.ndarray  # uint8: room for two terms that are not in it


class TermArrays(NamedTuple):
    """Texts and values of terms."""

    slots: np.ndarray  # of the dictionary
    texts: Texts
    ids: np.ndarray  # of the table of values, as all that follow
    kinds: np.ndarray
    high: np.ndarray
    low: np.ndarray
    reals: np.ndarray


@njit
def _class(kind):
    if kind <= DOUBLE:
        return _UNBOUND if kind == NOTHING else _NUMBERS
    if kind == BOOLEAN:
        return _BOOLEANS
    if kind <= TIME_LOCAL:
        return _MOMENTS
    if kind == IRI:
        return _IRIS
    if kind == TRIPLE_TERM:
        return _TRIPLE_TERMS
    return _BLANK_NODES if kind == BLANK_NODE else _OTHERS


@inlined
def _is_text(order):
    """Whether terms of a class, inverted or not, go by their text."""
    order = order if order >= 0 else ~order
    return order >= _OTHERS or _UNBOUND < order <= _IRIS


@njit
def _decimal_of(real):
    """The shortest decimal that rounds to a float64, in units of 10**-18; 0 where that has too many digits."""
    if abs(real) < _EXACT:
        for scale in range(wide.UNIT_DIGITS + 1):
            mantissa = np.round(real * 10.0**scale)
            if abs(mantissa) >= _EXACT:
                break
            if plain_number(np.int64(mantissa), scale) == real:
                return wide.scale_to_units(np.int64(mantissa), scale)
    elif abs(real) < _MOST_WHOLE:
        return wide.scale_to_units(np.int64(real), 0)
    return np.int64(0), np.uint64(0)


@njit
def _word(data, start, end):
    """Eight bytes as a number in the order of the bytes; zeros where the text has ended."""
    word = np.uint64(0)
    for at in range(start, start + _WORD_BYTES):
        word = word << np.uint64(8) | np.uint64(data[at] if at < end else 0)
    return np.int64(word) ^ _SIGN


@leaf
def _key_range(texts, term_id, record, spare):
    """Where a term's key is, in the heap or (a decimal of too many digits) in the scratch."""
    if term_id < 0:
        return spare, np.int64(write_decimal(texts.scratch, spare, term_id))
    start = record + LENGTH_BYTES
    return start, start + _record_length(texts.heap, record)


@leaf
def _text_end(data, start, end):
    """Where the text of a key ends, which begins behind its first byte."""
    if data[start] == ord('"'):
        return lexical_end(data, start, end)
    return end - 1 if data[start] == ord("<") else end


@leaf
def _write_text(terms, term_id, keys, row, first):
    """The beginning of a text without its marks, and where it is."""
    record = terms.slots[find_slot(terms.slots, term_id) + 1] if term_id > 0 else 0
    data = terms.texts.heap if term_id > 0 else terms.texts.scratch
    start, end = _key_range(terms.texts, term_id, record, 0)
    end = _text_end(data, start, end)
    for word in range(_WORDS):
        keys[row, first + _FIRST + word] = _word(data, start + 1 + word * _WORD_BYTES, end)
    keys[row, first + _RECORD] = record


@leaf
def _write_terms(terms, ids, descending, keys):
    """Gives False where the value of an id is not known."""
    for row in range(ids.shape[0]):
        for condition in range(ids.shape[1]):
            first = condition * TERM_WIDTH
            term_id = ids[row, condition]
            kind, high, low, real = value_of(terms.ids, terms.kinds, terms.high, terms.low, terms.reals, term_id)
            if kind == UNKNOWN:
                return False
            order = _class(kind)
            keys[row, first + _CLASS] = order
            keys[row, first + _ID] = term_id
            if _is_text(order):
                _write_text(terms, term_id, keys, row, first)
            elif order != _UNBOUND:
                keys[row, first + _FIRST] = _ordered_real(real)
                if kind > DECIMAL and order == _NUMBERS:
                    high, low = _decimal_of(real)
                keys[row, first + _SECOND] = high
                keys[row, first + _THIRD] = np.int64(low) ^ _SIGN
            if descending[condition]:
                for column in range(first, first + _ID):
                    keys[row, column] = ~keys[row, column]
    return True


@njit
def term_keys(terms, ids, descending):
    """The columns of the conditions, whose ids are side by side; and False where the value of an id is not known."""
    keys = np.zeros((ids.shape[0], TERM_WIDTH * ids.shape[1]), np.int64)
    return keys, _write_terms(terms, ids, descending, keys)


@njit
def find_records(slots, keys, used):
    """Find the records of terms again, after the dictionary has moved them."""
    for row in range(used):
        for first in range(CONDITIONS, keys.shape[1] - 1, TERM_WIDTH):
            if keys[row, first + _ID] > 0 and _is_text(keys[row, first + _CLASS]):
                keys[row, first + _RECORD] = slots[find_slot(slots, keys[row, first + _ID]) + 1]


@leaf
def _compare_ranges(left, start, end, right, other_start, other_end):
    """-1, 0 or 1: the order of two ranges of bytes."""
    for at in range(min(end - start, other_end - other_start)):
        if left[start + at] != right[other_start + at]:
            return -1 if left[start + at] < right[other_start + at] else 1
    return order_of(end - start, other_end - other_start)


@leaf
def _compare_whole(keys, texts, left, right, column):
    """-1, 0 or 1: the order of two terms of a class by their texts, of which the first bytes are the same."""
    left_id, right_id = keys[left, column + _ID], keys[right, column + _ID]
    data, other = (texts.heap if left_id > 0 else texts.scratch), (texts.heap if right_id > 0 else texts.scratch)
    start, end = _key_range(texts, left_id, keys[left, column + _RECORD], 0)
    other_start, other_end = _key_range(texts, right_id, keys[right, column + _RECORD], LONGEST_KEY)
    cut, other_cut = _text_end(data, start, end), _text_end(other, other_start, other_end)
    same = min(1 + _WORDS * _WORD_BYTES, cut - start, other_cut - other_start)
    sign = _compare_ranges(data, start + same, cut, other, other_start + same, other_cut)
    return sign if sign != 0 else _compare_ranges(data, cut, end, other, other_cut, other_end)


@leaf
def precedes(keys, texts, first, left, right):
    """Whether a row comes before another: by the columns from `first` on, GROUP or CONDITIONS, then by arrival."""
    last = keys.shape[1] - 1
    if first == GROUP and keys[left, GROUP] != keys[right, GROUP]:
        return keys[left, GROUP] < keys[right, GROUP]
    for column in range(CONDITIONS, last, TERM_WIDTH):
        for at in range(column, column + _ID):
            if keys[left, at] != keys[right, at]:
                return keys[left, at] < keys[right, at]
        if keys[left, column + _ID] != keys[right, column + _ID] and _is_text(keys[left, column]):
            sign = _compare_whole(keys, texts, left, right, column)
            if sign != 0:
                return (sign < 0) == (keys[left, column] >= 0)
    return keys[left, last] < keys[right, last]


@leaf
def merge_rows(rows, first, middle, end, spare, keys, texts):
    """Put rows[first:end] in order, of which the parts before and behind the middle are."""
    for at in range(first, middle):
        spare[at] = rows[at]
    left, right, at = first, middle, first
    while left < middle and right < end:
        if precedes(keys, texts, CONDITIONS, rows[right], spare[left]):
            rows[at] = rows[right]
            right += 1
        else:
            rows[at] = spare[left]
            left += 1
        at += 1
    while left < middle:
        rows[at] = spare[left]
        left += 1
        at += 1


@leaf
def sort_rows(rows, first, end, spare, keys, texts):
    """Put rows[first:end] in order; `spare` is as long as `rows`."""
    width = 1
    while width < end - first:
        for start in range(first, end - width, 2 * width):
            middle, stop = start + width, min(start + 2 * width, end)
            if precedes(keys, texts, CONDITIONS, rows[middle], rows[middle - 1]):
                merge_rows(rows, start, middle, stop, spare, keys, texts)
        width *= 2
