"""Sums and counts of groups that rows enter and leave.

Whatever has left leaves no trace: exact numbers are added up in 192 bits, which nothing that fits 128 can overrun, and
inline integers in one word until it is full; doubles in twice their precision, huge ones and NaN and the infinities
apart, and from zero again when the last is gone.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels import wide
from freshet.kernels.jit import leaf, njit
from freshet.kernels.values import DECIMAL, DOUBLE, FLOAT, INTEGER, NOTHING, new_values

_NO_WORD = np.uint64(0)
_ONE = np.uint64(1)
_ALL_ONES = np.uint64(2**64 - 1)
_HUGE = 2.0**900
_DOWN = 2.0**-100
_UP = 2.0**100

# The last column of `SumArrays.rows`: the sum of inline integers that `words` does not have yet, as a whole number.
_WHOLE = DOUBLE + 1
ROWS_WIDTH = _WHOLE + 1
_MOST_WHOLE = 1 << 62

# Columns of `SumArrays.specials`.
_NAN = 0
_PLUS_INF = 1
_MINUS_INF = 2

# Columns of `SumArrays.reals`: a sum and what rounding took from it.
_USUAL = 0
_LARGE = 2


class SumArrays(NamedTuple):
    """One row a group."""

    rows: np.ndarray  # int64 [group, 6]: rows that are no number, rows of each numeric kind, a sum as a whole number
    words: np.ndarray  # uint64 [group, 3]: the sum of integers and decimals, lowest word first
    reals: np.ndarray  # float64 [group, 4]: the sums of doubles of usual size, and of huge ones made smaller
    specials: np.ndarray  # int64 [group, 3]: how many are NaN, INF, -INF


@leaf
def _exact_sum(words, group, high, low):
    """What the sum of a group comes to with one more number, lowest word first."""
    word_0 = words[group, 0] + low
    carry = _ONE if word_0 < low else _NO_WORD
    middle = np.uint64(high)
    word_1 = words[group, 1] + middle
    above = _ONE if word_1 < middle else _NO_WORD
    word_1 += carry
    if word_1 < carry:
        above += _ONE
    return word_0, word_1, words[group, 2] + above + (_ALL_ONES if high < 0 else _NO_WORD)


@leaf
def _add_exact(words, group, high, low):
    words[group, 0], words[group, 1], words[group, 2] = _exact_sum(words, group, high, low)


@leaf
def add_integer(sums, group, value, sign):
    """As `add_number`, of an inline integer: one word takes it, which is exact as long as it is not full."""
    rows = sums.rows
    rows[group, INTEGER] += sign
    whole = rows[group, _WHOLE] + sign * value
    if abs(whole) >= _MOST_WHOLE:
        high, low = wide.scale_to_units(whole, 0)
        _add_exact(sums.words, group, high, low)
        whole = 0
    rows[group, _WHOLE] = whole


@leaf
def _add_real(reals, group, column, number):
    total, lost = reals[group, column], reals[group, column + 1]
    new = total + number
    back = new - total
    lost += (total - (new - back)) + (number - back)
    reals[group, column] = new + lost
    reals[group, column + 1] = lost - (reals[group, column] - new)


@leaf
def add_number(sums, group, kind, high, low, real, sign):
    """Add the number of a row that enters its group (sign 1), or take away that of a row that leaves (-1)."""
    if kind == NOTHING or kind > DOUBLE:
        sums.rows[group, NOTHING] += sign
        return
    sums.rows[group, kind] += sign
    if kind <= DECIMAL:
        if sign < 0:
            high, low = wide.negate(high, low)
        _add_exact(sums.words, group, high, low)
        return
    if real != real:
        sums.specials[group, _NAN] += sign
    elif abs(real) == np.inf:
        sums.specials[group, _PLUS_INF if real > 0 else _MINUS_INF] += sign
    elif abs(real) >= _HUGE:
        _add_real(sums.reals, group, _LARGE, sign * real * _DOWN)
    else:
        _add_real(sums.reals, group, _USUAL, sign * real)
    if sign < 0 and sums.rows[group, FLOAT] == 0 and sums.rows[group, DOUBLE] == 0:
        for column in range(sums.reals.shape[1]):
            sums.reals[group, column] = 0.0


@njit
def add_numbers(sums, groups, values, sign):
    """Add the numbers of rows that enter their groups (sign 1), or take away those of rows that leave (-1)."""
    for row in range(groups.size):
        add_number(sums, groups[row], values.kinds[row], values.high[row], values.low[row], values.reals[row], sign)


@leaf
def _exact_total(sums, group):
    """The sum of integers and decimals, and whether 128 bits hold it."""
    high, low = wide.scale_to_units(sums.rows[group, _WHOLE], 0)
    low, middle, above = _exact_sum(sums.words, group, high, low)
    high = np.int64(middle)
    return high, low, above == (_ALL_ONES if high < 0 else _NO_WORD)


@leaf
def _real_total(sums, group, high, low):
    """The sum of everything as a double."""
    specials, reals = sums.specials, sums.reals
    nan, plus, minus = specials[group, _NAN], specials[group, _PLUS_INF], specials[group, _MINUS_INF]
    if nan > 0 or (plus > 0 and minus > 0):
        return np.nan
    if plus > 0:
        return np.inf
    if minus > 0:
        return -np.inf
    usual = wide.to_float(high, low) + (reals[group, _USUAL] + reals[group, _USUAL + 1])
    return usual + (reals[group, _LARGE] + reals[group, _LARGE + 1]) * _UP


@leaf
def total(sums, group, mean):
    """SUM of a group, or AVG where `mean` is true: kind, high, low and real; NOTHING where a row of it is no number.

    The type is the highest that the group holds now; the mean of integers is a decimal.
    """
    rows = sums.rows
    kind = DOUBLE
    while kind > INTEGER and rows[group, kind] == 0:
        kind -= 1
    high, low, fits = _exact_total(sums, group)
    real = 0.0
    count = rows[group, INTEGER] + rows[group, DECIMAL] + rows[group, FLOAT] + rows[group, DOUBLE]
    if kind >= FLOAT:
        real = _real_total(sums, group, high, low)
        if mean:
            real /= count
        if kind == FLOAT:
            real = np.float64(np.float32(real))
    elif mean and count > 0:
        kind = DECIMAL
        if fits:
            high, low, fits = wide.divide_by_count(high, low, count)
    elif kind == INTEGER:
        fits = fits and wide.fits_integer(high, low)
    return kind if fits and rows[group, NOTHING] == 0 else NOTHING, high, low, real


@njit
def totals(sums, groups, mean):
    """SUM of groups, or AVG where `mean` is true, as `total` says."""
    result = new_values(groups.size)
    for row in range(groups.size):
        result.kinds[row], result.high[row], result.low[row], result.reals[row] = total(sums, groups[row], mean)
    return result
