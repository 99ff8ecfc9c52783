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
from freshet.rdf.xml_entities import check_xml


def parse_document(
    source: bytes | BinaryIO, form: pyoxigraph.RdfFormat, file: str, base: str | None = None, *, renaming: bool = False
) -> pyoxigraph.QuadParser:
    """The statements of a document. What parsers cannot cope with is refused before."""
    check = {pyoxigraph.RdfFormat.RDF_XML: check_xml, pyoxigraph.RdfFormat.JSON_LD: check_json}.get(form)
    if check is not None:
        source = source if isinstance(source, bytes) else source.read()
        check(source, file)
    pieces = _Pieces(io.BytesIO(source) if isinstance(source, bytes) else source)
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
    """Looks at the deadline before each piece."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._deadline = current()

    def read(self, size: int = -1) -> bytes:
        self._deadline.check()
        return self._source.read(size)
