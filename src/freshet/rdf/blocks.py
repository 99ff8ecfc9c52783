"""Reads an RDF file, or a stretch of one, in blocks that each have a dictionary of their own: what loading tasks run.

Memory follows the block and not the file. An id is the hash of its term's key wherever it is computed, so that blocks
agree on their ids without asking each other, unless two keys have one hash: merging blocks checks for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyoxigraph

from freshet.rdf.compression import open_input
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.formats import is_line_format, rdf_format
from freshet.rdf.line_parser import LineParser
from freshet.rdf.reading import Quads, line_pieces, nquads_pieces, place_error, scan_nquads
from freshet.rdf.statement_scan import StatementScan

BLOCK_BYTES = 64 << 20


class Stretch(NamedTuple):
    """What one task reads: a file, or the lines of it that start from one byte on and before another.

    `scope` is that of the file's blank nodes.
    """

    path: str
    scope: str
    start: int = 0
    end: int | None = None


class QuadBlock(NamedTuple):
    """Statements, the dictionary of their terms, and how many lines they took (0 where the format has no lines)."""

    quads: Quads
    dictionary: Dictionary
    lines: int


def read_blocks(stretch: Stretch, *, hash_bits: int = 63, block_bytes: int = BLOCK_BYTES) -> Iterator[QuadBlock]:
    """The blocks of a stretch. An InputError counts lines from where the stretch starts."""
    form = rdf_format(stretch.path)
    if is_line_format(form):
        yield from _line_blocks(stretch, form == pyoxigraph.RdfFormat.N_QUADS, hash_bits, block_bytes)
    else:
        yield from _document_blocks(stretch, form, hash_bits, block_bytes)


def _line_blocks(stretch: Stretch, quads: bool, hash_bits: int, block_bytes: int) -> Iterator[QuadBlock]:
    lines = taken = 0
    scan: StatementScan | None = None
    dictionary = Dictionary(hash_bits)
    with open_input(Path(stretch.path)) as file:
        if stretch.start:
            file.seek(stretch.start - 1)
            file.readline()  # the line that the byte before belongs to is another's
        at = file.tell() if stretch.end is not None else 0
        if stretch.end is not None and at >= stretch.end:
            return
        for piece in line_pieces(file, None if stretch.end is None else stretch.end - at):
            if scan is None:
                dictionary = Dictionary(hash_bits)
                parser = LineParser(stretch.path, lines + 1, stretch.scope, timed=False, quads=quads)
                scan = StatementScan(dictionary, parser)
            scan.feed(piece)
            if scan.errors:
                raise scan.errors[0]
            taken += len(piece)
            if taken >= block_bytes:
                yield QuadBlock(Quads(*scan.columns()[1:]), dictionary, scan.lines)
                lines += scan.lines
                scan, taken = None, 0
    if scan is not None:
        yield QuadBlock(Quads(*scan.columns()[1:]), dictionary, scan.lines)


def _document_blocks(
    stretch: Stretch, form: pyoxigraph.RdfFormat, hash_bits: int, block_bytes: int
) -> Iterator[QuadBlock]:
    path = Path(stretch.path)
    dictionary, taken = Dictionary(hash_bits), 0
    columns: list[tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]] = []
    try:
        with open_input(path) as file:
            for text in nquads_pieces(file, form, stretch.path, path.absolute().as_uri()):
                columns.append(scan_nquads(text, dictionary, stretch.path, stretch.scope))
                taken += len(text)
                if taken >= block_bytes:
                    yield _joined(columns, dictionary)
                    dictionary, taken, columns = Dictionary(hash_bits), 0, []
    except InputError as error:
        if error.line is None and form == pyoxigraph.RdfFormat.RDF_XML:
            with open_input(path) as file:
                raise place_error(error, file.read(), form) from None
        raise
    if columns:
        yield _joined(columns, dictionary)


def _joined(columns: list[tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]], dictionary: Dictionary) -> QuadBlock:
    return QuadBlock(Quads(*(np.concatenate(column) for column in zip(*columns, strict=True))), dictionary, 0)
