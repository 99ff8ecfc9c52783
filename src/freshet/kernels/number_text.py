"""Keys of numbers that have no inline id: canonical XSD forms, a whole number of type decimal without a point."""

import numpy as np

from freshet.kernels import wide
from freshet.kernels.dictionary import BLOCK, enter, narrow
from freshet.kernels.digits import EIGHT_DIGITS, write_eight
from freshet.kernels.hashing import hash_id
from freshet.kernels.jit import leaf, njit
from freshet.kernels.pieces import copy_bytes, put_word
from freshet.kernels.prefetch import fetch
from freshet.kernels.read_only import read_only
from freshet.kernels.shortest_double import shortest_decimal
from freshet.kernels.terms import (
    CAPITAL_E,
    DECIMAL_SUFFIX,
    DOUBLE_SUFFIX,
    FLOAT_SUFFIX,
    INTEGER_SUFFIX,
    MINUS,
    NINE,
    POINT,
    QUOTE,
    ZERO,
    inline_id,
)
from freshet.kernels.values import DECIMAL, DOUBLE, FLOAT, NOTHING

ENTERED = -1  # in place of the kind of a number whose key was not there before
LONGEST_KEY = 96  # 41 characters of number at most, and 46 of datatype
LONGEST_REAL_KEY = 80
_TEN = np.uint64(10)
_BILLION = np.uint64(10**9)
_SIZE_MASK = np.int64(2**63 - 1)
_INFINITY_BITS = np.int64(2047 << 52)
_MOST_DIGITS = 40
_INF = np.frombuffer(b"INF", np.uint8).copy()
_NAN = np.frombuffer(b"NaN", np.uint8).copy()


@njit
def _append(out, at, text):
    for i in range(text.size):
        out[at + i] = text[i]
    return at + text.size


@leaf
def _write_digits(out, at, number, count):
    """The last `count` digits of a uint64."""
    left = count
    while left >= 8:
        rest = number // EIGHT_DIGITS
        left -= 8
        put_word(out, np.uint64(at + left), write_eight(number - rest * EIGHT_DIGITS))
        number = rest
    for place in range(left - 1, -1, -1):
        rest = number // _TEN
        out[at + place] = ZERO + np.int64(number - rest * _TEN)
        number = rest
    return at + count


@leaf
def _digit_count(number):
    count = 1
    while count < wide.POWERS_OF_TEN.size and number >= wide.POWERS_OF_TEN[count]:
        count += 1
    return count


@leaf
def _write_exact(out, at, kind, high, low):
    """The key of an integer or decimal; gives where it ends."""
    size_high, size_low, negative = wide.magnitude(high, low)
    whole_high, whole_low, fraction = wide.whole_part(size_high, size_low)
    out[at] = QUOTE
    at += 1
    if negative:
        out[at] = MINUS
        at += 1
    if whole_high != np.uint64(0):  # below 10**21
        whole_high, whole_low, lower = wide.divide_small(whole_high, whole_low, _BILLION)
        at = _write_digits(out, at, whole_low, _digit_count(whole_low))
        at = _write_digits(out, at, lower, 9)
    else:
        at = _write_digits(out, at, whole_low, _digit_count(whole_low))
    if fraction != np.uint64(0):
        out[at] = POINT
        at = _write_digits(out, at + 1, fraction, wide.UNIT_DIGITS)
        while out[at - 1] == ZERO:
            at -= 1
    suffix = DECIMAL_SUFFIX if kind == DECIMAL else INTEGER_SUFFIX
    return copy_bytes(suffix, 0, suffix.size, out, at)


@leaf
def _write_double(out, at, bits):
    """The key of a double; gives where it ends."""
    out[at] = QUOTE
    at += 1
    size = bits & _SIZE_MASK
    if bits < 0 and size <= _INFINITY_BITS:
        out[at] = MINUS
        at += 1
    if size == _INFINITY_BITS:
        at = copy_bytes(_INF, 0, _INF.size, out, at)
    elif size > _INFINITY_BITS:
        at = copy_bytes(_NAN, 0, _NAN.size, out, at)
    else:
        digits, exponent = np.uint64(0), 0
        if size != 0:
            digits, exponent = shortest_decimal(size)
        count = _digit_count(digits)
        _write_digits(out, at + 1, digits, count)
        out[at] = out[at + 1]  # one digit, a point, at least one digit
        out[at + 1] = POINT
        exponent += count - 1
        while count > 2 and out[at + count] == ZERO:
            count -= 1
        if count == 1:
            out[at + 2] = ZERO
            count = 2
        at += count + 1
        out[at] = CAPITAL_E
        at = _write_integer(out, at + 1, exponent)
    return copy_bytes(DOUBLE_SUFFIX, 0, DOUBLE_SUFFIX.size, out, at)


