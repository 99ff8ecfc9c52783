"""What test cases of RML expect and what was found, as sets of quads."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from conformance.isomorphism import Row
from freshet.rdf.terms import BlankNode, Iri, Term
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
    quads = _rdf_json(data) if suffix == ".rdfjson" else ox.parse(data, format=_FORMATS[suffix], lenient=True)
    return {row for quad in quads for row in _rows(quad)}


def _rdf_json(data: bytes) -> Iterator[ox.Quad]:
    """The triples of RDF/JSON, in which all values are texts."""
    for subject, predicates in json.loads(data).items():
        for predicate, values in predicates.items():
            for value in values:
                assert isinstance(value["value"], str), f"no RDF/JSON: {value}"
                yield ox.Quad(_resource(subject), ox.NamedNode(predicate), _value(value))


def _value(value: dict[str, str]) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    if value["type"] != "literal":
        return _resource(value["value"])
    datatype = ox.NamedNode(value["datatype"]) if "datatype" in value else None
    return ox.Literal(value["value"], datatype=datatype, language=value.get("lang"))


def _resource(text: str) -> ox.NamedNode | ox.BlankNode:
    return ox.BlankNode(text.removeprefix("_:")) if text.startswith("_:") else ox.NamedNode(text)


def _rows(quad: ox.Quad) -> Iterator[Row]:
    """A quad as a row. A triple term is a node with three rows of its own, so that blank nodes in it count."""
    graph = None if isinstance(quad.graph_name, ox.DefaultGraph) else term_of(quad.graph_name)
    yield term_of(quad.subject), term_of(quad.predicate), _node(quad.object), graph
    if isinstance(quad.object, ox.Triple):
        yield from _inside(quad.object)


def _inside(triple: ox.Triple) -> Iterator[Row]:
    for place in ("subject", "predicate", "object"):
        yield _node(triple), Iri(f"urn:triple:{place}"), _node(getattr(triple, place)), None
    if isinstance(triple.object, ox.Triple):
        yield from _inside(triple.object)


def _node(value: Any) -> Term:
    if isinstance(value, ox.Triple):
        return BlankNode(f"t{hashlib.md5(str(value).encode()).hexdigest()}")
    return term_of(value)


_TOKEN = re.compile(r'<<|>>|<[^<>]*>|_:\w+|"(?:[^"\\]|\\.)*"(?:\^\^<[^>]*>|@[\w-]+)?|\.')


def as_triple_terms(star: str) -> str:
    """N-Triples with quoted triples of RDF-star as RDF 1.2 has them: triple terms, and as subjects reifiers."""
    tokens = _TOKEN.findall(star)
    lines: list[str] = []

    def term(subject: bool) -> str:
        token = tokens.pop(0)
        if token != "<<":
            return token
        triple = f"<<( {term(True)} {term(False)} {term(False)} )>>"
        assert tokens.pop(0) == ">>"
        if not subject:
            return triple
        node = f"_:q{hashlib.md5(triple.encode()).hexdigest()}"
        lines.append(f"{node} <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> {triple} .")
        return node

    while tokens:
        lines.append(f"{term(True)} {term(False)} {term(False)} .")
        assert tokens.pop(0) == "."
    return "\n".join(lines) + "\n"


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
