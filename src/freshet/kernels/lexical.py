"""From an inline id back to the bytes of its key."""

from freshet.kernels import layout, terms
from freshet.kernels.calendar import MS_PER_DAY, date_from_days
from freshet.kernels.jit import njit
from freshet.kernels.pieces import copy_bytes

LONGEST_KEY = 96  # no inline key is longer: 26 bytes of lexical form, 46 of datatype, quotation marks


@njit
def _write_bytes(out, at, text):
    return copy_bytes(text, 0, text.size, out, at)


@njit
def _write_padded(out, at, value, count):
    """Writes `count` digits, with leading zeros."""
    for i in range(at + count - 1, at - 1, -1):
        out[i] = terms.ZERO + value % 10
        value //= 10
    return at + count


@njit
def _count_digits(value):
    count = 1
    while value >= 10:
        value //= 10
        count += 1
    return count


@njit
def _write_number(out, at, value):
    if value < 0:
        out[at] = terms.MINUS
        at += 1
        value = -value
    return _write_padded(out, at, value, _count_digits(value))


@njit
def _write_with_point(out, at, mantissa, scale):
    """Writes mantissa / 10**scale with exactly `scale` digits after the point."""
    if scale == 0:
        return _write_number(out, at, mantissa)
    if mantissa < 0:
        out[at] = terms.MINUS
        at += 1
        mantissa = -mantissa
    whole = max(_count_digits(mantissa), scale + 1) - scale
    _write_padded(out, at, mantissa, whole + scale)
    for i in range(at + whole + scale, at + whole, -1):
        out[i] = out[i - 1]
    out[at + whole] = terms.POINT
    return at + whole + scale + 1


@njit
def _write_date_time(out, at, value):
    ms = value >> 1
    days = ms // MS_PER_DAY
    year, month, day = date_from_days(days)
    clock_ms = ms - days * MS_PER_DAY
    at = _write_padded(out, at, year, 4)
    out[at] = terms.MINUS
    at = _write_padded(out, at + 1, month, 2)
    out[at] = terms.MINUS
    at = _write_padded(out, at + 1, day, 2)
    out[at] = terms.CAPITAL_T
    at = _write_padded(out, at + 1, clock_ms // 3_600_000, 2)
    out[at] = terms.COLON
    at = _write_padded(out, at + 1, clock_ms // 60_000 % 60, 2)
    out[at] = terms.COLON
    at = _write_padded(out, at + 1, clock_ms // 1000 % 60, 2)
    if value & 1:
        out[at] = terms.POINT
        at = _write_padded(out, at + 1, clock_ms % 1000, 3)
    return at


@njit
def write_decimal(out, at, term_id):
    """As `write_inline`, for an inline id that is known to be a decimal."""
    value = layout.inline_value(term_id)
    out[at] = terms.QUOTE
    at = _write_with_point(out, at + 1, value >> layout.SCALE_BITS, value & layout.SCALE_MASK)
    return _write_bytes(out, at, terms.DECIMAL_SUFFIX)


@njit
def write_inline(out, at, term_id):
    """Writes the key of an inline id at out[at:] and returns where it ends. Needs LONGEST_KEY bytes of room."""
    kind = layout.inline_type(term_id)
    value = layout.inline_value(term_id)
    out[at] = terms.QUOTE
    at += 1
    if kind == layout.INTEGER:
        return _write_bytes(out, _write_number(out, at, value), terms.INTEGER_SUFFIX)
    if kind == layout.BOOLEAN:
        at = _write_bytes(out, at, terms.TRUE) if value else _write_bytes(out, at, terms.FALSE)
        return _write_bytes(out, at, terms.BOOLEAN_SUFFIX)
    if kind == layout.SCIENTIFIC:
        exponent = (value & layout.EXPONENT_MASK) - layout.EXPONENT_BIAS
        mantissa = value >> (layout.EXPONENT_BITS + layout.FRACTION_BITS)
        at = _write_with_point(out, at, mantissa, (value >> layout.EXPONENT_BITS) & layout.FRACTION_MASK)
        out[at] = terms.CAPITAL_E
        return _write_bytes(out, _write_number(out, at + 1, exponent), terms.DOUBLE_SUFFIX)
    if kind == layout.DATETIME or kind == layout.DATETIME_Z:
        at = _write_date_time(out, at, value)
        if kind == layout.DATETIME_Z:
            out[at] = terms.CAPITAL_Z
            at += 1
        return _write_bytes(out, at, terms.DATE_TIME_SUFFIX)
    at = _write_with_point(out, at, value >> layout.SCALE_BITS, value & layout.SCALE_MASK)
    if kind == layout.DECIMAL:
        return _write_bytes(out, at, terms.DECIMAL_SUFFIX)
    if kind == layout.DOUBLE:
        return _write_bytes(out, at, terms.DOUBLE_SUFFIX)
    return _write_bytes(out, at, terms.FLOAT_SUFFIX)
