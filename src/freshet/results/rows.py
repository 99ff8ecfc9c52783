"""What all result formats share: every distinct term is written once, then a kernel puts the rows together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.pieces import join_pieces
from freshet.rdf.arrow import read_only
from freshet.rdf.dictionary import Dictionary

CellWriter = Callable[[str], str]  # takes the dictionary's key of a term: no term is made only to be written

_NOTHING, _ROW_BREAK, _FIRST_LEAD = 0, 1, 2


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
    cell_end: str = ""
    separator: str = ""
    keeps_unbound: bool = False


def write_rows(rows: NDArray[np.int64], dictionary: Dictionary, write: CellWriter, frame: Frame) -> bytes:
    """The text of rows of ids, empty where there are none."""
    count, width = rows.shape
    if count == 0:
        return b""
    distinct, places = np.unique(rows, return_inverse=True)
    cells = [_cell(key, write, frame.cell_end) for key in dictionary.keys(distinct).to_pylist()]
    leads = [text for lead in frame.leads for text in (lead, frame.separator + lead)]
    first_cell = _FIRST_LEAD + len(leads)

    bound = np.full(rows.shape, True) if frame.keeps_unbound else rows != 0
    follows = np.logical_or.accumulate(bound, axis=1)  # a bound cell comes before, or this is one
    numbers = np.full((count, 1 + 2 * width), _NOTHING, np.int64)
    numbers[1:, 0] = _ROW_BREAK
    numbers[:, 1::2] = np.where(bound, _FIRST_LEAD + 2 * np.arange(width), _NOTHING)
    numbers[:, 3::2] += bound[:, 1:] & follows[:, :-1]
    numbers[:, 2::2] = np.where(bound, first_cell + places.reshape(rows.shape), _NOTHING)

    row_break = frame.row_end + frame.row_separator + frame.row_start
    pieces = [text.encode() for text in ("", row_break, *leads, *cells)]
    offsets = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    heap = np.frombuffer(b"".join(pieces), np.uint8)
    body = join_pieces(read_only(heap), offsets, numbers.ravel())
    return b"%b%b%b" % (frame.row_start.encode(), body.tobytes(), frame.row_end.encode())


def literal_parts(key: str) -> tuple[str, str]:
    """The lexical form in the key of a literal, and what follows: `@language`, `^^<datatype>` or nothing."""
    end = key.rindex('"')
    return key[1:end], key[end + 1 :]


def _cell(key: str | None, write: CellWriter, end: str) -> str:
    return "" if key is None else write(key) + end
