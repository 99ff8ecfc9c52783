"""From the bytes of a key to the inline id, where the term has one.

The rules are those of `freshet.rdf.ids`, which is the readable twin of this module.
"""

import numpy as np

from freshet.kernels import layout
from freshet.kernels.calendar import MS_PER_DAY, days_from_date, days_in_month
from freshet.kernels.jit import leaf

QUOTE = ord('"')
MINUS = ord("-")
POINT = ord(".")
COLON = ord(":")
ZERO = ord("0")
NINE = ord("9")
GREATER = ord(">")
CAPITAL_E = ord("E")
CAPITAL_T = ord("T")
CAPITAL_Z = ord("Z")

NOT_INLINE = np.int64(0)


def _suffix(name: str) -> np.ndarray:
    return np.frombuffer(f'"^^<http://www.w3.org/2001/XMLSchema#{name}>'.encode(), np.uint8).copy()


INTEGER_SUFFIX = _suffix("integer")
BOOLEAN_SUFFIX = _suffix("boolean")
DECIMAL_SUFFIX = _suffix("decimal")
DOUBLE_SUFFIX = _suffix("double")
FLOAT_SUFFIX = _suffix("float")
DATE_TIME_SUFFIX = _suffix("dateTime")
TRUE = np.frombuffer(b"true", np.uint8).copy()
FALSE = np.frombuffer(b"false", np.uint8).copy()


@leaf
def ends_with(data, start, end, suffix):
    """Whether data[start:end] ends with the suffix."""
    first = end - suffix.size
    if first < start:
        return False
    i = suffix.size - 1
    while i >= 0 and data[first + i] == suffix[i]:
        i -= 1
    return i < 0


@leaf
def inline_id(data, start, end):
    """The inline id of the key data[start:end], or 0 where the term belongs to the dictionary."""
    if end - start < 4 or data[start] != QUOTE or data[end - 1] != GREATER:
        return NOT_INLINE
    # the lexical form begins after the quotation mark; a suffix that overlaps it does not count
    first = start + 1
    letter = data[end - 2]
    if letter == ord("r"):
        if ends_with(data, first, end, INTEGER_SUFFIX):
            return _integer(data, first, end - INTEGER_SUFFIX.size)
    elif letter == ord("l"):
        if ends_with(data, first, end, DECIMAL_SUFFIX):
            return _number_id(data, first, end - DECIMAL_SUFFIX.size, layout.DECIMAL)
    elif letter == ord("t"):
        if ends_with(data, first, end, FLOAT_SUFFIX):
            return _number_id(data, first, end - FLOAT_SUFFIX.size, layout.FLOAT)
    elif letter == ord("n"):
        if ends_with(data, first, end, BOOLEAN_SUFFIX):
            return _boolean(data, first, end - BOOLEAN_SUFFIX.size)
    elif letter == ord("e"):
        if ends_with(data, first, end, DATE_TIME_SUFFIX):
            return _date_time(data, first, end - DATE_TIME_SUFFIX.size)
        if ends_with(data, first, end, DOUBLE_SUFFIX):
            last = end - DOUBLE_SUFFIX.size
            plain = _number_id(data, first, last, layout.DOUBLE)
            return plain if plain != NOT_INLINE else _scientific(data, first, last)
    return NOT_INLINE


@leaf
def _digits(data, at, end, value, limit):
    """Reads digits on to `value`: the value and where they end. A value that reaches `limit` stays at least that."""
    while at < end and ZERO <= data[at] <= NINE:
        if value < limit:
            value = value * 10 + (np.int64(data[at]) - ZERO)
        at += 1
    return value, at


@leaf
def _integer(data, start, end):
    at = start
    negative = at < end and data[at] == MINUS
    if negative:
        at += 1
    if at == end or (data[at] == ZERO and (negative or end - at > 1)):
        return NOT_INLINE
    value, stop = _digits(data, at, end, np.int64(0), np.int64(layout.GREATEST_INTEGER + 2))
    if stop != end:
        return NOT_INLINE
    if negative:
        value = -value
    if value < layout.LEAST_INTEGER or value > layout.GREATEST_INTEGER:
        return NOT_INLINE
    return layout.pack(layout.INTEGER, value)


