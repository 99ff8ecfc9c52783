"""SPARQL's comparisons over columns, and its three-valued logic.

Truth values are FALSE < ERROR < TRUE, so that && is the lesser of two, || the greater, and ! is `TRUE - x`. A column of
one row stands for a constant. Each comparison ends in a code; a table says what truth the operator makes of each code.
"""

import numpy as np

from freshet.kernels import layout, wide
from freshet.kernels.jit import leaf, njit
from freshet.kernels.values import (
    BOOLEAN,
    DATE_TIME,
    DECIMAL,
    DOUBLE,
    FLOAT,
    ILL_TYPED,
    IRI,
    LANGUAGE_STRING,
    NOTHING,
    OTHER,
    STRING,
    TIME_LOCAL,
    TRIPLE_TERM,
    UNKNOWN,
    inline_exact,
    inline_kind,
    inline_real,
    value_of,
)

FALSE = 0
ERROR = 1
TRUE = 2

# Codes of a comparison.
FAILED = 0  # neither equality nor order is known
LESS = 1
EQUAL = 2
GREATER = 3
DIFFERENT = 4  # not equal, and there is no order
UNORDERED = 5  # not equal, not less and not greater: NaN
TEXT = 6  # two different strings, whose order needs the dictionary
DICTIONARY = 7  # nothing is known without the dictionary
TRIPLES = 8  # two different triple terms, whose terms may still have equal values
CODES = 9

_ZONES_MS = 14 * 3_600_000  # a time without zone may be this far from UTC
_ZONES = 14 * 3600 * 10**18
_ZONES_HIGH, _ZONES_LOW = np.int64(_ZONES >> 64), np.uint64(_ZONES & (2**64 - 1))


@njit
def order_of(left, right):
    """-1, 0 or 1."""
    return np.int64(left > right) - np.int64(left < right)


@njit
def _code(sign):
    return EQUAL + sign


@njit
def _compare_reals(left, right):
    if left < right:
        return LESS
    if left > right:
        return GREATER
    return EQUAL if left == right else UNORDERED


@njit
def _compare_inline(left, right):
    """The code of two inline ids."""
    left_type, right_type = layout.inline_type(left), layout.inline_type(right)
    left_value, right_value = layout.inline_value(left), layout.inline_value(right)
    if left_type == right_type and (left_type == layout.INTEGER or left_type == layout.BOOLEAN):
        return _code(order_of(left_value, right_value))
    left_kind, right_kind = inline_kind(left_type), inline_kind(right_type)
    if left_kind <= DOUBLE and right_kind <= DOUBLE:
        for inline_type, value in ((left_type, left_value), (right_type, right_value)):
            if inline_type == layout.DECIMAL and (value & layout.SCALE_MASK) > wide.UNIT_DIGITS:
                return DICTIONARY  # perhaps not a number at all: the table of values says
        left_real, right_real = inline_real(left_type, left_value), inline_real(right_type, right_value)
        kind = max(left_kind, right_kind)
        if kind == FLOAT:
            return _compare_reals(np.float32(left_real), np.float32(right_real))
        if left_real == right_real and kind <= DECIMAL:
            left_high, left_low, _ = inline_exact(left_type, left_value)
            right_high, right_low, _ = inline_exact(right_type, right_value)
            return _code(wide.compare(left_high, left_low, right_high, right_low))
        return _compare_reals(left_real, right_real)
    if left_kind >= DATE_TIME and right_kind >= DATE_TIME:
        left_ms, right_ms = left_value >> 1, right_value >> 1
        if left_type != right_type and abs(left_ms - right_ms) <= _ZONES_MS:
            return FAILED
        return _code(order_of(left_ms, right_ms))
    return DIFFERENT


