"""What all parts say in the same way."""

from __future__ import annotations


def show_count(number: int, one: str, many: str = "") -> str:
    """How many there are of a thing.

    >>> show_count(1, "row"), show_count(1200, "batch", "batches")
    ('1 row', '1,200 batches')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