@njit
def enter_numbers(dictionary, hash_mask, numbers, ids):
    """Enter numbers that have no inline id as far as is known; gives how long a key is that found no room.

    Rows of `numbers` are kind, high, low and real as whole numbers; `ids` are 0 where an id is to be put in. The kind
    of those that were not there before becomes ENTERED. Gives -1
    where there was room for all, -2 where there are floats besides, which are left out. Numbers go in blocks, so that
    the waits for memory overlap.
    """
    slots, end_of_records = dictionary.slots, dictionary.sizes[1]
    keys = np.empty(min(BLOCK, ids.size) * LONGEST_KEY, np.uint8)
    texts = read_only(keys)
    rows, ends, wanted = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    row, last = 0, -1
    while row < ids.size:
        count = 0
        while row < ids.size and count < BLOCK:
            kind, start = numbers[row, 0], count * LONGEST_KEY
            if kind == FLOAT:
                last = -2
            elif kind != NOTHING and ids[row] == 0:
                rows[count] = row
                if kind == DOUBLE:
                    ends[count] = _write_double(keys, start, numbers[row, 3])
                    ids[row] = inline_id(texts, start, ends[count])  # of very large and small ones not known before
                else:
                    ends[count] = _write_exact(keys, start, kind, numbers[row, 1], np.uint64(numbers[row, 2]))
                wanted[count] = narrow(hash_id(texts, start, ends[count]), hash_mask)
                fetch(slots, (wanted[count] << 1) & (slots.size - 2))
                count += ids[row] == 0
            row += 1
        for at in range(count):
            start = at * LONGEST_KEY
            ids[rows[at]], record = enter(dictionary, texts, start, ends[at], wanted[at], False)
            if ids[rows[at]] == 0:
                return ends[at] - start
            if record >= end_of_records:
                numbers[rows[at], 0] = ENTERED
    return last


@njit
def write_floats(texts):
    """Keys of floats out of the shortest texts that give them back, in whatever notation these are.

    `texts` has a row for each, with zeros after the text.
    """
    data = np.empty(texts.shape[0] * LONGEST_REAL_KEY, np.uint8)
    starts = np.empty(texts.shape[0], np.int64)
    ends = np.empty(texts.shape[0], np.int64)
    digits = np.empty(_MOST_DIGITS, np.uint8)
    at = 0
    for row in range(texts.shape[0]):
        starts[row] = at
        data[at] = QUOTE
        at += 1
        text, first = texts[row], 0
        if text[0] == MINUS:
            data[at] = MINUS
            at += 1
            first = 1
        if text[first] == ord("i"):
            at = _append(data, at, _INF)
        elif text[first] == ord("n"):
            at = _append(data, at, _NAN)
        else:
            at = _write_scientific(data, at, text, first, digits)
        at = _append(data, at, FLOAT_SUFFIX)
        ends[row] = at
    return data[:at], starts, ends


@njit
def _write_scientific(data, at, text, first, digits):
    """One digit, a point, at least one digit, E, the exponent."""
    count, exponent, written = 0, -1, 0
    past_point = False
    place = first
    while text[place] == POINT or ZERO <= text[place] <= NINE:
        if text[place] == POINT:
            past_point = True
        elif count > 0 or text[place] != ZERO:
            digits[count] = text[place]
            count += 1
            exponent += not past_point
        elif past_point:
            exponent -= 1
        place += 1
    if text[place] != 0:
        written = _read_exponent(text, place + 1)
    while count > 1 and digits[count - 1] == ZERO:
        count -= 1
    if count == 0:
        digits[0] = ZERO
        count, exponent = 1, 0
    data[at] = digits[0]
    data[at + 1] = POINT
    at += 2
    for i in range(1, count):
        data[at] = digits[i]
        at += 1
    if count == 1:
        data[at] = ZERO
        at += 1
    data[at] = CAPITAL_E
    return _write_integer(data, at + 1, exponent + written)


@njit
def _read_exponent(text, first):
    value = np.int64(0)
    place = first
    while text[place] != 0:
        if text[place] >= ZERO:
            value = value * 10 + np.int64(text[place]) - ZERO
        place += 1
    return -value if text[first] == MINUS else value


@leaf
def _write_integer(data, at, value):
    if value < 0:
        data[at] = MINUS
        at += 1
        value = -value
    divisor = 1
    while value // divisor >= 10:
        divisor *= 10
    while divisor > 0:
        data[at] = ZERO + value // divisor % 10
        at += 1
        divisor //= 10
    return at