@njit
def _compare_moments(left_kind, left_high, left_low, right_kind, right_high, right_low):
    """The code of two dates or times of the same datatype.

    Where just one has a time zone and the other's could make them equal, nothing is known (XML Schema, 3.2.7.4).
    """
    if left_kind == right_kind:
        return _code(wide.compare(left_high, left_low, right_high, right_low))
    high, low, _ = wide.subtract(left_high, left_low, right_high, right_low)
    sign = 1
    if high < 0:
        sign = -1
        high, low = wide.negate(high, low)
    return _code(sign) if wide.compare(high, low, _ZONES_HIGH, _ZONES_LOW) > 0 else FAILED


@njit
def compare_terms(left_kind, left_high, left_low, left_real, right_kind, right_high, right_low, right_real, same):
    """The code of two terms; `same` says that they are one."""
    if left_kind == NOTHING or right_kind == NOTHING:
        return FAILED
    if left_kind <= DOUBLE and right_kind <= DOUBLE:
        kind = max(left_kind, right_kind)
        if kind <= DECIMAL:
            return _code(wide.compare(left_high, left_low, right_high, right_low))
        if kind == FLOAT:
            return _compare_reals(np.float32(left_real), np.float32(right_real))
        return _compare_reals(left_real, right_real)
    if same:
        return EQUAL
    if max(left_kind, right_kind) >= IRI:
        return TRIPLES if left_kind == right_kind and left_kind == TRIPLE_TERM else DIFFERENT
    if max(left_kind, right_kind) >= OTHER:  # an unknown value, but never one with a language tag
        return DIFFERENT if min(left_kind, right_kind) == LANGUAGE_STRING else FAILED
    if left_kind == right_kind and left_kind >= STRING:
        return TEXT
    if left_kind == right_kind and left_kind == BOOLEAN:
        return _compare_reals(left_real, right_real)
    if DATE_TIME <= left_kind <= TIME_LOCAL and (left_kind | 1) == (right_kind | 1):
        return _compare_moments(left_kind, left_high, left_low, right_kind, right_high, right_low)
    return DIFFERENT


@njit
def _compare_known(table, left, right):
    """The code of two ids by their values in a table; DICTIONARY where it does not have them."""
    ids, kinds, highs, lows, reals = table
    left_kind, left_high, left_low, left_real = value_of(ids, kinds, highs, lows, reals, left)
    right_kind, right_high, right_low, right_real = value_of(ids, kinds, highs, lows, reals, right)
    if left_kind == UNKNOWN or right_kind == UNKNOWN:
        return DICTIONARY
    return compare_terms(
        left_kind, left_high, left_low, left_real, right_kind, right_high, right_low, right_real, left == right
    )


@njit
def compare_ids(left, right, outcomes, table):
    """The truth of a comparison as far as ids decide, and whether an outcome of TEXT or DICTIONARY is left.

    `table` is a table of values as a plain tuple: ids, kinds, high, low, reals.
    """
    count = max(left.size, right.size)
    left_step, right_step = np.int64(left.size > 1), np.int64(right.size > 1)
    truths = np.empty(count, np.uint8)
    unfinished = False
    for row in range(count):
        left_id, right_id = left[row * left_step], right[row * right_step]
        code = DICTIONARY
        if left_id == 0 or right_id == 0:
            code = FAILED
        elif left_id < 0 and right_id < 0:
            code = _compare_inline(left_id, right_id)
        if code == DICTIONARY:
            code = _compare_known(table, left_id, right_id)
        truth = outcomes[code]
        truths[row] = truth
        unfinished |= truth > TRUE
    return truths, unfinished


@leaf
def compare_few(left, right, as_nodes, outcomes, table, truths):
    """The truths of a few rows into an array that the caller has, in a call that makes nothing: those of `compare_ids`,
    or where they are compared `as_nodes` those of `compare_identity`.

    Gives how many are true, -1 where an outcome of TEXT or DICTIONARY is left.
    """
    count = max(left.size, right.size)
    left_step, right_step = np.int64(left.size > 1), np.int64(right.size > 1)
    passed = 0
    for row in range(count):
        left_id, right_id = left[row * left_step], right[row * right_step]
        code = DICTIONARY
        if left_id == 0 or right_id == 0:
            code = FAILED
        elif as_nodes:
            code = EQUAL if left_id == right_id else DIFFERENT
        elif left_id < 0 and right_id < 0:
            code = _compare_inline(left_id, right_id)
        if code == DICTIONARY:
            code = _compare_known(table, left_id, right_id)
        truth = outcomes[code]
        if truth > TRUE:
            return -1
        truths[row] = truth
        passed += truth == TRUE
    return passed