@leaf
def _boolean(data, start, end):
    if end - start == TRUE.size and ends_with(data, start, end, TRUE):
        return layout.pack(layout.BOOLEAN, 1)
    if end - start == FALSE.size and ends_with(data, start, end, FALSE):
        return layout.pack(layout.BOOLEAN, 0)
    return NOT_INLINE


@leaf
def _number_id(data, start, end, kind):
    at = start
    negative = at < end and data[at] == MINUS
    if negative:
        at += 1
    limit = np.int64(layout.MANTISSA_END)
    mantissa, stop = _digits(data, at, end, np.int64(0), limit)
    if stop == at or (data[at] == ZERO and stop - at > 1):
        return NOT_INLINE
    scale = np.int64(0)
    if stop < end:
        if data[stop] != POINT:
            return NOT_INLINE
        mantissa, last = _digits(data, stop + 1, end, mantissa, limit)
        scale = np.int64(last - stop - 1)
        if last != end or scale == 0 or scale > layout.GREATEST_SCALE:
            return NOT_INLINE
    if mantissa >= limit or (negative and mantissa == 0):
        return NOT_INLINE
    return layout.pack(kind, (-mantissa if negative else mantissa) << layout.SCALE_BITS | scale)


@leaf
def _scientific(data, start, end):
    at = start
    negative = at < end and data[at] == MINUS
    if negative:
        at += 1
    limit = np.int64(layout.SCIENTIFIC_MANTISSA_END)
    mantissa, point = _digits(data, at, end, np.int64(0), limit)
    if point - at != 1 or point == end or data[point] != POINT:
        return NOT_INLINE
    lead = mantissa
    mantissa, letter = _digits(data, point + 1, end, mantissa, limit)
    fraction = np.int64(letter - point - 1)
    if letter == end or data[letter] != CAPITAL_E or fraction == 0 or fraction > layout.FRACTION_MASK:
        return NOT_INLINE
    if mantissa >= limit or (mantissa == 0 and negative) or (mantissa != 0 and lead == 0):
        return NOT_INLINE
    at = letter + 1
    below = at < end and data[at] == MINUS
    if below:
        at += 1
    exponent, stop = _digits(data, at, end, np.int64(0), np.int64(1000))
    if stop == at or stop != end or (data[at] == ZERO and (below or stop - at > 1)):
        return NOT_INLINE
    if below:
        exponent = -exponent
    if exponent < -layout.EXPONENT_BIAS or exponent >= layout.EXPONENT_BIAS:
        return NOT_INLINE
    if abs(exponent - fraction) > layout.GREATEST_SHIFT:
        return NOT_INLINE
    value = (-mantissa if negative else mantissa) << layout.FRACTION_BITS | fraction
    return layout.pack(layout.SCIENTIFIC, value << layout.EXPONENT_BITS | (exponent + layout.EXPONENT_BIAS))


@leaf
def _field(data, at, count):
    """A number of exactly `count` digits, or -1."""
    value, stop = _digits(data, at, at + count, np.int64(0), np.int64(10000))
    return value if stop == at + count else np.int64(-1)


@leaf
def _date_time(data, start, end):
    kind = layout.DATETIME
    if end - start in (20, 24) and data[end - 1] == CAPITAL_Z:
        kind = layout.DATETIME_Z
        end -= 1
    length = end - start
    if length != 19 and length != 23:
        return NOT_INLINE
    if data[start + 4] != MINUS or data[start + 7] != MINUS or data[start + 10] != CAPITAL_T:
        return NOT_INLINE
    if data[start + 13] != COLON or data[start + 16] != COLON:
        return NOT_INLINE
    year, month, day = _field(data, start, 4), _field(data, start + 5, 2), _field(data, start + 8, 2)
    if year < 1 or month < 1 or month > 12 or day < 1 or day > days_in_month(year, month):
        return NOT_INLINE
    hour, minute, second = _field(data, start + 11, 2), _field(data, start + 14, 2), _field(data, start + 17, 2)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
        return NOT_INLINE
    fraction = np.int64(0)
    if length == 23:
        fraction = _field(data, start + 20, 3)
        if data[start + 19] != POINT or fraction < 0:
            return NOT_INLINE
    clock_ms = ((hour * 60 + minute) * 60 + second) * 1000 + fraction
    ms = days_from_date(year, month, day) * MS_PER_DAY + clock_ms
    return layout.pack(kind, ms << 1 | (1 if length == 23 else 0))
