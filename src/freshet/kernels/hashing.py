"""XXH64 over a range of bytes, as Spark's `xxhash64` computes it for a string.

Everything is uint64: the arithmetic wraps, and an unsigned index spares the check for a negative one. Reading eight
bytes by shifts compiles to a single load.
"""

import numpy as np

from freshet.kernels.jit import njit
from freshet.kernels.layout import HASH_MASK

SEED = np.uint64(42)

_PRIME_1 = np.uint64(0x9E3779B185EBCA87)
_PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3 = np.uint64(0x165667B19E3779F9)
_PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
_PRIME_5 = np.uint64(0x27D4EB2F165667C5)
_0, _1, _2, _3, _4, _5, _6, _7, _8 = (np.uint64(i) for i in range(9))
_16, _24, _32, _40, _48, _56, _64 = (np.uint64(i) for i in (16, 24, 32, 40, 48, 56, 64))


@njit
def _rotate(x, bits):
    return (x << bits) | (x >> (_64 - bits))


@njit
def word_32(data, at):
    """Four bytes from `at` (uint64), little-endian."""
    return (
        np.uint64(data[at])
        | np.uint64(data[at + _1]) << _8
        | np.uint64(data[at + _2]) << _16
        | np.uint64(data[at + _3]) << _24
    )


@njit
def word_64(data, at):
    """Eight bytes from `at` (uint64), little-endian."""
    return (
        np.uint64(data[at])
        | np.uint64(data[at + _1]) << _8
        | np.uint64(data[at + _2]) << _16
        | np.uint64(data[at + _3]) << _24
        | np.uint64(data[at + _4]) << _32
        | np.uint64(data[at + _5]) << _40
        | np.uint64(data[at + _6]) << _48
        | np.uint64(data[at + _7]) << _56
    )


@njit
def _round(lane, word):
    return _rotate(lane + word * _PRIME_2, np.uint64(31)) * _PRIME_1


@njit
def _merge(result, lane):
    return (result ^ _round(_0, lane)) * _PRIME_1 + _PRIME_4


@njit
def _stripes(data, at, stop):
    """What the whole stripes of 32 bytes from `at` on come to; there is at least one."""
    lane_1 = SEED + _PRIME_1 + _PRIME_2
    lane_2 = SEED + _PRIME_2
    lane_3 = SEED
    lane_4 = SEED - _PRIME_1
    while at + _32 <= stop:
        lane_1 = _round(lane_1, word_64(data, at))
        lane_2 = _round(lane_2, word_64(data, at + _8))
        lane_3 = _round(lane_3, word_64(data, at + _16))
        lane_4 = _round(lane_4, word_64(data, at + _24))
        at += _32
    result = _rotate(lane_1, _1) + _rotate(lane_2, _7) + _rotate(lane_3, np.uint64(12)) + _rotate(lane_4, np.uint64(18))
    return _merge(_merge(_merge(_merge(result, lane_1), lane_2), lane_3), lane_4)


@njit
def _with_word(result, word):
    return _rotate(result ^ _round(_0, word), np.uint64(27)) * _PRIME_1 + _PRIME_4


@njit
def _with_half(result, half):
    return _rotate(result ^ (half * _PRIME_1), np.uint64(23)) * _PRIME_2 + _PRIME_3


@njit
def _with_byte(result, byte):
    return _rotate(result ^ (byte * _PRIME_5), np.uint64(11)) * _PRIME_1


@njit
def _tail(data, at, stop, result):
    """Takes in what is left of less than 32 bytes, byte by byte in the end."""
    while at + _8 <= stop:
        result = _with_word(result, word_64(data, at))
        at += _8
    if at + _4 <= stop:
        result = _with_half(result, word_32(data, at))
        at += _4
    while at < stop:
        result = _with_byte(result, np.uint64(data[at]))
        at += _1
    return result


@njit
def _tail_ahead(data, at, stop, result):
    """The same where 32 bytes can be read: every step is taken, and kept or not, so that no branch is guessed wrong."""
    left = stop - at
    words = left >> _3
    for i in range(3):
        step = _with_word(result, word_64(data, at + _8 * np.uint64(i)))
        result = step if np.uint64(i) < words else result
    last = word_64(data, at + _8 * words)
    step = _with_half(result, last & np.uint64(0xFFFFFFFF))
    half = left & _4
    result = step if half != _0 else result
    last >>= half << _3
    count = left & _3
    for i in range(3):
        step = _with_byte(result, (last >> (_8 * np.uint64(i))) & np.uint64(0xFF))
        result = step if np.uint64(i) < count else result
    return result


@njit
def xxh64(data, start, end):
    """XXH64 with seed 42 of data[start:end] as uint64."""
    at = np.uint64(start)
    stop = np.uint64(end)
    length = stop - at
    result = _stripes(data, at, stop) if length >= _32 else SEED + _PRIME_5
    at += length & ~np.uint64(31)
    result += length
    ahead = at + _32 <= np.uint64(data.size)
    result = _tail_ahead(data, at, stop, result) if ahead else _tail(data, at, stop, result)
    result = (result ^ (result >> np.uint64(33))) * _PRIME_2
    result = (result ^ (result >> np.uint64(29))) * _PRIME_3
    return result ^ (result >> _32)


@njit
def hash_id(data, start, end):
    """The dictionary id that a key asks for: its hash without the sign bit, never 0."""
    masked = np.int64(xxh64(data, start, end)) & HASH_MASK
    return masked if masked != 0 else np.int64(1)
