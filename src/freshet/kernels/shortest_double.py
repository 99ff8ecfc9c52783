"""The shortest decimal number that gives a double back, and of these the nearest (Schubfach, R. Giulietti 2020).

A double c * 2**q is all that rounds to it: the numbers between its neighbours' middles. Scaled by 10**-k so that this
interval holds at least one whole number and at most one multiple of ten, the answer is among four of them. Products
with powers of ten are kept to 126 bits, which was proved to be enough.
"""

import numpy as np

from freshet.kernels.jit import leaf
from freshet.kernels.wide import product_64

_LEAST_K = -324
_GREATEST_K = 292
_FRACTION_BITS = 52
_HIDDEN = np.int64(1 << _FRACTION_BITS)
_EXPONENT_MASK = 2047
_LEAST_EXPONENT = -1074
_LOW_63 = np.uint64(2**63 - 1)
_1, _2, _63 = np.uint64(1), np.uint64(2), np.uint64(63)
_TEN, _FORTY = np.uint64(10), np.uint64(40)


def _power(k: int) -> int:
    """10**-k in 126 bits, rounded up."""
    shift = ((-k * 913124641741) >> 38) - 125
    if k > 0:
        return int((1 << -shift) // 10**k) + 1
    power: int = 10**-k
    return (power >> shift if shift >= 0 else power << -shift) + 1


_POWERS = [_power(k) for k in range(_LEAST_K, _GREATEST_K + 1)]
_HIGH = np.array([power >> 63 for power in _POWERS], np.uint64)
_LOW = np.array([power & (2**63 - 1) for power in _POWERS], np.uint64)


@leaf
def _product(at, number):
    """A scaled power of ten times a number, rounded to odd: the last bit is set where anything was cut off."""
    lower, _ = product_64(_LOW[at], number)
    high, low = product_64(_HIGH[at], number)
    middle = (low >> _1) + lower
    return (high + (middle >> _63)) | (((middle & _LOW_63) + _LOW_63) >> _63)


@leaf
def shortest_decimal(bits):
    """Digits as a uint64 and an exponent of ten for the bits of a finite double that is not 0, without its sign."""
    fraction, biased = bits & (_HIDDEN - 1), (bits >> _FRACTION_BITS) & _EXPONENT_MASK
    c = fraction | _HIDDEN if biased > 0 else fraction
    q = _LEAST_EXPONENT + max(biased, 1) - 1
    narrow = fraction == 0 and biased > 1  # the neighbour below is half as far
    k = (q * 661971961083 - (274743187321 if narrow else 0)) >> 41
    shift = np.uint64(q + ((-k * 913124641741) >> 38) + 2)
    at = k - _LEAST_K
    scaled = np.uint64(c) << _2
    exact = _product(at, scaled << shift)
    odd = np.uint64(c & 1)  # the ends of the interval round to the double where c is even
    lower = _product(at, (scaled - (_1 if narrow else _2)) << shift) + odd
    upper = _product(at, (scaled + _2) << shift) - odd
    below = exact >> _2
    if below >= _TEN:
        tens = below // _TEN
        inside, inside_above = lower <= _FORTY * tens, _FORTY * tens + _FORTY <= upper
        if inside != inside_above:
            return tens + (_1 if inside_above else np.uint64(0)), k + 1
    above = below + _1
    inside, inside_above = lower <= below << _2, above << _2 <= upper
    if inside != inside_above:
        return (above if inside_above else below), k
    middle = (below + above) << _1
    is_nearer = exact < middle or (exact == middle and below & _1 == np.uint64(0))
    return (below if is_nearer else above), k
