"""Eight decimal digits at once, as the bytes of one word, the first in the lowest."""

import numpy as np

from freshet.kernels.jit import leaf

EIGHT_DIGITS = np.uint64(10**8)
_FOUR_DIGITS = np.uint64(10**4)
_4, _8, _10, _16, _20, _32 = (np.uint64(i) for i in (4, 8, 10, 16, 20, 32))
_HUNDRED, _TEN = np.uint64(100), np.uint64(10)
_HUNDREDTH, _TENTH = np.uint64(10486), np.uint64(103)  # of 2**20 up to 10**4, of 2**10 up to 100
_PAIRS, _DIGITS = np.uint64(0x0000007F_0000007F), np.uint64(0x000F000F_000F000F)
_ZEROS = np.uint64(0x30303030_30303030)
_UPPER, _CARRY = np.uint64(0xF0F0F0F0_F0F0F0F0), np.uint64(0x06060606_06060606)
_BYTES = np.uint64(0x000000FF_000000FF)
_LATER, _EARLIER = np.uint64(0x000F4240_00000064), np.uint64(0x00002710_00000001)  # 10**6 and 100, 10**4 and 1
_LOW_32 = np.uint64(0xFFFF_FFFF)


@leaf
def write_eight(number):
    """The digits of a number below 10**8, with zeros in front."""
    upper = number // _FOUR_DIGITS
    halves = upper | (number - upper * _FOUR_DIGITS) << _32
    upper = ((halves * _HUNDREDTH) >> _20) & _PAIRS
    quarters = ((halves - _HUNDRED * upper) << _16) + upper
    upper = ((quarters * _TENTH) >> _10) & _DIGITS
    return (((quarters - _TEN * upper) << _8) + upper) + _ZEROS


@leaf
def are_eight(word):
    """Whether all bytes are digits."""
    return (word & _UPPER) | (((word + _CARRY) & _UPPER) >> _4) == _ZEROS | (_ZEROS >> _4)


@leaf
def read_eight(word):
    """The number that the digits are."""
    word -= _ZEROS
    word = word * _TEN + (word >> _8)
    return (((word & _BYTES) * _LATER + ((word >> _16) & _BYTES) * _EARLIER) >> _32) & _LOW_32
