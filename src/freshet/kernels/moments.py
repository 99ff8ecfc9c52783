"""Dates and times from their lexical forms: seconds since 1970 in units of 10**-18.

As oxigraph reads them: years may be negative or long, `24:00:00` is the next midnight, time zones end at 14 hours.
"""

import numpy as np

from freshet.kernels import values, wide
from freshet.kernels.calendar import days_from_date, days_in_month
from freshet.kernels.jit import njit
from freshet.kernels.terms import COLON, MINUS, NINE, POINT, ZERO

_PLUS = ord("+")
_NO_WORD = np.uint64(0)
_TEN = np.uint64(10)
_SECONDS_PER_DAY = 86_400
_MOST_YEAR_DIGITS = 9


@njit
def is_digit(byte):
    return ZERO <= byte <= NINE


@njit
def _field(data, at, end):
    """A number of two digits, or -1."""
    if at + 2 > end or not (is_digit(data[at]) and is_digit(data[at + 1])):
        return np.int64(-1)
    return np.int64(data[at] - ZERO) * 10 + np.int64(data[at + 1] - ZERO)


@njit
def _calendar_day(data, start, end):
    """The days from 1970 to the date that the text begins with, and where it stops; -1 where there is none."""
    before_zero = start < end and data[start] == MINUS
    first = start + before_zero
    at = first
    year = np.int64(0)
    while at < end and is_digit(data[at]) and at - first <= _MOST_YEAR_DIGITS:
        year = year * 10 + np.int64(data[at] - ZERO)
        at += 1
    digits = at - first
    if digits < 4 or digits > _MOST_YEAR_DIGITS or (digits > 4 and data[first] == ZERO):
        return np.int64(0), -1
    if at + 6 > end or data[at] != MINUS or data[at + 3] != MINUS:
        return np.int64(0), -1
    if before_zero:
        year = -year
    month, day = _field(data, at + 1, end), _field(data, at + 4, end)
    if month < 1 or month > 12 or day < 1 or day > days_in_month(year, month):
        return np.int64(0), -1
    return days_from_date(year, month, day), at + 6


@njit
def _clock(data, at, end):
    """Seconds since midnight, the fraction in units of 10**-18, and where the time stops; -1 where there is none."""
    hour, minute, second = _field(data, at, end), _field(data, at + 3, end), _field(data, at + 6, end)
    if hour < 0 or minute < 0 or minute > 59 or second < 0 or second > 59:
        return np.int64(0), _NO_WORD, -1
    if data[at + 2] != COLON or data[at + 5] != COLON:
        return np.int64(0), _NO_WORD, -1
    at += 8
    fraction, digits = _NO_WORD, 0
    if at < end and data[at] == POINT:
        first = at + 1
        at = first
        while at < end and is_digit(data[at]):
            digit = np.uint64(data[at] - ZERO)
            if digits < wide.UNIT_DIGITS:
                fraction = fraction * _TEN + digit
                digits += 1
            elif digit != _NO_WORD:
                return np.int64(0), _NO_WORD, -1
            at += 1
        if at == first:
            return np.int64(0), _NO_WORD, -1
    fraction *= wide.POWERS_OF_TEN[wide.UNIT_DIGITS - digits]
    if hour > 24 or (hour == 24 and (minute != 0 or second != 0 or fraction != _NO_WORD)):
        return np.int64(0), _NO_WORD, -1
    return hour * 3600 + minute * 60 + second, fraction, at


@njit
def _zone(data, at, end):
    """Whether there is a time zone, its offset in seconds, and whether the text ends there as it must."""
    if at == end:
        return False, np.int64(0), True
    if data[at] == ord("Z"):
        return True, np.int64(0), end - at == 1
    if end - at != 6 or (data[at] != MINUS and data[at] != _PLUS) or data[at + 3] != COLON:
        return False, np.int64(0), False
    hours, minutes = _field(data, at + 1, end), _field(data, at + 4, end)
    if hours < 0 or minutes < 0 or minutes > 59 or hours * 60 + minutes > 14 * 60:
        return False, np.int64(0), False
    offset = hours * 3600 + minutes * 60
    return True, -offset if data[at] == MINUS else offset, True


@njit
def read_moment(data, start, end, kind):
    """A date or time: its kind, or OTHER where the form is wrong, high and low."""
    wrong = (values.OTHER, np.int64(0), _NO_WORD)
    at, days, seconds, fraction = start, np.int64(0), np.int64(0), _NO_WORD
    if kind != values.TIME:
        days, at = _calendar_day(data, at, end)
        if at < 0:
            return wrong
    if kind == values.DATE_TIME:
        if at >= end or data[at] != ord("T"):
            return wrong
        at += 1
    if kind != values.DATE:
        seconds, fraction, at = _clock(data, at, end)
        if at < 0:
            return wrong
        if kind == values.TIME:
            seconds %= _SECONDS_PER_DAY
    zoned, offset, ended = _zone(data, at, end)
    if not ended:
        return wrong
    high, low = wide.scale_to_units(days * _SECONDS_PER_DAY + seconds - offset, 0)
    high, low, _ = wide.add(high, low, np.int64(0), fraction)
    return kind if zoned else kind + 1, high, low
