"""Exact numbers of 128 bits for kernels: `high` (int64) and `low` (uint64), two's complement, in units of 10**-18.

That is what a decimal of oxigraph is, so that both reach the same digits and fail at the same places. Numba has no such
integers, hence the halves. Every operation that can leave the range says so by a last result, False. What may wrap
around is computed on uint64: the compiler takes for granted that int64 never does.
"""

import numpy as np

from freshet.kernels.jit import njit

UNIT_DIGITS = 18
UNIT = np.uint64(10**UNIT_DIGITS)
POWERS_OF_TEN = np.array([10**exponent for exponent in range(20)], np.uint64)

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_HALF = np.uint64(32)
_SHIFT_63 = np.uint64(63)
_HALF_MASK = np.uint64(0xFFFF_FFFF)
_SIGN = np.uint64(1 << 63)
_SIX = np.uint64(6)
_TEN = np.uint64(10)
_MOST_DIVISOR = 2**32 - 1  # of `divide_small`
_BILLION = np.uint64(10**9)  # its square is the unit, and it fits half a word
_MOST_BEFORE = [(2**127 - 1) // 10**step for step in range(10)]  # what can still get that many zeros
_MOST_BEFORE_HIGH = np.array([most >> 64 for most in _MOST_BEFORE], np.uint64)
_MOST_BEFORE_LOW = np.array([most & (2**64 - 1) for most in _MOST_BEFORE], np.uint64)
_MOST_ZEROS = 38  # in 127 bits
_TWO_64 = 2.0**64
_EXACT = np.uint64(1 << 53)  # up to here float64 holds every integer

# int64's limits in these units
_GREATEST = (2**63 - 1) * 10**UNIT_DIGITS
_LEAST = -(2**63) * 10**UNIT_DIGITS
_GREATEST_HIGH, _GREATEST_LOW = np.int64(_GREATEST >> 64), np.uint64(_GREATEST & (2**64 - 1))
_LEAST_HIGH, _LEAST_LOW = np.int64(_LEAST >> 64), np.uint64(_LEAST & (2**64 - 1))


@njit
def compare(high, low, other_high, other_low):
    """-1, 0 or 1."""
    if high != other_high:
        return -1 if high < other_high else 1
    if low != other_low:
        return -1 if low < other_low else 1
    return 0


@njit
def add(high, low, other_high, other_low):
    """The sum, and whether it fits."""
    low_sum = low + other_low
    words = np.uint64(high) + np.uint64(other_high)
    if low_sum < low:
        words += _ONE
    high_sum = np.int64(words)
    return high_sum, low_sum, ((high ^ high_sum) & (other_high ^ high_sum)) >= 0


@njit
def negate(high, low):
    """The number with the other sign; the least number, which has none, stays as it is."""
    low = _ZERO - low
    words = ~np.uint64(high)
    if low == _ZERO:
        words += _ONE
    return np.int64(words), low


@njit
def subtract(high, low, other_high, other_low):
    """The difference, and whether it fits."""
    low_difference = low - other_low
    words = np.uint64(high) - np.uint64(other_high)
    if low < other_low:
        words -= _ONE
    high_difference = np.int64(words)
    return high_difference, low_difference, ((high ^ other_high) & (high ^ high_difference)) >= 0


@njit
def magnitude(high, low):
    """The absolute value as two uint64, and whether the number is below zero."""
    if high < 0:
        high, low = negate(high, low)
        return np.uint64(high), low, True
    return np.uint64(high), low, False


@njit
def with_sign(high, low, negative):
    """From a magnitude back to a number, and whether it fits."""
    if negative:
        fits = high < _SIGN or (high == _SIGN and low == _ZERO)
        signed_high, signed_low = negate(np.int64(high), low)
        return signed_high, signed_low, fits
    return np.int64(high), low, high < _SIGN


@njit
def product_64(left, right):
    """The product of two uint64 as two."""
    left_high, left_low = left >> _HALF, left & _HALF_MASK
    right_high, right_low = right >> _HALF, right & _HALF_MASK
    bottom = left_low * right_low
    cross, other_cross = left_low * right_high, left_high * right_low
    middle = (bottom >> _HALF) + (cross & _HALF_MASK) + (other_cross & _HALF_MASK)
    high = left_high * right_high + (cross >> _HALF) + (other_cross >> _HALF) + (middle >> _HALF)
    return high, (middle << _HALF) | (bottom & _HALF_MASK)


@njit
def _divide_word(remainder, word, divisor):
    """One word of a long division by a number below 2**32: quotient and remainder."""
    upper = (remainder << _HALF) | (word >> _HALF)
    remainder = upper % divisor
    lower = (remainder << _HALF) | (word & _HALF_MASK)
    return ((upper // divisor) << _HALF) | (lower // divisor), lower % divisor


@njit
def divide_small(high, low, divisor):
    """A magnitude divided by a number below 2**32: the quotient's two words and the remainder."""
    high, remainder = _divide_word(_ZERO, high, divisor)
    low, remainder = _divide_word(remainder, low, divisor)
    return high, low, remainder


@njit
def ends_with_zero(high, low):
    """Whether a magnitude is divisible by ten: 2**64 leaves 6."""
    return (high % _TEN * _SIX + low % _TEN) % _TEN == _ZERO


@njit
def divide_by_count(high, low, count):
    """The number divided by a positive int64, as `divide` by the whole number does, and whether that can be done."""
    size_high, size_low, negative = magnitude(high, low)
    if count > _MOST_DIVISOR or (size_high == _ZERO and size_low < _BILLION):
        count_high, count_low = scale_to_units(count, 0)
        return divide(high, low, count_high, count_low)
    size_high, size_low, _ = divide_small(size_high, size_low, np.uint64(count))
    return with_sign(size_high, size_low, negative)


@njit
def whole_part(high, low):
    """A magnitude in units: the whole number's two words, and the fraction in units of 10**-18."""
    high, low, lower = divide_small(high, low, _BILLION)
    high, low, upper = divide_small(high, low, _BILLION)
    return high, low, upper * _BILLION + lower


@njit
def scale_to_units(mantissa, scale):
    """The int64 `mantissa` / 10**scale in units; scale is 0 to 18."""
    negative = mantissa < 0
    size = _ZERO - np.uint64(mantissa) if negative else np.uint64(mantissa)
    high, low = product_64(size, POWERS_OF_TEN[UNIT_DIGITS - scale])
    if negative:
        return negate(np.int64(high), low)
    return np.int64(high), low


@njit
def fits_integer(high, low):
    """Whether a whole number is an int64."""
    return compare(high, low, _LEAST_HIGH, _LEAST_LOW) >= 0 and compare(high, low, _GREATEST_HIGH, _GREATEST_LOW) <= 0


@njit
def _take_off(high, low, zeros, most, step, power):
    """A magnitude divided by a power of ten as often as it goes."""
    while zeros + step <= most:
        shorter_high, shorter_low, rest = divide_small(high, low, power)
        if rest != _ZERO:
            break
        high, low = shorter_high, shorter_low
        zeros += step
    return high, low, zeros


@njit
def shortest(high, low, most):
    """A magnitude without the zeros at its end, `most` of them at most, and how many these are."""
    # divisors that are known when this is compiled make divisions into multiplications
    high, low, zeros = _take_off(high, low, 0, most, 9, np.uint64(10**9))
    high, low, zeros = _take_off(high, low, zeros, most, 4, np.uint64(10**4))
    high, low, zeros = _take_off(high, low, zeros, most, 2, np.uint64(10**2))
    return _take_off(high, low, zeros, most, 1, np.uint64(10))


@njit
def multiply(high, low, other_high, other_low):
    """The product, and whether it fits: neither too large nor with more than 18 digits after the point."""
    left_high, left_low, left_negative = magnitude(high, low)
    right_high, right_low, right_negative = magnitude(other_high, other_low)
    word_1, word_0 = product_64(left_low, right_low)
    cross_high, cross_low = product_64(left_low, right_high)
    other_high_word, other_low_word = product_64(left_high, right_low)
    word_3, word_2 = product_64(left_high, right_high)
    carry = _ZERO
    word_1 += cross_low
    if word_1 < cross_low:
        carry += _ONE
    word_1 += other_low_word
    if word_1 < other_low_word:
        carry += _ONE
    top = _ZERO
    for addend in (cross_high, other_high_word, carry):
        word_2 += addend
        if word_2 < addend:
            top += _ONE
    if word_3 + top != _ZERO or word_2 >= UNIT:
        return np.int64(0), _ZERO, False
    for _ in range(2):
        word_2, remainder = _divide_word(_ZERO, word_2, _BILLION)
        word_1, remainder = _divide_word(remainder, word_1, _BILLION)
        word_0, remainder = _divide_word(remainder, word_0, _BILLION)
        if remainder != _ZERO:
            return np.int64(0), _ZERO, False
    return with_sign(word_1, word_0, left_negative != right_negative)


@njit
def _divide_long(high, low, divisor_high, divisor_low):
    """A magnitude divided by another, bit by bit."""
    rest_high, rest_low = _ZERO, _ZERO
    for _ in range(128):
        rest_high = (rest_high << _ONE) | (rest_low >> _SHIFT_63)
        rest_low = (rest_low << _ONE) | (high >> _SHIFT_63)
        high = (high << _ONE) | (low >> _SHIFT_63)
        low = low << _ONE
        if rest_high > divisor_high or (rest_high == divisor_high and rest_low >= divisor_low):
            rest_high -= divisor_high
            if rest_low < divisor_low:
                rest_high -= _ONE
            rest_low -= divisor_low
            low |= _ONE
    return high, low


@njit
def _longest(high, low):
    """A magnitude with as many zeros at its end as 127 bits hold, and how many these are; 0 for 0."""
    zeros = 0
    if high == _ZERO and low == _ZERO:
        return high, low, zeros
    for step in (9, 4, 2, 1):
        most_high, most_low = _MOST_BEFORE_HIGH[step], _MOST_BEFORE_LOW[step]
        while high < most_high or (high == most_high and low <= most_low):
            carry, low = product_64(low, POWERS_OF_TEN[step])
            high = high * POWERS_OF_TEN[step] + carry
            zeros += step
    return high, low, zeros


@njit
def divide(high, low, other_high, other_low):
    """The quotient, cut off after 18 digits, and whether it is a number that fits.

    It fails where the decimals of oxigraph do: the dividend is made as long as it can be, the divisor as short, and the
    18 digits must come out of that. So 0 divided by a fraction fails, where SPARQL would have 0.
    """
    if other_high == 0 and other_low == _ZERO:
        return np.int64(0), _ZERO, False
    left_high, left_low, left_negative = magnitude(high, low)
    right_high, right_low, right_negative = magnitude(other_high, other_low)
    negative = left_negative != right_negative
    if left_high != _ZERO or left_low >= _BILLION:  # then no zeros of a small whole divisor are too many
        whole_high, whole_low, fraction = whole_part(right_high, right_low)
        if fraction == _ZERO and whole_high == _ZERO and whole_low <= _HALF_MASK:
            left_high, left_low, _ = divide_small(left_high, left_low, whole_low)
            return with_sign(left_high, left_low, negative)
    left_high, left_low, zeros = _longest(left_high, left_low)
    right_high, right_low, other_zeros = shortest(right_high, right_low, _MOST_ZEROS)
    surplus = zeros + other_zeros - UNIT_DIGITS
    if surplus < 0 or surplus > _MOST_ZEROS:
        return np.int64(0), _ZERO, False
    if right_high == _ZERO and right_low <= _HALF_MASK:
        left_high, left_low, _ = divide_small(left_high, left_low, right_low)
    else:
        left_high, left_low = _divide_long(left_high, left_low, right_high, right_low)
    while surplus > 0:
        step = min(surplus, 9)
        left_high, left_low, _ = divide_small(left_high, left_low, POWERS_OF_TEN[step])
        surplus -= step
    return with_sign(left_high, left_low, negative)


@njit
def to_float(high, low):
    """The nearest float64, or one next to it where there are more than 53 bits."""
    size_high, size_low, negative = magnitude(high, low)
    if size_high == _ZERO and size_low < _EXACT:
        real = np.float64(size_low) / np.float64(UNIT)
    else:
        whole_high, whole_low, fraction = whole_part(size_high, size_low)
        real = np.float64(whole_high) * _TWO_64 + np.float64(whole_low)
        if fraction != _ZERO:
            real += np.float64(fraction) / np.float64(UNIT)
    return -real if negative else real
