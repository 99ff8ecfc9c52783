"""Pieces of a block of bytes as Arrow strings, and which of them are not UTF-8."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.kernels.csv_records import write_fields
from freshet.rdf.arrow import booleans, read_only, strings
from freshet.sources.columns import SHOWN

Places = NDArray[np.int64]


def as_bytes(block: bytes) -> NDArray[np.uint8]:
    """A block as kernels take it."""
    return read_only(np.frombuffer(block, np.uint8))


def broken_pieces(block: bytes, starts: Places, ends: Places) -> NDArray[np.bool_]:
    """Which pieces of a block, that follow each other in it, are not UTF-8."""
    broken = np.zeros(starts.size, np.bool_)
    if not starts.size:
        return broken
    view = memoryview(block)
    at, stop = int(starts[0]), int(ends[-1])
    while at < stop:
        try:
            str(view[at:stop], "utf-8")
            break
        except UnicodeDecodeError as error:
            piece = int(np.searchsorted(starts, at + error.start, "right")) - 1
            broken[piece] |= at + error.start < ends[piece]
            at = max(int(ends[piece]), at + error.end)
    return broken


def pieces(block: bytes, starts: Places, ends: Places, wanted: NDArray[np.bool_]) -> pa.Array:
    """The wanted pieces as strings, null elsewhere. Long ones are cut; what is not UTF-8 is replaced."""
    if not wanted.any():
        return pa.nulls(starts.size, pa.string())
    stops = np.minimum(ends, starts + SHOWN)
    out = np.empty(int(np.sum(stops - starts, where=wanted)), np.uint8)
    offsets = np.empty(starts.size + 1, np.int32)
    forms = np.zeros(starts.size, np.int8)
    write_fields(as_bytes(block), starts, stops, forms, wanted, np.int64(-1), out, offsets)
    try:
        str(out.data, "utf-8")
    except UnicodeDecodeError:
        places = zip(starts.tolist(), stops.tolist(), wanted.tolist(), strict=True)
        return pa.array([block[a:b].decode(errors="replace") if kept else None for a, b, kept in places], pa.string())
    return strings(out, offsets, wanted)


def where(wanted: NDArray[np.bool_], text: str) -> pa.Array:
    """A text where it is wanted, null elsewhere."""
    if not wanted.any():
        return pa.nulls(wanted.size, pa.string())
    return pc.if_else(booleans(wanted), pa.scalar(text), pa.scalar(None, pa.string()))


def with_lines(name: str, numbers: NDArray[np.int64]) -> pa.Array:
    """The name of a file with the line of each record."""
    return pc.binary_join_element_wise(pa.scalar(name), pa.array(numbers).cast(pa.string()), "#L")


def line_ends(block: bytes) -> NDArray[np.int64]:
    """Behind which places of a block lines end: with a line feed, a carriage return, or both.

    >>> line_ends(b"a\\nb\\r\\nc\\rd").tolist()
    [2, 5, 7]
    """
    data = np.frombuffer(block, np.uint8)
    is_end = data == 10
    if b"\r" in block:
        alone = data == 13
        alone[:-1] &= ~is_end[1:]
        is_end = is_end | alone
    return np.flatnonzero(is_end) + 1


def with_broken(reasons: pa.Array, broken: NDArray[np.bool_], places: Places, encoding: str) -> pa.Array:
    """Reasons, and that of pieces which are not text in the encoding: with the place in the file where each begins.

    The text of such a piece does not show where it is, since it is not shown as it is written.
    """
    if not broken.any():
        return reasons
    shown = reasons.to_pylist()
    for number in np.flatnonzero(broken).tolist():
        shown[number] = f"not {encoding}, in the record at byte {places[number]}"
    return pa.array(shown, pa.string())


def with_last(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Blocks, and whether each is the last one."""
    held: bytes | None = None
    for block in blocks:
        if held is not None:
            yield held, False
        held = block
    yield held or b"", True
