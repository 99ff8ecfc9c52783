"""Numbers of hash buckets that Spark deals out evenly to the partitions of a shuffle."""

from __future__ import annotations

from collections.abc import Sequence

_MASK = 0xFFFF_FFFF
_SEED = 42


def _rotated(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK


def spark_hash(number: int) -> int:
    """What Spark's `hash` (Murmur3) says of an INT."""
    mixed = (_rotated((number * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK
    value = (_rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    value ^= 4  # the length in bytes
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        value = ((value ^ (value >> shift)) * factor) & _MASK
    return value - (1 << 32) if value >= 1 << 31 else value


def even_buckets(count: int, partitions: int) -> Sequence[int]:
    """A count of numbers, spread evenly over partitions."""
    chosen: list[int] = []
    wanted = [count // partitions + (partition < count % partitions) for partition in range(partitions)]
    number = 0
    while len(chosen) < count:
        partition = spark_hash(number) % partitions
        if wanted[partition]:
            wanted[partition] -= 1
            chosen.append(number)
        number += 1
    return chosen
