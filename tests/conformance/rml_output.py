"""What test cases of RML expect and what was found, as sets of quads."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pyoxigraph as ox

from conformance.isomorphism import Row
from freshet.rml.mapping_graph import term_of

_FORMATS = {
    ".nq": ox.RdfFormat.N_QUADS,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".ttl": ox.RdfFormat.TURTLE,
    ".n3": ox.RdfFormat.N3,
    ".jsonld": ox.RdfFormat.JSON_LD,
    ".json": ox.RdfFormat.JSON_LD,
    ".rdfxml": ox.RdfFormat.RDF_XML,
}


def quads_in(file: Path) -> set[Row]:
    """The quads of a file, which may be packed, and encoded in UTF-16. IRIs may hold what they should not: the suite
    tests that too."""
    data, suffix = _unpacked(file)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16").encode()
    parsed = ox.parse(data, format=_FORMATS[suffix], lenient=True)
    return {
        (
            term_of(quad.subject),
            term_of(quad.predicate),
            term_of(quad.object),
            None if isinstance(quad.graph_name, ox.DefaultGraph) else term_of(quad.graph_name),
        )
        for quad in parsed
    }


def _unpacked(file: Path) -> tuple[bytes, str]:
    suffixes = file.suffixes
    data = file.read_bytes()
    if suffixes[-1] == ".zip":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(archive.namelist()[0]), suffixes[-2]
    if ".tar" in suffixes:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            member = archive.extractfile(archive.getmembers()[0])
            assert member is not None
            return member.read(), suffixes[-3]
    if suffixes[-1] == ".gz":
        return gzip.decompress(data), suffixes[-2]
    return data, suffixes[-1]
