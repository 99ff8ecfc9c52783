"""Reads RDF files into ids."""

from __future__ import annotations

import gzip
import zlib
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

import numpy as np
import pyoxigraph
from numpy.typing import NDArray

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.ntriples import scan_statements
from freshet.rdf.oxigraph import parse_error

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
    data = _read_bytes(path)
    scope = dictionary.fresh_scope() if blank_scope is None else blank_scope
    if form in (pyoxigraph.RdfFormat.N_TRIPLES, pyoxigraph.RdfFormat.N_QUADS):
        quads = form == pyoxigraph.RdfFormat.N_QUADS
        columns, errors = scan_statements(data, dictionary, str(path), quads=quads, blank_scope=scope)
        if errors:
            raise errors[0]
        return Quads(*columns)
    return _parse(data, path, form, dictionary, scope)


def rdf_format(path: str | Path) -> pyoxigraph.RdfFormat:
    """The format that a file's name says it has."""
    name = Path(path).name.lower().removesuffix(".gz")
    suffix = Path(name).suffix
    if suffix not in _FORMATS:
        hint = f"known suffixes: {', '.join(_FORMATS)}, each also with .gz"
        raise InputError("the name does not say which RDF format this is", file=str(path), hint=hint)
    return _FORMATS[suffix]


def _read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError("there is no such file", file=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
    if path.suffix.lower() != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be decompressed: {error}", file=str(path)) from None


def _parse(data: bytes, path: Path, form: pyoxigraph.RdfFormat, dictionary: Dictionary, blank_scope: str) -> Quads:
    """Lets pyoxigraph turn the file into N-Quads and reads those, so that nothing is done in Python term by term."""
    blocks = [(np.empty(0, np.int64),) * 4]
    try:
        parser = pyoxigraph.parse(data, form, base_iri=path.absolute().as_uri())
        while text := pyoxigraph.serialize(islice(parser, _BLOCK_QUADS), format=pyoxigraph.RdfFormat.N_QUADS):
            columns, errors = scan_statements(text, dictionary, str(path), quads=True, blank_scope=blank_scope)
            if errors:  # the line would be one of the N-Quads, which the user does not see
                raise InputError(errors[0].message, file=str(path))
            blocks.append(columns)
    except SyntaxError as error:
        raise _placed(parse_error(error, str(path)), data, form) from None
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
