"""Sums and counts of groups that rows enter and leave.

Whatever has left leaves no trace: exact numbers are added up in 192 bits, which nothing that fits 128 can overrun;
doubles in twice their precision, huge ones and NaN and the infinities apart, and from zero again when the last is gone.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels import wide
from freshet.kernels.jit import njit
from freshet.kernels.values import DECIMAL, DOUBLE, FLOAT, INTEGER, NOTHING, new_values

_NO_WORD = np.uint64(0)
_ONE = np.uint64(1)
_ALL_ONES = np.uint64(2**64 - 1)
_HUGE = 2.0**900
_DOWN = 2.0**-100
_UP = 2.0**100

# Columns of `SumArrays.specials`.
_NAN = 0
_PLUS_INF = 1
_MINUS_INF = 2

# Columns of `SumArrays.reals`: a sum and what rounding took from it.
_USUAL = 0
_LARGE = 2


class SumArrays(NamedTuple):
    """One row a group."""

    rows: np.ndarray  # int64 [group, 5]: rows of each numeric kind, and in column 0 those that are no number
    words: np.ndarray  # uint64 [group, 3]: the sum of integers and decimals, lowest word first
    reals: np.ndarray  # float64 [group, 4]: the sums of doubles of usual size, and of huge ones made smaller
    specials: np.ndarray  # int64 [group, 3]: how many are NaN, INF, -INF


@njit
def count_bound(counts, groups, ids, sign):
    """Count the rows that have a term."""
    for row in range(ids.size):
        if ids[row] != 0:
            counts[groups[row]] += sign


@njit
def count_rows(counts, groups, change):
    """Count rows of groups up or down."""
    for group in groups:
        counts[group] += change


class ToldArrays(NamedTuple):
    """One row a group: its results now and as they were last told of, and what is to be done about them."""

    results: np.ndarray  # int64 [group, aggregate]
    told_results: np.ndarray  # int64 [group, aggregate]
    stale: np.ndarray  # bool: the results are to be computed again
    touched: np.ndarray  # bool: it is among the groups to tell of
    told: np.ndarray  # bool: it has been told of, and not that it went
    held: np.ndarray  # bool: it is counted once more than it has rows, to keep its number


@njit
def mark_stale(groups_told, groups):
    """The results of groups are to be computed again."""
    for group in groups:
        groups_told.stale[group] = True


@njit
def touch(groups_told, counts, groups):
    """Hold groups that changed until they have been told of; gives those that are to be told of from now on."""
    _, _, stale, touched, _, held = groups_told
    found = np.empty(groups.size, np.int32)
    count = 0
    for group in groups:
        stale[group] = True
        if not touched[group]:
            touched[group] = True
            counts[group] += not held[group]
            held[group] = True
            found[count] = group
            count += 1
    return found[:count].copy()


@njit
def refreshed(groups_told, counts, groups, keyless):
    """The groups that exist and are stale, which they will not be any more."""
    stale, held = groups_told.stale, groups_told.held
    found = np.empty(groups.size, np.int32)
    count = 0
    for group in groups:
        if stale[group] and (keyless or counts[group] > held[group]):
            stale[group] = False
            found[count] = group
            count += 1
    return found[:count].copy()


@njit
def tell(groups_told, counts, groups, keyless):
    """The touched groups whose rows differ from what was told: went, came; and those that are not held any more."""
    results, told_results, _, touched, told, held = groups_told
    went = np.empty(groups.size, np.int32)
    came = np.empty(groups.size, np.int32)
    loose = np.empty(groups.size, np.int32)
    left, entered, freed = 0, 0, 0
    for group in groups:
        touched[group] = False
        now = keyless or counts[group] > held[group]
        differs = told[group] != now
        for column in range(results.shape[1]):
            differs |= results[group, column] != told_results[group, column]
        if differs and told[group]:
            went[left] = group
            left += 1
        if differs and now:
            came[entered] = group
            entered += 1
        told[group] = now
        if not now:
            held[group] = False
            loose[freed] = group
            freed += 1
    return went[:left].copy(), came[:entered].copy(), loose[:freed].copy()


@njit
def _add_exact(words, group, high, low):
    word_0 = words[group, 0] + low
    carry = _ONE if word_0 < low else _NO_WORD
    middle = np.uint64(high)
    word_1 = words[group, 1] + middle
    above = _ONE if word_1 < middle else _NO_WORD
    word_1 += carry
    if word_1 < carry:
        above += _ONE
    words[group, 0] = word_0
    words[group, 1] = word_1
    words[group, 2] += above + (_ALL_ONES if high < 0 else _NO_WORD)


@njit
def _add_real(reals, group, column, number):
    total, lost = reals[group, column], reals[group, column + 1]
    new = total + number
    back = new - total
    lost += (total - (new - back)) + (number - back)
    reals[group, column] = new + lost
    reals[group, column + 1] = lost - (reals[group, column] - new)


@njit
def add_numbers(sums, groups, values, sign):
    """Add the numbers of rows that enter their groups (sign 1), or take away those of rows that leave (-1)."""
    for row in range(groups.size):
        group, kind = groups[row], values.kinds[row]
        if kind == NOTHING or kind > DOUBLE:
            sums.rows[group, NOTHING] += sign
            continue
        sums.rows[group, kind] += sign
        if kind <= DECIMAL:
            high, low = values.high[row], values.low[row]
            if sign < 0:
                high, low = wide.negate(high, low)
            _add_exact(sums.words, group, high, low)
        else:
            real = values.reals[row]
            if real != real:
                sums.specials[group, _NAN] += sign
            elif abs(real) == np.inf:
                sums.specials[group, _PLUS_INF if real > 0 else _MINUS_INF] += sign
            elif abs(real) >= _HUGE:
                _add_real(sums.reals, group, _LARGE, sign * real * _DOWN)
            else:
                _add_real(sums.reals, group, _USUAL, sign * real)
            if sign < 0 and sums.rows[group, FLOAT] == 0 and sums.rows[group, DOUBLE] == 0:
                sums.reals[group, :] = 0.0


@njit
def _exact_total(words, group):
    """The sum of integers and decimals, and whether 128 bits hold it."""
    high = np.int64(words[group, 1])
    return high, words[group, 0], words[group, 2] == (_ALL_ONES if high < 0 else _NO_WORD)


@njit
def _real_total(sums, group, high, low):
    """The sum of everything as a double."""
    nan, plus, minus = sums.specials[group]
    if nan > 0 or (plus > 0 and minus > 0):
        return np.nan
    if plus > 0:
        return np.inf
    if minus > 0:
        return -np.inf
    reals = sums.reals[group]
    usual = wide.to_float(high, low) + (reals[_USUAL] + reals[_USUAL + 1])
    return usual + (reals[_LARGE] + reals[_LARGE + 1]) * _UP


@njit
def totals(sums, groups, mean):
    """SUM of groups, or AVG where `mean` is true; NOTHING where a row of the group is no number.

    The type is the highest that the group holds now; the mean of integers is a decimal.
    """
    result = new_values(groups.size)
    for row in range(groups.size):
        group = groups[row]
        counts = sums.rows[group]
        kind = DOUBLE
        while kind > INTEGER and counts[kind] == 0:
            kind -= 1
        high, low, fits = _exact_total(sums.words, group)
        real = 0.0
        count = counts[INTEGER] + counts[DECIMAL] + counts[FLOAT] + counts[DOUBLE]
        if kind >= FLOAT:
            real = _real_total(sums, group, high, low)
            if mean:
                real /= count
            if kind == FLOAT:
                real = np.float64(np.float32(real))
        elif mean and count > 0:
            kind = DECIMAL
            if fits:
                count_high, count_low = wide.scaled(count, 0)
                high, low, fits = wide.divide(high, low, count_high, count_low)
        elif kind == INTEGER:
            fits = fits and wide.fits_integer(high, low)
        result.kinds[row] = kind if fits and counts[NOTHING] == 0 else NOTHING
        result.high[row] = high
        result.low[row] = low
        result.reals[row] = real
    return result
