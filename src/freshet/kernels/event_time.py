"""Event times in the usual form, `2026-03-02T06:45:00.250Z`, as milliseconds since 1970.

What has another form is left to others: nothing is refused here.
"""

import numpy as np

from freshet.kernels.calendar import MS_PER_DAY, days_from_date, days_in_month
from freshet.kernels.jit import njit
from freshet.kernels.json_values import STRING
from freshet.kernels.terms import CAPITAL_T, CAPITAL_Z, COLON, MINUS, POINT, ZERO

UNREAD = np.int64(-(2**63))

_PLUS = ord("+")
_SPACE = ord(" ")
_SHORTEST = 20  # no fraction, and Z
_AFTER_SECONDS = 19
_MOST_FRACTION_DIGITS = 6
_MOST_ZONE_HOURS = 14
_MS_PER_MINUTE = 60_000


@njit
def _number(data, at, count):
    """A number of exactly `count` digits, or -1."""
    value = np.int64(0)
    for i in range(np.uint64(at), np.uint64(at + count)):
        digit = np.int64(data[i]) - ZERO
        if digit < 0 or digit > 9:
            return np.int64(-1)
        value = value * 10 + digit
    return value


@njit
def _zone_ms(data, at, end):
    """The offset of the time zone that is the rest of the text, or UNREAD."""
    if end - at == 1 and data[at] == CAPITAL_Z:
        return np.int64(0)
    if end - at != 6 or (data[at] != _PLUS and data[at] != MINUS) or data[at + 3] != COLON:
        return UNREAD
    hours, minutes = _number(data, at + 1, 2), _number(data, at + 4, 2)
    if hours < 0 or hours >= _MOST_ZONE_HOURS or minutes < 0 or minutes > 59:
        return UNREAD
    offset = (hours * 60 + minutes) * _MS_PER_MINUTE
    return -offset if data[at] == MINUS else offset


@njit
def read_time(data, start, end):
    """The milliseconds of data[start:end], or UNREAD. What is finer than milliseconds is cut off."""
    if end - start < _SHORTEST or data[start + 4] != MINUS or data[start + 7] != MINUS:
        return UNREAD
    if (data[start + 10] != CAPITAL_T and data[start + 10] != _SPACE) or data[start + 13] != COLON:
        return UNREAD
    year, month, day = _number(data, start, 4), _number(data, start + 5, 2), _number(data, start + 8, 2)
    if year < 1 or month < 1 or month > 12 or day < 1 or day > days_in_month(year, month):
        return UNREAD
    hour, minute, second = _number(data, start + 11, 2), _number(data, start + 14, 2), _number(data, start + 17, 2)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59 or data[start + 16] != COLON:
        return UNREAD
    at = start + _AFTER_SECONDS
    fraction_ms = np.int64(0)
    if data[at] == POINT:
        at += 1
        digits = np.int64(0)
        while at < end and ZERO <= data[at] <= ZERO + 9:
            if digits < 3:
                fraction_ms = fraction_ms * 10 + np.int64(data[at]) - ZERO
            digits += 1
            at += 1
        if digits == 0 or digits > _MOST_FRACTION_DIGITS:
            return UNREAD
        while digits < 3:
            fraction_ms *= 10
            digits += 1
    zone_ms = _zone_ms(data, at, end)
    if zone_ms == UNREAD:
        return UNREAD
    clock_ms = ((hour * 60 + minute) * 60 + second) * 1000 + fraction_ms
    return days_from_date(year, month, day) * MS_PER_DAY + clock_ms - zone_ms


@njit
def read_times(data, starts, ends, kinds, good, times):
    """The times that one reference finds (see `freshet.kernels.json_lines`); UNREAD where it finds something else."""
    for line in range(kinds.size):
        read = good[line] and kinds[line] == STRING
        times[line] = read_time(data, starts[line], ends[line]) if read else UNREAD
