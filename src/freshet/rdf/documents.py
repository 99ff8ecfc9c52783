"""Parses documents that a full parser reads, pyoxigraph, within the time that the call has.

A parser holds the thread for as long as it likes: some documents of a few megabytes take minutes. It is given the text
in small pieces, and each of them is an occasion to stop.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import pyoxigraph

from freshet.rdf.deadline import current
from freshet.rdf.errors import InputError
from freshet.rdf.json_nesting import check_json
from freshet.rdf.triple_nesting import TripleNesting, check_xml_triples
from freshet.rdf.xml_entities import check_xml

_MOST_CHECKED = 64 << 20  # bytes of JSON-LD, as much as a body has; larger files of one's own are not read at once


def parse_document(
    source: bytes | BinaryIO, form: pyoxigraph.RdfFormat, file: str, base: str | None = None, *, renaming: bool = False
) -> pyoxigraph.QuadParser:
    """The statements of a document. What parsers cannot cope with is refused before."""
    rest: BinaryIO = io.BytesIO(source) if isinstance(source, bytes) else source
    begun = b""
    if form == pyoxigraph.RdfFormat.RDF_XML:
        begun = rest.read()
        check_xml(begun, file)
        check_xml_triples(begun, file)
    elif form == pyoxigraph.RdfFormat.JSON_LD:
        begun = rest.read(_MOST_CHECKED + 1)
        if len(begun) <= _MOST_CHECKED:
            check_json(begun, file)
    pieces = _Pieces(io.BytesIO(begun), rest, TripleNesting(file))
    return pyoxigraph.parse(cast("BinaryIO", pieces), form, base_iri=base, rename_blank_nodes=renaming)


@contextmanager
def long_terms_refused(file: str) -> Iterator[None]:
    """Within, a term that is longer than parsers take is an error of the document, not of the machine."""
    try:
        yield
    except MemoryError as error:
        if "maximal size" not in str(error):
            raise
        raise InputError("a term is longer than 16 MiB", file=file) from None


class _Pieces(io.RawIOBase):
    """What has been read already, and then the rest. Looks at the deadline and at the triple terms of each piece."""

    def __init__(self, begun: BinaryIO, rest: BinaryIO, nesting: TripleNesting) -> None:
        self._begun = begun
        self._rest = rest
        self._nesting = nesting
        self._deadline = current()

    def read(self, size: int = -1) -> bytes:
        self._deadline.check()
        piece = self._begun.read(size) or self._rest.read(size)
        self._nesting.look(piece)
        return piece
