"""Reads RDF files into ids."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple
from xml.parsers import expat

import numpy as np
import pyoxigraph
from numpy.typing import NDArray

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.line_parser import LineParser
from freshet.rdf.ntriples import scan_statements
from freshet.rdf.oxigraph import parse_error
from freshet.rdf.statement_scan import StatementScan

_FORMATS = {
    ".ttl": pyoxigraph.RdfFormat.TURTLE,
    ".nt": pyoxigraph.RdfFormat.N_TRIPLES,
    ".nq": pyoxigraph.RdfFormat.N_QUADS,
    ".trig": pyoxigraph.RdfFormat.TRIG,
    ".rdf": pyoxigraph.RdfFormat.RDF_XML,
    ".xml": pyoxigraph.RdfFormat.RDF_XML,
    ".owl": pyoxigraph.RdfFormat.RDF_XML,
}
_BLOCK_QUADS = 20_000
_PIECE_BYTES = 16 << 20


class Quads(NamedTuple):
    """The ids of statements; the graph is 0 for the default graph."""

    subjects: NDArray[np.int64]
    predicates: NDArray[np.int64]
    objects: NDArray[np.int64]
    graphs: NDArray[np.int64]


def read_rdf(path: str | Path, dictionary: Dictionary, *, blank_scope: str | None = None) -> Quads:
    """The statements of an RDF file: Turtle, N-Triples, N-Quads, TriG or RDF/XML by its suffix, `.gz` after it or not.

    Blank nodes belong to this reading of the file, or to the scope given. Relative IRIs are resolved against the
    file's own address.
    """
    path = Path(path)
    form = rdf_format(path)
    scope = dictionary.fresh_scope() if blank_scope is None else blank_scope
    if form in (pyoxigraph.RdfFormat.N_TRIPLES, pyoxigraph.RdfFormat.N_QUADS):
        quads = form == pyoxigraph.RdfFormat.N_QUADS
        return _scan(path, StatementScan(dictionary, LineParser(str(path), 1, scope, timed=False, quads=quads)))
    with _opened(path) as file:
        base = path.absolute().as_uri()
        return parse_rdf(file.read(), form, dictionary, str(path), blank_scope=scope, base=base)


def rdf_format(path: str | Path) -> pyoxigraph.RdfFormat:
    """The format that a file's name says it has."""
    name = Path(path).name.lower().removesuffix(".gz")
    suffix = Path(name).suffix
    if suffix not in _FORMATS:
        hint = f"known suffixes: {', '.join(_FORMATS)}, each also with .gz"
        raise InputError("the name does not say which RDF format this is", file=str(path), hint=hint)
    return _FORMATS[suffix]


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """A file to read, decompressed where its name says so; what goes wrong with it is the user's to mend."""
    try:
        with path.open("rb") as file:
            yield BufferedReader(gzip.GzipFile(fileobj=file)) if path.suffix.lower() == ".gz" else file
    except FileNotFoundError:
        raise InputError("there is no such file", file=str(path)) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"cannot be decompressed: {error}", file=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None


def _scan(path: Path, scan: StatementScan) -> Quads:
    """Reads lines piece by piece, so that memory holds the ids and not the file."""
    room = bytearray(_PIECE_BYTES)
    kept = 0  # bytes of a line whose end has not been read yet
    with _opened(path) as file:
        while read := file.readinto(memoryview(room)[kept:]):  # type: ignore[attr-defined]
            filled = kept + read
            end = room.rfind(b"\n", kept, filled) + 1
            scan.feed(memoryview(room)[:end])
            if scan.errors:
                raise scan.errors[0]
            kept = filled - end
            room[:kept] = room[end:filled]
            if kept == len(room):
                room = room + bytearray(len(room))
        scan.feed(memoryview(room)[:kept])
    if scan.errors:
        raise scan.errors[0]
    return Quads(*scan.columns()[1:])


def parse_rdf(
    data: bytes,
    form: pyoxigraph.RdfFormat,
    dictionary: Dictionary,
    file: str,
    *,
    blank_scope: str,
    base: str | None = None,
) -> Quads:
    """The statements of a document in any format.

    pyoxigraph turns it into N-Quads, and those are scanned, so that nothing is done in Python term by term.
    """
    blocks = [(np.empty(0, np.int64),) * 4]
    try:
        parser = pyoxigraph.parse(data, form, base_iri=base)
        while text := pyoxigraph.serialize(islice(parser, _BLOCK_QUADS), format=pyoxigraph.RdfFormat.N_QUADS):
            columns, errors = scan_statements(text, dictionary, file, quads=True, blank_scope=blank_scope)
            if errors:  # the line would be one of the N-Quads, which the user does not see
                raise InputError(errors[0].message, file=file)
            blocks.append(columns)
    except SyntaxError as error:
        raise _placed(parse_error(error, file), data, form) from None
    subjects, predicates, objects, graphs = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return Quads(subjects, predicates, objects, graphs)


def _placed(error: InputError, data: bytes, form: pyoxigraph.RdfFormat) -> InputError:
    """The error with its place. For XML that is not well-formed, pyoxigraph has none, but expat has."""
    if error.line is None and form == pyoxigraph.RdfFormat.RDF_XML:
        try:
            expat.ParserCreate().Parse(data, True)
        except expat.ExpatError as broken:
            message = expat.ErrorString(broken.code)
            return InputError(message, file=error.file, line=broken.lineno, column=broken.offset + 1)
    return error
