"""The bits of an id. See `freshet.rdf.ids` for what is inline and what is not.

Bit 63 is set where the term is inline, so that inline ids are negative; bits 58 to 62 are then the type, and bits
0 to 57 the value. A positive id belongs to the dictionary, and 0 to no term.
"""

import numpy as np

from freshet.kernels.jit import njit

UNBOUND = 0

TYPE_SHIFT = 58
TYPE_MASK = 31
VALUE_MASK = (1 << TYPE_SHIFT) - 1
INLINE_FLAG = np.int64(-(2**63))
HASH_MASK = np.int64(2**63 - 1)

INTEGER = 1
BOOLEAN = 2
DECIMAL = 3
DOUBLE = 4
FLOAT = 5
SCIENTIFIC = 6
DATETIME_Z = 7
DATETIME = 8

LEAST_INTEGER = -(1 << 57)
GREATEST_INTEGER = (1 << 57) - 1

# plain decimals, doubles and floats: mantissa << 5 | scale
SCALE_BITS = 5
SCALE_MASK = 31
GREATEST_SCALE = 22
MANTISSA_END = 1 << 52

# doubles in scientific notation: mantissa << 11 | fraction digits << 7 | exponent + 64
EXPONENT_BITS = 7
EXPONENT_MASK = 127
EXPONENT_BIAS = 64
FRACTION_BITS = 4
FRACTION_MASK = 15
SCIENTIFIC_MANTISSA_END = 1 << 46
GREATEST_SHIFT = 22  # |exponent - fraction digits|, so that m * 10**shift is one correctly rounded operation


@njit
def pack(kind, value):
    """The inline id of a type and a value (two's complement in 58 bits)."""
    return INLINE_FLAG | (np.int64(kind) << np.int64(TYPE_SHIFT)) | (np.int64(value) & np.int64(VALUE_MASK))


@njit
def inline_type(term_id):
    """The type of an inline id; 0 for a dictionary id and for 0."""
    if term_id >= 0:
        return 0
    return (term_id >> TYPE_SHIFT) & TYPE_MASK


@njit
def inline_value(term_id):
    """The value of an inline id, with its sign."""
    return (term_id << (64 - TYPE_SHIFT)) >> (64 - TYPE_SHIFT)
