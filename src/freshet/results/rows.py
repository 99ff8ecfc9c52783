"""What all result formats share: every distinct term is written once, then a kernel puts the rows together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.pieces import join_pieces
from freshet.rdf.arrow import read_only
from freshet.rdf.dictionary import Dictionary

Ids = NDArray[np.int64]
Groups = tuple[Ids, Ids]  # rows, and where each group begins in them: at 0 the first; and where the last one ends
CellWriter = Callable[[str], str]  # takes the dictionary's key of a term: no term is made only to be written
Texts = tuple[NDArray[np.uint8], Ids]  # bytes, and where each text begins in them; and where the last one ends
CellsWriter = Callable[[NDArray[np.uint8], Ids], Texts]  # takes keys; the cell of an empty one is empty

_NOTHING = 0
_FEW = 1_000  # cells are sooner written than compared
PIECE_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the cells of a format.

    `leads` come before the cells of each variable, `separator` between the cells of a row. An unbound variable leaves
    nothing, neither lead nor separator; where `keeps_unbound`, it leaves an empty cell.
    """

    row_start: str
    row_end: str
    row_separator: str
    leads: tuple[str, ...]
    separator: str = ""
    keeps_unbound: bool = False


def write_rows(rows: Ids, dictionary: Dictionary, write: CellsWriter, frame: Frame) -> bytes:
    """The text of rows of ids, empty where there are none."""
    if len(rows) == 0:
        return b""
    breaks = np.ones(len(rows), np.int64)
    breaks[0] = _NOTHING
    row_break = frame.row_end + frame.row_separator + frame.row_start
    body = _join_rows(rows, dictionary, write, frame, [row_break.encode()], breaks)
    return b"%b%b%b" % (frame.row_start.encode(), body, frame.row_end.encode())


def write_pieces(rows: Ids, dictionary: Dictionary, write: CellsWriter, frame: Frame) -> Iterator[bytes]:
    """The same text, some rows at a time, so that the whole of a long one need not be held."""
    for first in range(0, len(rows), PIECE_ROWS):
        text = write_rows(rows[first : first + PIECE_ROWS], dictionary, write, frame)
        yield frame.row_separator.encode() + text if first else text


def write_groups(
    groups: Groups, dictionary: Dictionary, write: CellsWriter, frame: Frame, heads: Sequence[bytes], tail: bytes
) -> bytes:
    """The texts of groups of rows one after another: a head of its own, the rows, and the tail. No group is empty."""
    rows, offsets = groups
    start, end = frame.row_start.encode(), frame.row_end.encode()
    breaks = np.ones(len(rows), np.int64)
    breaks[offsets[:-1]] = np.arange(2, 2 + len(heads))
    next_group = end + tail
    leads = [end + frame.row_separator.encode() + start, heads[0] + start]
    leads += [next_group + head + start for head in heads[1:]]
    return _join_rows(rows, dictionary, write, frame, leads, breaks) + next_group


def each_cell(write: CellWriter, end: str = "") -> CellsWriter:
    """A writer that takes one key at a time; every cell that is bound has an end."""

    def cells(data: NDArray[np.uint8], offsets: Ids) -> Texts:
        bounds = offsets.tolist()
        keys = data.tobytes()
        written = [
            (write(keys[start:stop].decode()) + end).encode() if start < stop else b""
            for start, stop in pairwise(bounds)
        ]
        return np.frombuffer(b"".join(written), np.uint8), np.array([0, *accumulate(map(len, written))])

    return cells


def _join_rows(
    rows: Ids, dictionary: Dictionary, write: CellsWriter, frame: Frame, row_leads: list[bytes], breaks: Ids
) -> bytes:
    """The cells of rows and what stands between them; before each row comes the lead with its number, from 1 on."""
    count, width = rows.shape
    if rows.size <= _FEW:
        distinct, places = rows.ravel(), np.arange(rows.size)
    else:
        distinct, places = np.unique(rows, return_inverse=True)
    cells, ends = write(*dictionary.key_bytes(distinct))
    first_lead = 1 + len(row_leads)
    leads = [b"", *row_leads]
    leads += [text.encode() for lead in frame.leads for text in (lead, frame.separator + lead)]

    numbers = np.empty((count, 1 + 2 * width), np.int64)
    numbers[:, 0] = breaks
    numbers[:, 1::2] = np.arange(first_lead, len(leads), 2)
    numbers[:, 2::2] = len(leads) + places.reshape(rows.shape)
    if frame.keeps_unbound or rows.all():
        numbers[:, 3::2] += 1
    else:
        bound = rows != 0
        numbers[:, 3::2] += np.logical_or.accumulate(bound, axis=1)[:, :-1]  # a bound cell comes before
        numbers[:, 1::2][~bound] = numbers[:, 2::2][~bound] = _NOTHING

    heap = b"".join([*leads, cells.data])
    offsets = np.concatenate((np.array([0, *accumulate(map(len, leads))]), ends[1:]))
    offsets[len(leads) + 1 :] += offsets[len(leads)]
    joined: bytes = join_pieces(read_only(np.frombuffer(heap, np.uint8)), offsets, numbers.ravel()).tobytes()
    return joined


def literal_parts(key: str) -> tuple[str, str]:
    """The lexical form in the key of a literal, and what follows: `@language`, `^^<datatype>` or nothing."""
    end = key.rindex('"')
    return key[1:end], key[end + 1 :]