@njit
def compare_values(left, left_ids, right, right_ids, outcomes):
    """The truth of a comparison of values, and whether an outcome of TEXT is left.

    Ids are equal where two terms are; a column of computed numbers has the one id 0.
    """
    count = max(left.kinds.size, right.kinds.size)
    left_step, right_step = np.int64(left.kinds.size > 1), np.int64(right.kinds.size > 1)
    left_id_step, right_id_step = np.int64(left_ids.size > 1), np.int64(right_ids.size > 1)
    truths = np.empty(count, np.uint8)
    unfinished = False
    for row in range(count):
        i, j = row * left_step, row * right_step
        code = compare_terms(
            left.kinds[i],
            left.high[i],
            left.low[i],
            left.reals[i],
            right.kinds[j],
            right.high[j],
            right.low[j],
            right.reals[j],
            left_ids[row * left_id_step] == right_ids[row * right_id_step],
        )
        truth = outcomes[code]
        truths[row] = truth
        unfinished |= truth > TRUE
    return truths, unfinished


@njit
def compare_identity(left, right, outcomes):
    """The truth of a comparison by ids alone: the same term is EQUAL, another DIFFERENT, nothing FAILED."""
    count = max(left.size, right.size)
    left_step, right_step = np.int64(left.size > 1), np.int64(right.size > 1)
    truths = np.empty(count, np.uint8)
    for row in range(count):
        left_id, right_id = left[row * left_step], right[row * right_step]
        if left_id == 0 or right_id == 0:
            truths[row] = outcomes[FAILED]
        else:
            truths[row] = outcomes[EQUAL] if left_id == right_id else outcomes[DIFFERENT]
    return truths


@njit
def compare_bytes(data, start, end, other_start, other_end):
    """-1, 0 or 1: the order of data[start:end] and data[other_start:other_end], which is that of code points."""
    length = min(end - start, other_end - other_start)
    for i in range(length):
        one, other = data[start + i], data[other_start + i]
        if one != other:
            return -1 if one < other else 1
    return order_of(end - start, other_end - other_start)


@njit
def lexical_end(data, start, end):
    """Where the lexical form of a literal's key ends: at its last quotation mark."""
    at = end - 1
    while data[at] != ord('"'):
        at -= 1
    return at


@njit
def compare_texts(data, starts, ends, lefts, rights, outcomes):
    """The truth of a comparison of strings, each a key in `data`; FAILED where their language tags differ."""
    truths = np.empty(lefts.size, np.uint8)
    for row in range(lefts.size):
        left, right = lefts[row], rights[row]
        left_end = lexical_end(data, starts[left], ends[left])
        right_end = lexical_end(data, starts[right], ends[right])
        if compare_bytes(data, left_end, ends[left], right_end, ends[right]) != 0:
            truths[row] = outcomes[FAILED]
        else:
            sign = compare_bytes(data, starts[left], left_end, starts[right], right_end)
            truths[row] = outcomes[_code(sign)]
    return truths


@njit
def effective_truths(kinds, reals):
    """Effective boolean values (SPARQL 1.1, 17.2.2)."""
    truths = np.empty(kinds.size, np.uint8)
    for row in range(kinds.size):
        kind = kinds[row]
        if (kind != NOTHING and kind <= BOOLEAN) or kind == STRING:
            real = reals[row]
            truths[row] = TRUE if real != 0 and real == real else FALSE
        else:
            truths[row] = FALSE if kind == ILL_TYPED else ERROR
    return truths
