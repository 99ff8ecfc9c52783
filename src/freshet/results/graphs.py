"""Graphs as N-Triples and Turtle, https://www.w3.org/TR/n-triples/ and https://www.w3.org/TR/turtle/"""

from __future__ import annotations

import re

import numpy as np
import pyoxigraph

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import RDF, XSD
from freshet.results.report import GraphAnswer
from freshet.results.rows import Frame, each_cell, literal_parts, write_rows

_FRAME = Frame("", " .\n", "", ("", "", ""), separator=" ")
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_NEEDS_ESCAPES = re.compile(r'["\\\t\n\r]')
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_PREFIXES = {"rdf": RDF, "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "xsd": XSD}


def write_ntriples(graph: GraphAnswer, dictionary: Dictionary) -> bytes:
    """A line a triple, in the order they have."""
    rows = np.column_stack([graph.subjects, graph.predicates, graph.objects])
    return write_rows(rows, dictionary, each_cell(term_text), _FRAME)


def write_turtle(graph: GraphAnswer, dictionary: Dictionary) -> bytes:
    """Triples of one subject together, and of one predicate within them."""
    order = np.lexsort((graph.objects, graph.predicates, graph.subjects))
    grouped = GraphAnswer(graph.subjects[order], graph.predicates[order], graph.objects[order])
    lines = write_ntriples(grouped, dictionary)
    triples = pyoxigraph.parse(lines, pyoxigraph.RdfFormat.N_TRIPLES, lenient=True)
    used = {prefix: space for prefix, space in _PREFIXES.items() if space.encode() in lines}
    turtle = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.TURTLE, prefixes=used)
    return turtle or b""


def term_text(key: str) -> str:
    """A term as N-Triples writes it. What cannot stand in an IRI, and none should have, is escaped."""
    if key.startswith("<"):
        return f"<{_NOT_IN_IRI.sub(_escape, key[1:-1])}>"
    if key.startswith("_"):
        return key
    lexical, suffix = literal_parts(key)
    if _NEEDS_ESCAPES.search(lexical):
        lexical = lexical.translate(_ESCAPES)
    return f'"{lexical}"{suffix}'


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04X}"
