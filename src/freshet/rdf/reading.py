"""Reads RDF files into ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple
from xml.parsers import expat

import numpy as np
import pyoxigraph
from numpy.typing import NDArray

from freshet.rdf.compression import open_input
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.documents import long_terms_refused, parse_document
from freshet.rdf.errors import InputError
from freshet.rdf.formats import FORMATS, N3_HINT, format_name, is_line_format, rdf_format
from freshet.rdf.line_parser import LineParser
from freshet.rdf.ntriples import scan_statements
from freshet.rdf.oxigraph import parse_error
from freshet.rdf.statement_scan import StatementScan

_BLOCK_QUADS = 20_000
_PIECE_BYTES = 16 << 20


class Quads(NamedTuple):
    """The ids of statements; the graph is 0 for the default graph."""

    subjects: NDArray[np.int64]
    predicates: NDArray[np.int64]
    objects: NDArray[np.int64]
    graphs: NDArray[np.int64]


class Document(NamedTuple):
    """A graph as text: `format` is `ttl`, `nt`, `rdfxml` or `jsonld`, `name` what error messages call it."""

    content: bytes
    format: str
    name: str


def read_documents(documents: Iterable[Document], dictionary: Dictionary, base: str | None) -> Quads:
    """The statements of documents, all of them for one graph. Blank nodes belong to their document."""
    found = [Quads(*(np.empty(0, np.int64),) * 4)]
    for content, name, file in documents:
        form, scope = FORMATS[name].parsed_as, dictionary.fresh_scope()
        read = parse_rdf(content, form, dictionary, file, blank_scope=scope, base=base)
        if read.graphs.any():
            raise InputError("it names graphs, and is to be one", file=file)
        found.append(read)
    return Quads(*map(np.concatenate, zip(*found, strict=True)))


def read_rdf(path: str | Path, dictionary: Dictionary, *, blank_scope: str | None = None) -> Quads:
    """The statements of an RDF file: Turtle, N-Triples, N-Quads, TriG, JSON-LD or RDF/XML by its suffix.

    `.n3` is read as Turtle. `.gz`, `.bz2` or `.zst` may follow the suffix. Blank nodes belong to this reading of the
    file, or to the scope that is given. Relative IRIs are resolved against the file's own address.
    """
    path = Path(path)
    if not path.exists():  # before its name is looked at: it may be meant to be a graph directory
        raise InputError("there is no such file", file=str(path))
    form = rdf_format(path)
    scope = dictionary.fresh_scope() if blank_scope is None else blank_scope
    if is_line_format(form):
        quads = form == pyoxigraph.RdfFormat.N_QUADS
        return _scan(path, StatementScan(dictionary, LineParser(str(path), 1, scope, timed=False, quads=quads)))
    with open_input(path) as file:
        base = path.absolute().as_uri()
        return parse_rdf(file.read(), form, dictionary, str(path), blank_scope=scope, base=base)


def line_pieces(file: BinaryIO, size: int | None = None) -> Iterator[memoryview]:
    """The bytes of a file in pieces that end where lines do, so that memory does not follow the file.

    A piece is valid until the next one is read. With a `size`, only the lines that start within that many bytes.
    """
    room = bytearray(_PIECE_BYTES)
    kept = taken = 0  # `kept` bytes are of a line whose end has not been read yet
    while read := file.readinto(memoryview(room)[kept:]):  # type: ignore[attr-defined]
        filled = kept + read
        last = filled if size is None else size - taken
        if last <= filled and size is not None:
            end = room.find(b"\n", max(0, last - 1), filled) + 1
            if end:
                yield memoryview(room)[:end]
                return
        end = room.rfind(b"\n", kept, filled) + 1
        if end:
            yield memoryview(room)[:end]
        taken += end
        kept = filled - end
        room[:kept] = room[end:filled]
        if kept == len(room):
            room = room + bytearray(len(room))
    if kept:
        yield memoryview(room)[:kept]


def _scan(path: Path, scan: StatementScan) -> Quads:
    with open_input(path) as file:
        for piece in line_pieces(file):
            scan.feed(piece)
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
        for text in nquads_pieces(data, form, file, base):
            blocks.append(scan_nquads(text, dictionary, file, blank_scope))
    except InputError as error:
        raise place_error(error, data, form) from None
    subjects, predicates, objects, graphs = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return Quads(subjects, predicates, objects, graphs)


def nquads_pieces(source: bytes | BinaryIO, form: pyoxigraph.RdfFormat, file: str, base: str | None) -> Iterator[bytes]:
    """A document in any format as N-Quads, some thousand at a time."""
    try:
        with long_terms_refused(file):
            parser = parse_document(source, form, file, base)
            while text := pyoxigraph.serialize(islice(parser, _BLOCK_QUADS), format=pyoxigraph.RdfFormat.N_QUADS):
                yield text
    except SyntaxError as error:
        raise document_error(error, form, file) from None


def document_error(error: SyntaxError, form: pyoxigraph.RdfFormat, file: str) -> InputError:
    """A parser's complaint about a document, with a hint where one helps."""
    found = parse_error(error, file)
    if form == pyoxigraph.RdfFormat.JSON_LD and "LoadDocumentCallback" in found.message:
        found.message = "the @context is an address, and contexts are not fetched: put it into the document"
    elif format_name(file) == "n3":
        found.hint = N3_HINT
    return found


def scan_nquads(
    text: bytes, dictionary: Dictionary, file: str, blank_scope: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The ids of what `nquads_pieces` gives."""
    columns, errors = scan_statements(text, dictionary, file, quads=True, blank_scope=blank_scope)
    if errors:  # the line would be one of the N-Quads, which the user does not see
        raise InputError(errors[0].message, file=file)
    return columns


def place_error(error: InputError, data: bytes, form: pyoxigraph.RdfFormat) -> InputError:
    """The error with its place. For XML that is not well-formed, pyoxigraph has none, but expat has."""
    if error.line is None and form == pyoxigraph.RdfFormat.RDF_XML:
        try:
            expat.ParserCreate().Parse(data, True)
        except expat.ExpatError as broken:
            message = expat.ErrorString(broken.code)
            return InputError(message, file=error.file, line=broken.lineno, column=broken.offset + 1)
    return error
