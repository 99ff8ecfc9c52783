"""SPARQL 1.1 Query Results JSON Format, https://www.w3.org/TR/sparql11-results-json/"""

from __future__ import annotations

import numpy as np
import orjson
from numpy.typing import NDArray

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import XSD_STRING, BlankNode, Iri, Literal, Term
from freshet.results.report import Solutions
from freshet.results.rows import Frame, write_rows


def write_json(solutions: Solutions, dictionary: Dictionary) -> bytes:
    head = orjson.dumps({"vars": solutions.variables})
    bindings = write_bindings(solutions.variables, solutions.rows, dictionary)
    return b'{"head":%b,"results":{"bindings":%b}}\n' % (head, bindings)


def write_bindings(variables: tuple[str, ...], rows: NDArray[np.int64], dictionary: Dictionary) -> bytes:
    """The JSON array of the solutions; an unbound variable is left out of its object."""
    leads = tuple(f"{orjson.dumps(name).decode()}:" for name in variables)
    frame = Frame("{", "}", ",", leads, separator=",")
    return b"[%b]" % write_rows(rows, dictionary, _term_object, frame)


def _term_object(term: Term) -> str:
    match term:
        case Iri(value):
            members = {"type": "uri", "value": value}
        case BlankNode(label):
            members = {"type": "bnode", "value": label}
        case Literal(lexical, _, str() as language):
            members = {"type": "literal", "value": lexical, "xml:lang": language}
        case Literal(lexical, datatype, _):
            members = {"type": "literal", "value": lexical}
            if datatype != XSD_STRING:
                members["datatype"] = datatype.value
    return orjson.dumps(members).decode()
