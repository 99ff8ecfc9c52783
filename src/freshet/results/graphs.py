"""Graphs as N-Triples and Turtle, and quads as N-Quads and TriG (https://www.w3.org/TR/n-triples/ and its siblings)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyoxigraph

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.terms import RDF, XSD, key_text
from freshet.results.report import GraphAnswer
from freshet.results.rows import Frame, each_cell, write_pieces

_PREFIXES = {"rdf": RDF, "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "xsd": XSD}


def write_ntriples(graph: GraphAnswer, dictionary: Dictionary) -> bytes:
    """A line a triple, in the order they have; N-Quads where there are graphs."""
    return b"".join(ntriples_pieces(graph, dictionary))


def ntriples_pieces(graph: GraphAnswer, dictionary: Dictionary) -> Iterator[bytes]:
    """The same, some lines at a time."""
    rows = graph.shown.rows
    return write_pieces(rows, dictionary, each_cell(key_text), statement_frame(rows.shape[1]))


def statement_frame(width: int, end: str = " .\n") -> Frame:
    """What stands around the terms of triples or quads. The default graph has no name."""
    return Frame("", end, "", ("",) * width, separator=" ")


def turtle_pieces(graph: GraphAnswer, dictionary: Dictionary) -> Iterator[bytes]:
    """Triples of one subject together, and of one predicate within them."""
    yield _serialized(graph, dictionary, pyoxigraph.RdfFormat.TURTLE)


def trig_pieces(graph: GraphAnswer, dictionary: Dictionary) -> Iterator[bytes]:
    """https://www.w3.org/TR/trig/: the default graph first."""
    yield _serialized(graph, dictionary, pyoxigraph.RdfFormat.TRIG)


def rdf_xml_pieces(graph: GraphAnswer, dictionary: Dictionary) -> Iterator[bytes]:
    """https://www.w3.org/TR/rdf-syntax-grammar/ A predicate that no XML name can stand for is an error."""
    try:
        yield _serialized(graph, dictionary, pyoxigraph.RdfFormat.RDF_XML)
    except ValueError as error:
        raise InputError(f"the graph cannot be written as RDF/XML: {error}") from None


def json_ld_pieces(graph: GraphAnswer, dictionary: Dictionary) -> Iterator[bytes]:
    """https://www.w3.org/TR/json-ld11/, expanded."""
    try:
        yield _serialized(graph, dictionary, pyoxigraph.RdfFormat.JSON_LD)
    except OSError as error:
        raise InputError(f"the graph cannot be written as JSON-LD: {error}") from None


def _serialized(graph: GraphAnswer, dictionary: Dictionary, form: pyoxigraph.RdfFormat) -> bytes:
    rows = graph.shown.rows
    columns = rows.T[[2, 1, 0, *range(3, rows.shape[1])]]  # by graph, subject, predicate, object
    lines = write_ntriples(GraphAnswer.of_rows(rows[np.lexsort(columns)]), dictionary)
    triples = pyoxigraph.parse(lines, pyoxigraph.RdfFormat.N_QUADS, lenient=True)
    used = {prefix: space for prefix, space in _PREFIXES.items() if space.encode() in lines}
    prefixes = used if form in (pyoxigraph.RdfFormat.TURTLE, pyoxigraph.RdfFormat.TRIG) else {}
    return pyoxigraph.serialize(triples, format=form, prefixes=prefixes) or b""
