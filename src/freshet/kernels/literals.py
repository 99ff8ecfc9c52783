"""From the key of a term to its kind and value (see `freshet.kernels.values`).

Lexical forms are read as oxigraph reads them: numbers may have a plus sign and leading zeros but no white space,
integers of every derived type are integers of 64 bits, decimals have at most 18 digits after the point.
"""

import math

import numpy as np

from freshet.kernels import values, wide
from freshet.kernels.comparison import lexical_end
from freshet.kernels.dictionary import LENGTH_BYTES, _record_length, find_slot
from freshet.kernels.jit import njit
from freshet.kernels.moments import is_digit, read_moment
from freshet.kernels.terms import MINUS, POINT, QUOTE, ZERO, ends_with

_KINDS_BY_NAME = {
    "integer": values.INTEGER,
    "int": values.INTEGER,
    "long": values.INTEGER,
    "short": values.INTEGER,
    "byte": values.INTEGER,
    "nonNegativeInteger": values.INTEGER,
    "positiveInteger": values.INTEGER,
    "nonPositiveInteger": values.INTEGER,
    "negativeInteger": values.INTEGER,
    "unsignedInt": values.INTEGER,
    "unsignedLong": values.INTEGER,
    "unsignedShort": values.INTEGER,
    "unsignedByte": values.INTEGER,
    "decimal": values.DECIMAL,
    "double": values.DOUBLE,
    "float": values.FLOAT,
    "boolean": values.BOOLEAN,
    "string": values.STRING,
    "dateTime": values.DATE_TIME,
    "dateTimeStamp": values.DATE_TIME,
    "date": values.DATE,
    "time": values.TIME,
}


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8).copy()


_XSD = _bytes('"^^<http://www.w3.org/2001/XMLSchema#')
_NAMES = _bytes("".join(name + ">" for name in _KINDS_BY_NAME))
_NAME_ENDS = np.cumsum([len(name) + 1 for name in _KINDS_BY_NAME])
_NAME_KINDS = np.array(list(_KINDS_BY_NAME.values()), np.uint8)
_TRUE, _FALSE = _bytes("true"), _bytes("false")
_INF, _INFINITY, _NAN = _bytes("inf"), _bytes("infinity"), _bytes("nan")

