"""XXH64 over a range of bytes, as Spark's `xxhash64` computes it for a string.

Everything is uint64: the arithmetic wraps, and an unsigned index spares the check for a negative one. Reading eight
bytes by shifts compiles to a single load.
"""

import numpy as np

from freshet.kernels.jit import leaf
from freshet.kernels.layout import HASH_MASK

SEED = np.uint64(42)

_PRIME_1 = np.uint64(0x9E3779B185EBCA87)
_PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3 = np.uint64(0x165667B19E3779F9)
_PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
_PRIME_5 = np.uint64(0x27D4EB2F165667C5)
_0, _1, _2, _3, _4, _5, _6, _7, _8 = (np.uint64(i) for i in range(9))
_16, _24, _32, _40, _48, _56, _64 = (np.uint64(i) for i in (16, 24, 32, 40, 48, 56, 64))


@leaf
def _rotate(x, bits):
    return (x << bits) | (x >> (_64 - bits))


@leaf
def word_32(data, at):
    """Four bytes from `at` (uint64), little-endian."""
    return (
        np.uint64(data[at])
        | np.uint64(data[at + _1]) << _8
        | np.uint64(data[at + _2]) << _16
        | np.uint64(data[at + _3]) << _24
    )


@leaf
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


@leaf
def _round(lane, word):
    return _rotate(lane + word * _PRIME_2, np.uint64(31)) * _PRIME_1


@leaf
def _merge(result, lane):
    return (result ^ _round(_0, lane)) * _PRIME_1 + _PRIME_4


@leaf
def xxh64(data, start, end):
    """XXH64 with seed 42 of data[start:end] as uint64."""
    at = np.uint64(start)
    stop = np.uint64(end)
    length = stop - at
    if length >= _32:
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
        result = (
            _rotate(lane_1, _1) + _rotate(lane_2, _7) + _rotate(lane_3, np.uint64(12)) + _rotate(lane_4, np.uint64(18))
        )
        result = _merge(_merge(_merge(_merge(result, lane_1), lane_2), lane_3), lane_4)
    else:
        result = SEED + _PRIME_5
    result += length
    while at + _8 <= stop:
        result = _rotate(result ^ _round(_0, word_64(data, at)), np.uint64(27)) * _PRIME_1 + _PRIME_4
        at += _8
    if at + _4 <= stop:
        result = _rotate(result ^ (word_32(data, at) * _PRIME_1), np.uint64(23)) * _PRIME_2 + _PRIME_3
        at += _4
    while at < stop:
        result = _rotate(result ^ (np.uint64(data[at]) * _PRIME_5), np.uint64(11)) * _PRIME_1
        at += _1
    result = (result ^ (result >> np.uint64(33))) * _PRIME_2
    result = (result ^ (result >> np.uint64(29))) * _PRIME_3
    return result ^ (result >> _32)


@leaf
def hash_id(data, start, end):
    """The dictionary id that a key asks for: its hash without the sign bit, never 0."""
    masked = np.int64(xxh64(data, start, end)) & HASH_MASK
    return masked if masked != 0 else np.int64(1)
