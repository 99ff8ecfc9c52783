"""What terms stand for: a kind and a value of fixed width, from inline ids by their bits, from others by a table.

| kind | high, low | real |
| --- | --- | --- |
| integer, decimal | the number in units of 10**-18 | the number |
| float, double | 0 | the number |
| boolean | 0 | 0 or 1 |
| date and time | seconds since 1970 in units of 10**-18, as if UTC where there is no time zone | 0 |
| all other terms | 0 | bytes of the lexical form |
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels import layout, wide
from freshet.kernels.jit import leaf, njit

NOTHING = 0  # unbound, or an error
INTEGER = 1  # numbers stand in the order of numeric promotion
DECIMAL = 2
FLOAT = 3
DOUBLE = 4
BOOLEAN = 5
DATE_TIME = 6  # an odd kind of date or time is the one before it without a time zone
DATE_TIME_LOCAL = 7
DATE = 8
DATE_LOCAL = 9
TIME = 10
TIME_LOCAL = 11
STRING = 12
LANGUAGE_STRING = 13
OTHER = 14  # a literal whose value is not known here; from here on, terms have no order
ILL_TYPED = 15  # a literal whose lexical form is not one of its datatype's
IRI = 16  # from here on, no literals
BLANK_NODE = 17
TRIPLE_TERM = 18
UNKNOWN = 255  # a dictionary id that the table does not have yet

KINDS = 19

_FLOAT_POWERS = np.array([10.0**exponent for exponent in range(23)])
_UNITS_PER_MS_SCALE = 3  # a millisecond is 1 / 10**3 seconds


class Values(NamedTuple):
    """One row a term: its kind, and its value as the table above says."""

    kinds: np.ndarray  # uint8
    high: np.ndarray  # int64
    low: np.ndarray  # uint64
    reals: np.ndarray  # float64


class ValueArrays(NamedTuple):
    """Values of dictionary ids by open addressing: one slot an id, a power of two of slots."""

    ids: np.ndarray  # int64, 0 where the slot is free
    values: Values
    sizes: np.ndarray  # int64: how many ids there are


@leaf
def plain_number(mantissa, scale):
    """mantissa / 10**scale as float64, correctly rounded as both are exact."""
    return np.float64(mantissa) / _FLOAT_POWERS[scale]


@leaf
def scientific_number(mantissa, exponent):
    """mantissa * 10**exponent as float64, correctly rounded for |exponent| <= 22 and an exact mantissa."""
    if exponent < 0:
        return np.float64(mantissa) / _FLOAT_POWERS[-exponent]
    return np.float64(mantissa) * _FLOAT_POWERS[exponent]


@leaf
def inline_real(inline_type, value):
    """The number of an inline id that is one, as float64."""
    if inline_type == layout.INTEGER:
        return np.float64(value)
    if inline_type == layout.SCIENTIFIC:
        exponent = (value & layout.EXPONENT_MASK) - layout.EXPONENT_BIAS
        fraction = (value >> layout.EXPONENT_BITS) & layout.FRACTION_MASK
        mantissa = value >> (layout.EXPONENT_BITS + layout.FRACTION_BITS)
        return scientific_number(mantissa, exponent - fraction)
    real = plain_number(value >> layout.SCALE_BITS, value & layout.SCALE_MASK)
    return np.float64(np.float32(real)) if inline_type == layout.FLOAT else real


@leaf
def inline_kind(inline_type):
    """The kind of an inline id by its type."""
    if inline_type == layout.INTEGER:
        return INTEGER
    if inline_type == layout.DECIMAL:
        return DECIMAL
    if inline_type == layout.DOUBLE or inline_type == layout.SCIENTIFIC:
        return DOUBLE
    if inline_type == layout.FLOAT:
        return FLOAT
    if inline_type == layout.BOOLEAN:
        return BOOLEAN
    return DATE_TIME if inline_type == layout.DATETIME_Z else DATE_TIME_LOCAL


@leaf
def inline_exact(inline_type, value):
    """An inline integer or decimal in units of 10**-18, and False where it has digits below them."""
    if inline_type == layout.INTEGER:
        high, low = wide.scale_to_units(value, 0)
        return high, low, True
    mantissa, scale = value >> layout.SCALE_BITS, value & layout.SCALE_MASK
    while scale > wide.UNIT_DIGITS:
        if mantissa % 10 != 0:
            return np.int64(0), np.uint64(0), False
        mantissa //= 10
        scale -= 1
    high, low = wide.scale_to_units(mantissa, scale)
    return high, low, True


@leaf
def inline_moment(value):
    """An inline dateTime in units of 10**-18 seconds since 1970."""
    return wide.scale_to_units(value >> 1, _UNITS_PER_MS_SCALE)


@leaf
def inline_term(term_id):
    """Kind, high, low and real of an inline id."""
    inline_type, value = layout.inline_type(term_id), layout.inline_value(term_id)
    kind = inline_kind(inline_type)
    high, low = np.int64(0), np.uint64(0)
    if kind <= DECIMAL:
        high, low, exact = inline_exact(inline_type, value)
        if not exact:
            return OTHER, high, low, np.float64(0)
        return kind, high, low, inline_real(inline_type, value)
    if kind <= DOUBLE:
        return kind, high, low, inline_real(inline_type, value)
    if kind == BOOLEAN:
        return kind, high, low, np.float64(value)
    high, low = inline_moment(value)
    return kind, high, low, np.float64(0)


@njit
def new_values(count):
    return Values(
        np.empty(count, np.uint8),
        np.empty(count, np.int64),
        np.empty(count, np.uint64),
        np.empty(count, np.float64),
    )


@leaf
def _slot(ids, term_id):
    """Where an id stands, or the free slot where it would. Dictionary ids are hashes already."""
    mask = np.int64(ids.size - 1)
    at = term_id & mask
    while ids[at] != term_id and ids[at] != 0:
        at = (at + 1) & mask
    return at


@leaf
def value_of(ids, kinds, highs, lows, reals, term_id):
    """Kind, high, low and real of an id, as a table has them; of kind UNKNOWN where it does not."""
    if term_id < 0:
        return inline_term(term_id)
    if term_id > 0:
        slot = _slot(ids, term_id)
        if ids[slot] == term_id:
            return kinds[slot], highs[slot], lows[slot], reals[slot]
        return UNKNOWN, np.int64(0), np.uint64(0), np.float64(0)
    return NOTHING, np.int64(0), np.uint64(0), np.float64(0)


@njit
def look_up(table, term_ids):
    """The values of ids, and how many of them the table does not have (kind UNKNOWN)."""
    values = new_values(term_ids.size)
    known = table.values
    unknown = 0
    for row in range(term_ids.size):
        kind, high, low, real = value_of(table.ids, known.kinds, known.high, known.low, known.reals, term_ids[row])
        unknown += kind == UNKNOWN
        values.kinds[row] = kind
        values.high[row] = high
        values.low[row] = low
        values.reals[row] = real
    return values, unknown


@leaf
def is_in(ids, term_id):
    """Whether a table has a value for an id."""
    return ids[_slot(ids, term_id)] == term_id


@njit
def put(table, term_id, kind, high, low, real):
    """Put the value of an id into the table, which must have room."""
    slot = _slot(table.ids, term_id)
    if table.ids[slot] == 0:
        table.sizes[0] += 1
    table.values.kinds[slot] = kind
    table.values.high[slot] = high
    table.values.low[slot] = low
    table.values.reals[slot] = real
    table.ids[slot] = term_id  # last, so that a reader never finds an id without its value


@njit
def remember(table, term_ids, values):
    """Put the values of ids into the table, which must have room. Free slots hold id 0 and are passed over."""
    for row in range(term_ids.size):
        if term_ids[row] != 0:
            put(table, term_ids[row], values.kinds[row], values.high[row], values.low[row], values.reals[row])