_PLUS = ord("+")
_NO_WORD = np.uint64(0)
_TEN = np.uint64(10)
_ONE = np.uint64(1)
_EXACT = np.uint64(1 << 53)
_TWICE_EXACT = np.uint64(1 << 54)
_DOUBLE_BITS = 53
_POWERS_OF_FIVE = np.array([5**exponent for exponent in range(28)], np.uint64)  # that leave a bit of a word free
_BEFORE_TEN_TIMES = np.uint64((1 << 64) // 10 - 1)
_MOST_EXPONENT = 100_000  # far beyond the range of float64


@njit
def _datatype_kind(data, start, end):
    """The kind that the datatype of a literal promises; `start` is at the quotation mark that ends the lexical form."""
    if end - start == 1:
        return values.STRING
    if data[start + 1] == ord("@"):
        return values.LANGUAGE_STRING
    first = start + _XSD.size
    if first >= end or not ends_with(data, start, first, _XSD):
        return values.OTHER
    name_start = 0
    for name in range(_NAME_ENDS.size):
        name_end = _NAME_ENDS[name]
        if end - first == name_end - name_start:
            at = 0
            while at < end - first and data[first + at] == _NAMES[name_start + at]:
                at += 1
            if at == end - first:
                return np.int64(_NAME_KINDS[name])
        name_start = name_end
    return values.OTHER


@njit
def _spells(data, start, end, word):
    """Whether data[start:end] is the word, in letters of either size."""
    same = end - start == word.size
    at = 0
    while same and at < word.size:
        same = (data[start + at] | 32) == word[at]  # bit 5 is set in small letters
        at += 1
    return same


@njit
def _sign(data, start, end):
    """Whether there is a minus, and where the digits begin."""
    if start < end and (data[start] == MINUS or data[start] == _PLUS):
        return data[start] == MINUS, start + 1
    return False, start


@njit
def _append_digit(high, low, digit):
    """Ten times a magnitude, and a digit; False where two words do not hold it."""
    if high > _BEFORE_TEN_TIMES:
        return high, low, False
    carry, low = wide.product_64(low, _TEN)
    low += digit
    if low < digit:
        carry += np.uint64(1)
    return high * _TEN + carry, low, True


@njit
def _exact(data, start, end, point_allowed):
    """An integer or decimal: status kind, high, low, real, and whether the real is left to others.

    The status is DECIMAL where all is well, ILL_TYPED where the form is wrong, OTHER where the number does not fit.
    """
    wrong = (values.ILL_TYPED, np.int64(0), _NO_WORD, 0.0, False)
    too_long = (values.OTHER, np.int64(0), _NO_WORD, 0.0, False)
    negative, at = _sign(data, start, end)
    point = at
    while point < end and is_digit(data[point]):
        point += 1
    last = end
    if point < end:
        if data[point] != POINT or not point_allowed or end - at == 1:
            return wrong
        for i in range(point + 1, end):
            if not is_digit(data[i]):
                return wrong
        while data[last - 1] == ZERO:
            last -= 1
    elif point == at:
        return wrong
    scale = max(last - point - 1, 0)
    if scale > wide.UNIT_DIGITS:
        return too_long
    high, low = _NO_WORD, _NO_WORD
    for i in range(at, last):
        if i != point:
            high, low, fits = _append_digit(high, low, np.uint64(data[i] - ZERO))
            if not fits:
                return too_long
    simple = high == _NO_WORD and low < _EXACT
    real = values.plain_number(np.int64(low), scale) if simple else 0.0
    power = wide.POWERS_OF_TEN[wide.UNIT_DIGITS - scale]
    over, high = wide.product_64(high, power)
    carry, low = wide.product_64(low, power)
    high += carry
    signed_high, signed_low, fits = wide.with_sign(high, low, negative)
    if over != _NO_WORD or high < carry or not fits:
        return too_long
    # not -real, which would make a minus zero
    return values.DECIMAL, signed_high, signed_low, 0.0 - real if negative else real, not simple


@njit
def _bit_length(number):
    bits = 0
    while number != _NO_WORD:
        number >>= _ONE
        bits += 1
    return bits


@njit
def _round_quotient(quotient, inexact, exponent):
    """The double nearest to quotient * 2**exponent, or, where that is `inexact`, to a little more; the even one of two.

    Where it is inexact, the quotient has more bits than a double holds.
    """
    extra = _bit_length(quotient) - _DOUBLE_BITS
    if extra > 0:
        half = _ONE << np.uint64(extra - 1)
        rest = quotient & (half | (half - _ONE))
        quotient >>= np.uint64(extra)
        quotient += np.uint64(rest > half or (rest == half and (inexact or quotient & _ONE != _NO_WORD)))
        exponent += extra
    return math.ldexp(np.float64(np.int64(quotient)), exponent)


@njit
def _times_power_of_ten(mantissa, exponent):
    """The double nearest to mantissa * 10**exponent, for a mantissa that is not 0."""
    power = _POWERS_OF_FIVE[abs(exponent)]
    if exponent >= 0:
        high, low = wide.product_64(mantissa, power)
        bits = _bit_length(high)
        if bits == 0:
            return _round_quotient(low, False, exponent)
        rest = low & ((_ONE << np.uint64(bits)) - _ONE)
        quotient = high << np.uint64(64 - bits) | low >> np.uint64(bits)
        return _round_quotient(quotient, rest != _NO_WORD, exponent + bits)
    quotient, rest = mantissa // power, mantissa % power
    while quotient < _TWICE_EXACT:  # so that there are bits to round by
        rest <<= _ONE
        quotient <<= _ONE
        if rest >= power:
            rest -= power
            quotient |= _ONE
        exponent -= 1
    return _round_quotient(quotient, rest != _NO_WORD, exponent)


@njit
def _real(data, start, end):
    """A double: whether the form is right, the number, and whether the number is left to others."""
    negative, at = _sign(data, start, end)
    sign = -1.0 if negative else 1.0
    if _spells(data, at, end, _INF) or _spells(data, at, end, _INFINITY):
        return True, sign * np.inf, False
    if _spells(data, at, end, _NAN):
        return True, np.nan, False
    mantissa = _NO_WORD
    exact, digits, fraction, past_point = True, 0, 0, False
    while at < end and (is_digit(data[at]) or (data[at] == POINT and not past_point)):
        if data[at] == POINT:
            past_point = True
        else:
            digits += 1
            fraction += past_point
            if mantissa > _BEFORE_TEN_TIMES:
                exact = False
            else:
                mantissa = mantissa * _TEN + np.uint64(data[at] - ZERO)
        at += 1
    if digits == 0:
        return False, 0.0, False
    exponent = np.int64(0)
    if at < end:
        if data[at] != ord("e") and data[at] != ord("E"):
            return False, 0.0, False
        below, at = _sign(data, at + 1, end)
        if at == end:
            return False, 0.0, False
        for i in range(at, end):
            if not is_digit(data[i]):
                return False, 0.0, False
            if exponent < _MOST_EXPONENT:
                exponent = exponent * 10 + np.int64(data[i] - ZERO)
        if below:
            exponent = -exponent
    exponent -= fraction
    if mantissa == _NO_WORD:
        return True, sign * 0.0, False
    if exact and mantissa < _EXACT and abs(exponent) <= 22:
        return True, sign * values.scientific_number(np.int64(mantissa), exponent), False
    if not exact or abs(exponent) >= _POWERS_OF_FIVE.size:
        return True, 0.0, True
    return True, sign * _times_power_of_ten(mantissa, exponent), False


@njit
def _term(data, start, end):
    """Kind, high, low, real, and whether the real is to be read from the text."""
    nothing_high, nothing_low = np.int64(0), _NO_WORD
    if data[start] != QUOTE:
        kind = values.BLANK_NODE
        if data[start] == ord("<"):
            kind = values.TRIPLE_TERM if data[start + 1] == ord("<") else values.IRI
        return kind, nothing_high, nothing_low, np.float64(end - start), False
    first, last = start + 1, lexical_end(data, start, end)
    kind = _datatype_kind(data, last, end)
    length = np.float64(last - first)
    if kind <= values.DECIMAL:
        status, high, low, real, unread = _exact(data, first, last, kind == values.DECIMAL)
        if status != values.DECIMAL:
            return status, nothing_high, nothing_low, length, False
        if kind == values.INTEGER and not wide.fits_integer(high, low):
            return values.OTHER, nothing_high, nothing_low, length, False
        return kind, high, low, real, unread
    if kind <= values.DOUBLE:
        right, real, unread = _real(data, first, last)
        if not right:
            return values.ILL_TYPED, nothing_high, nothing_low, length, False
        if kind == values.FLOAT:
            real = np.float64(np.float32(real))
        return kind, nothing_high, nothing_low, real, unread
    if kind == values.BOOLEAN:
        one = last - first == 1 and data[first] == ord("1")
        zero = last - first == 1 and data[first] == ZERO
        if one or (last - first == 4 and ends_with(data, first, last, _TRUE)):
            return kind, nothing_high, nothing_low, 1.0, False
        if zero or (last - first == 5 and ends_with(data, first, last, _FALSE)):
            return kind, nothing_high, nothing_low, 0.0, False
        return values.ILL_TYPED, nothing_high, nothing_low, length, False
    if values.DATE_TIME <= kind <= values.TIME:
        kind, high, low = read_moment(data, first, last, kind)
        return kind, high, low, length if kind == values.OTHER else 0.0, False
    return kind, nothing_high, nothing_low, length, False


@njit
def read_terms(data, starts, ends):
    """The values of the keys data[starts[i]:ends[i]], and which rows hold a number whose real is left to `float`."""
    result = values.new_values(starts.size)
    unread = np.zeros(starts.size, np.bool_)
    for row in range(starts.size):
        kind, high, low, real, left = _term(data, starts[row], ends[row])
        result.kinds[row] = kind
        result.high[row] = high
        result.low[row] = low
        result.reals[row] = real
        unread[row] = left
    return result, unread


@njit
def learn_terms(dictionary, table, term_ids):
    """Put the values of a dictionary's terms into a table that does not have them; gives where it stops.

    It stops at an id that the table has no room for, that the dictionary does not have, or whose value is left to
    `read_terms`.
    """
    for row in range(term_ids.size):
        term_id = term_ids[row]
        if term_id <= 0 or values.is_in(table.ids, term_id):
            continue
        at = find_slot(dictionary.slots, term_id)
        if dictionary.slots[at] == 0 or 2 * (table.sizes[0] + 1) > table.ids.size:
            return row
        record = dictionary.slots[at + 1]
        start = record + LENGTH_BYTES
        kind, high, low, real, left = _term(dictionary.heap, start, start + _record_length(dictionary.heap, record))
        if left:
            return row
        values.put(table, term_id, kind, high, low, real)
    return term_ids.size


@njit
def lexical_forms(data, starts, ends, rows, width):
    """The lexical forms of some literals' keys as rows of `width` bytes, zeros after each."""
    texts = np.zeros((rows.size, width), np.uint8)
    for i in range(rows.size):
        first = starts[rows[i]] + 1
        last = lexical_end(data, starts[rows[i]], ends[rows[i]])
        for at in range(first, last):
            texts[i, at - first] = data[at]
    return texts
