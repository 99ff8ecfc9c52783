"""Formats that Freshet writes itself."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest

from freshet.mapper.output_files import rdf_json
from freshet.rdf.errors import UnsupportedError

LINES = """<urn:a> <urn:p> "x" .
<urn:a> <urn:p> "x" .
<urn:a> <urn:p> "de"@de .
<urn:a> <urn:q> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
_:b <urn:p> <urn:a> .
<urn:a> <urn:p> _:b .
"""


def triples(text: str) -> list[ox.Triple]:
    return [quad.triple for quad in ox.parse(text, format=ox.RdfFormat.N_TRIPLES)]


def test_rdf_json() -> None:
    read = triples(LINES)
    blank = f"_:{read[4].subject.value}"
    assert json.loads(rdf_json(read)) == {
        "urn:a": {
            "urn:p": [
                {"type": "literal", "value": "x"},
                {"type": "literal", "value": "de", "lang": "de"},
                {"type": "bnode", "value": blank},
            ],
            "urn:q": [{"type": "literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}],
        },
        blank: {"urn:p": [{"type": "uri", "value": "urn:a"}]},
    }
    assert json.loads(rdf_json([])) == {}


def test_rdf_json_has_no_triple_terms() -> None:
    with pytest.raises(UnsupportedError, match="triple terms in RDF/JSON"):
        rdf_json(triples("<urn:a> <urn:p> <<( <urn:a> <urn:p> <urn:b> )>> ."))
