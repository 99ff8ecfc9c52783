"""SPARQL Query Results XML Format (Second Edition), https://www.w3.org/TR/rdf-sparql-XMLres/"""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import XSD_STRING, BlankNode, Iri, Literal, Term
from freshet.results.report import BooleanAnswer, Solutions
from freshet.results.rows import Frame, write_rows

_START = b'<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">'
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_xml(answer: Solutions | BooleanAnswer, dictionary: Dictionary) -> bytes:
    """XML cannot hold some control characters in any form: U+FFFD stands for them."""
    if isinstance(answer, BooleanAnswer):
        return b"%b<head/><boolean>%b</boolean></sparql>\n" % (_START, b"true" if answer.value else b"false")
    leads = tuple(f"<binding name={quoteattr(name)}>" for name in answer.variables)
    frame = Frame("<result>", "</result>", "", leads, cell_end="</binding>")
    head = "".join(f"<variable name={quoteattr(name)}/>" for name in answer.variables)
    return b"%b<head>%b</head><results>%b</results></sparql>\n" % (
        _START,
        head.encode(),
        write_rows(answer.rows, dictionary, _term_element, frame),
    )


def _term_element(term: Term) -> str:
    match term:
        case Iri(value):
            return f"<uri>{_text(value)}</uri>"
        case BlankNode(label):
            return f"<bnode>{_text(label)}</bnode>"
        case Literal(lexical, _, str() as language):
            return f"<literal xml:lang={quoteattr(language)}>{_text(lexical)}</literal>"
        case Literal(lexical, datatype, _):
            attribute = "" if datatype == XSD_STRING else f" datatype={quoteattr(datatype.value)}"
            return f"<literal{attribute}>{_text(lexical)}</literal>"


def _text(text: str) -> str:
    # a parser reads a bare carriage return as a line feed
    return escape(_NOT_XML.sub("\ufffd", text), {"\r": "&#13;"})
