"""Graphs as N-Triples and Turtle, https://www.w3.org/TR/n-triples/ and https://www.w3.org/TR/turtle/"""

from __future__ import annotations

import re

import numpy as np
import pyoxigraph

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import RDF, XSD, Iri, Term
from freshet.results.report import GraphAnswer
from freshet.results.rows import Frame, write_rows

_FRAME = Frame("", " .\n", "", ("", "", ""), separator=" ")
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_PREFIXES = {"rdf": RDF, "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "xsd": XSD}


def write_ntriples(graph: GraphAnswer, dictionary: Dictionary) -> bytes:
    """A line a triple, in the order they have."""
    rows = np.column_stack([graph.subjects, graph.predicates, graph.objects])
    return write_rows(rows, dictionary, _term_text, _FRAME)


def write_turtle(graph: GraphAnswer, dictionary: Dictionary) -> bytes:
    """Triples of one subject together, and of one predicate within them."""
    order = np.lexsort((graph.objects, graph.predicates, graph.subjects))
    grouped = GraphAnswer(graph.subjects[order], graph.predicates[order], graph.objects[order])
    lines = write_ntriples(grouped, dictionary)
    triples = pyoxigraph.parse(lines, pyoxigraph.RdfFormat.N_TRIPLES, lenient=True)
    used = {prefix: space for prefix, space in _PREFIXES.items() if space.encode() in lines}
    turtle = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.TURTLE, prefixes=used)
    return turtle or b""


def iri_text(iri: Iri) -> str:
    """An IRI in angle brackets. What cannot stand there, and no IRI should have, is escaped."""
    return f"<{_NOT_IN_IRI.sub(_escape, iri.value)}>"


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04X}"


def _term_text(term: Term) -> str:
    return iri_text(term) if isinstance(term, Iri) else str(term)
