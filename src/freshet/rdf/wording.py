"""What all parts say in the same way."""

from __future__ import annotations


def show_count(number: int, one: str, many: str = "") -> str:
    """How many there are of a thing.

    >>> show_count(1, "row"), show_count(1200, "batch", "batches")
    ('1 row', '1,200 batches')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def show_bytes(count: int) -> str:
    """An amount of memory with a unit that suits it.

    >>> show_bytes(512), show_bytes(1536), show_bytes(8 << 30)
    ('512 B', '1.5 KiB', '8.0 GiB')
    """
    if count < 1024:
        return f"{count} B"
    power = min(4, (count.bit_length() - 1) // 10)
    return f"{count / (1 << 10 * power):.1f} {' KMGT'[power]}iB"
