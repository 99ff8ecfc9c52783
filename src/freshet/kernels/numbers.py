"""Arithmetic of SPARQL over columns of values, and numbers back to inline ids.

A column of one row stands for a constant. What is not a number, or leaves the range of its type, becomes NOTHING.
"""

import numpy as np

from freshet.kernels import layout, wide
from freshet.kernels.jit import njit
from freshet.kernels.values import (
    DECIMAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    NOTHING,
    new_values,
    plain_number,
    scientific_number,
)

ADD = 0
SUBTRACT = 1
MULTIPLY = 2
DIVIDE = 3

NEGATE = 0
ABSOLUTE = 1
CEILING = 2
FLOOR = 3
ROUND = 4
TRUNCATE = 5

_NO_WORD = np.uint64(0)
_UNIT_HIGH = np.int64(0)
_HALF_UNIT = np.uint64(10**wide.UNIT_DIGITS // 2)
_MANTISSA_END = np.uint64(layout.MANTISSA_END)
_INTEGER_END = 2.0**63
_DIGITS = 15  # as many as every float64 keeps apart
_LEAST_MANTISSA = 1e14
_MANTISSA_LIMIT = 1e15


@njit
def _exact(operator, high, low, other_high, other_low):
    if operator == ADD:
        return wide.add(high, low, other_high, other_low)
    if operator == SUBTRACT:
        return wide.subtract(high, low, other_high, other_low)
    if operator == MULTIPLY:
        return wide.multiply(high, low, other_high, other_low)
    return wide.divide(high, low, other_high, other_low)


@njit
def _real(operator, left, right):
    if operator == ADD:
        return left + right
    if operator == SUBTRACT:
        return left - right
    if operator == MULTIPLY:
        return left * right
    if right != 0:
        return left / right
    if left == 0 or left != left or right != right:
        return np.nan
    return np.copysign(np.inf, left) * np.copysign(1.0, right)


@njit
def arithmetic(operator, left, right):
    """left operator right, after numeric promotion; the quotient of integers is a decimal."""
    count = max(left.kinds.size, right.kinds.size)
    left_step, right_step = np.int64(left.kinds.size > 1), np.int64(right.kinds.size > 1)
    result = new_values(count)
    for row in range(count):
        i, j = row * left_step, row * right_step
        kind = max(left.kinds[i], right.kinds[j])
        high, low, real = np.int64(0), _NO_WORD, np.float64(0)
        if left.kinds[i] == NOTHING or right.kinds[j] == NOTHING or kind > DOUBLE:
            kind = NOTHING
        elif kind >= FLOAT:
            real = _real(operator, left.reals[i], right.reals[j])
            if kind == FLOAT:
                real = _real(operator, np.float32(left.reals[i]), np.float32(right.reals[j]))
                real = np.float64(np.float32(real))
        else:
            high, low, fits = _exact(operator, left.high[i], left.low[i], right.high[j], right.low[j])
            if operator == DIVIDE:
                kind = DECIMAL
            if not fits or (kind == INTEGER and not wide.fits_integer(high, low)):
                kind = NOTHING
            else:
                real = wide.to_float(high, low)
        result.kinds[row] = kind
        result.high[row] = high
        result.low[row] = low
        result.reals[row] = real
    return result


@njit
def _round_exact(operator, high, low):
    """An exact number to a whole one, and whether it fits."""
    size_high, size_low, negative = wide.magnitude(high, low)
    _, _, fraction = wide.whole_part(size_high, size_low)
    size_low_cut = size_low - fraction
    if size_low < fraction:
        size_high -= np.uint64(1)
    high, low, fits = wide.with_sign(size_high, size_low_cut, negative)
    away = fraction > _HALF_UNIT or (fraction == _HALF_UNIT and not negative)
    if operator == TRUNCATE:
        away = False
    elif operator != ROUND:
        away = fraction != _NO_WORD and negative == (operator == FLOOR)
    if not away:
        return high, low, fits
    if negative:
        return wide.subtract(high, low, _UNIT_HIGH, wide.UNIT)
    return wide.add(high, low, _UNIT_HIGH, wide.UNIT)


@njit
def _round_real(operator, real):
    if operator == CEILING:
        return np.ceil(real)
    if operator == TRUNCATE:
        return np.trunc(real)
    whole = np.floor(real)
    if operator == ROUND and real - whole >= 0.5:
        whole += 1.0  # halves go up
    return np.copysign(whole, real) if whole == 0 else whole


@njit
def change(operator, operand):
    """One of the functions of one number, which keep its type."""
    result = new_values(operand.kinds.size)
    for row in range(operand.kinds.size):
        kind, high, low, real = operand.kinds[row], operand.high[row], operand.low[row], operand.reals[row]
        fits = kind <= DOUBLE
        if operator <= ABSOLUTE:
            if operator == NEGATE or high < 0:
                least = high < 0
                high, low = wide.negate(high, low)
                fits = fits and not (least and high < 0)
            real = abs(real) if operator == ABSOLUTE else -real
            if kind <= DECIMAL and real == 0:
                real = 0.0  # only floats and doubles have a minus zero
        elif kind == DECIMAL:
            high, low, fits = _round_exact(operator, high, low)
            real = wide.to_float(high, low) if fits else real
        elif FLOAT <= kind <= DOUBLE:
            real = _round_real(operator, real)
        if kind == INTEGER:
            fits = fits and wide.fits_integer(high, low)
        result.kinds[row] = kind if fits else NOTHING
        result.high[row] = high
        result.low[row] = low
        result.reals[row] = real
    return result


@njit
def as_integers(numbers):
    """Make integers of whole numbers of any type; NOTHING where one does not fit."""
    for row in range(numbers.kinds.size):
        kind, real = numbers.kinds[row], numbers.reals[row]
        fits = kind == INTEGER
        if kind == DECIMAL:
            fits = wide.fits_integer(numbers.high[row], numbers.low[row])
        elif FLOAT <= kind <= DOUBLE:
            fits = -_INTEGER_END <= real < _INTEGER_END
            if fits:
                numbers.high[row], numbers.low[row] = wide.scale_to_units(np.int64(real), 0)
        numbers.kinds[row] = INTEGER if fits else NOTHING


@njit
def _integer_id(high, low):
    """The inline id of a whole number in units, or 0."""
    size_high, size_low, negative = wide.magnitude(high, low)
    whole_high, whole_low, _ = wide.whole_part(size_high, size_low)
    most = np.uint64(-layout.LEAST_INTEGER if negative else layout.GREATEST_INTEGER)
    if whole_high != _NO_WORD or whole_low > most:
        return np.int64(0)
    value = np.int64(whole_low)
    return layout.pack(layout.INTEGER, -value if negative else value)


@njit
def _decimal_id(high, low):
    size_high, size_low, negative = wide.magnitude(high, low)
    if (size_high != _NO_WORD or size_low >= _MANTISSA_END) and not wide.ends_with_zero(size_high, size_low):
        return np.int64(0)  # which is so for most quotients, and found out at once
    size_high, size_low, zeros = wide.shortest(size_high, size_low, wide.UNIT_DIGITS)
    scale = wide.UNIT_DIGITS - zeros
    if size_high != _NO_WORD or size_low >= _MANTISSA_END:
        return np.int64(0)
    mantissa = np.int64(size_low)
    return layout.pack(layout.DECIMAL, (-mantissa if negative else mantissa) << layout.SCALE_BITS | scale)


@njit
def _double_id(real):
    """The inline id of a double's canonical form, or 0.

    A number of at most 15 digits that gives the double back is its shortest form, as no two such numbers share one.
    """
    if real == 0:
        if np.copysign(1.0, real) < 0:
            return np.int64(0)
        return layout.pack(layout.SCIENTIFIC, 1 << layout.EXPONENT_BITS | layout.EXPONENT_BIAS)
    size = abs(real)
    if not 1e-8 < size < 1e36:  # beyond, the digits are out of reach of one exact power of ten
        return np.int64(0)
    shift = np.int64(_DIGITS - 1) - np.int64(np.floor(np.log10(size)))
    digits = scientific_number(size, shift)
    if digits >= _MANTISSA_LIMIT:
        shift -= 1
    elif digits < _LEAST_MANTISSA:
        shift += 1
    mantissa = np.int64(np.rint(scientific_number(size, shift)))
    back = plain_number(mantissa, shift) if shift >= 0 else scientific_number(mantissa, -shift)
    if back != size:
        return np.int64(0)
    fraction = np.int64(_DIGITS - 1)
    while fraction > 1 and mantissa % 10 == 0:
        mantissa //= 10
        fraction -= 1
    exponent = np.int64(_DIGITS - 1) - shift
    if mantissa >= layout.SCIENTIFIC_MANTISSA_END or abs(exponent - fraction) > layout.GREATEST_SHIFT:
        return np.int64(0)
    if real < 0:
        mantissa = -mantissa
    value = (mantissa << layout.FRACTION_BITS | fraction) << layout.EXPONENT_BITS
    return layout.pack(layout.SCIENTIFIC, value | (exponent + layout.EXPONENT_BIAS))


@njit
def inline_number_id(kind, high, low, real):
    """The inline id of a number in canonical form, 0 where it has none."""
    if kind == INTEGER:
        return _integer_id(high, low)
    if kind == DECIMAL:
        return _decimal_id(high, low)
    return _double_id(real) if kind == DOUBLE else np.int64(0)


@njit
def inline_ids(numbers):
    """The inline ids of numbers in canonical form, 0 for those that have none, and how many these are."""
    ids = np.zeros(numbers.kinds.size, np.int64)
    others = 0
    for row in range(ids.size):
        kind = numbers.kinds[row]
        if kind == NOTHING or kind > DOUBLE:
            continue
        ids[row] = inline_number_id(kind, numbers.high[row], numbers.low[row], numbers.reals[row])
        others += ids[row] == 0
    return ids, others
