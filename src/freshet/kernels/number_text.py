"""Keys of numbers that have no inline id: canonical XSD forms, a whole number of type decimal without a point."""

import numpy as np

from freshet.kernels import wide
from freshet.kernels.jit import njit
from freshet.kernels.numbers import decimal_parts
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
)
from freshet.kernels.values import DECIMAL, DOUBLE

LONGEST_EXACT_KEY = 96  # 41 characters of number at most, and 46 of datatype
LONGEST_REAL_KEY = 80
_TEN = np.uint64(10)
_MOST_DIGITS = 40
_INF = np.frombuffer(b"INF", np.uint8).copy()
_NAN = np.frombuffer(b"NaN", np.uint8).copy()


@njit
def _append(out, at, text):
    for i in range(text.size):
        out[at + i] = text[i]
    return at + text.size


@njit
def write_exact(kinds, high, low):
    """Keys of integers and decimals: the bytes, and where each key starts and ends."""
    data = np.empty(kinds.size * LONGEST_EXACT_KEY, np.uint8)
    starts = np.empty(kinds.size, np.int64)
    ends = np.empty(kinds.size, np.int64)
    digits = np.empty(_MOST_DIGITS, np.uint8)
    at = 0
    for row in range(kinds.size):
        size_high, size_low, scale, negative = decimal_parts(high[row], low[row])
        count = 0
        while count <= scale or size_high != np.uint64(0) or size_low != np.uint64(0):
            size_high, size_low, digit = wide.divide_small(size_high, size_low, _TEN)
            digits[count] = ZERO + np.int64(digit)
            count += 1
        starts[row] = at
        data[at] = QUOTE
        at += 1
        if negative:
            data[at] = MINUS
            at += 1
        for place in range(count - 1, -1, -1):
            data[at] = digits[place]
            at += 1
            if place == scale and scale > 0:
                data[at] = POINT
                at += 1
        at = _append(data, at, DECIMAL_SUFFIX if kinds[row] == DECIMAL else INTEGER_SUFFIX)
        ends[row] = at
    return data[:at], starts, ends


@njit
def write_reals(kinds, texts):
    """Keys of doubles and floats out of the shortest texts that give them back, in whatever notation these are.

    `texts` has a row for each, with zeros after the text.
    """
    data = np.empty(kinds.size * LONGEST_REAL_KEY, np.uint8)
    starts = np.empty(kinds.size, np.int64)
    ends = np.empty(kinds.size, np.int64)
    digits = np.empty(_MOST_DIGITS, np.uint8)
    at = 0
    for row in range(kinds.size):
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
        at = _append(data, at, DOUBLE_SUFFIX if kinds[row] == DOUBLE else FLOAT_SUFFIX)
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


@njit
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
