"""SPARQL 1.2 Query Results XML Format, https://www.w3.org/TR/sparql12-results-xml/"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import TRIPLE_START, triple_parts
from freshet.results.report import BooleanAnswer, Solutions
from freshet.results.rows import Frame, each_cell, literal_parts, write_pieces

_START = b'<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">'
_ITS = 'xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0"'
_ROLES = ("subject", "predicate", "object")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_pieces(answer: Solutions | BooleanAnswer, dictionary: Dictionary) -> Iterator[bytes]:
    """XML cannot hold some control characters in any form: U+FFFD stands for them."""
    if isinstance(answer, BooleanAnswer):
        yield b"%b<head/><boolean>%b</boolean></sparql>\n" % (_START, b"true" if answer.value else b"false")
        return
    leads = tuple(f"<binding name={quoteattr(name)}>" for name in answer.variables)
    frame = Frame("<result>", "</result>", "", leads)
    head = "".join(f"<variable name={quoteattr(name)}/>" for name in answer.variables)
    yield b"%b<head>%b</head><results>" % (_START, head.encode())
    yield from write_pieces(answer.rows, dictionary, each_cell(_term_element, "</binding>"), frame)
    yield b"</results></sparql>\n"


def _term_element(key: str) -> str:
    if key.startswith(TRIPLE_START):
        terms = zip(_ROLES, map(_term_element, triple_parts(key)), strict=True)
        return f"<triple>{''.join(f'<{role}>{term}</{role}>' for role, term in terms)}</triple>"
    if key.startswith("<"):
        return f"<uri>{_text(key[1:-1])}</uri>"
    if key.startswith("_"):
        return f"<bnode>{_text(key[2:])}</bnode>"
    lexical, suffix = literal_parts(key)
    if not suffix:
        return f"<literal>{_text(lexical)}</literal>"
    if suffix.startswith("@"):
        language, _, direction = suffix[1:].partition("--")
        directed = f" its:dir={quoteattr(direction)} {_ITS}" if direction else ""
        return f"<literal xml:lang={quoteattr(language)}{directed}>{_text(lexical)}</literal>"
    return f"<literal datatype={quoteattr(suffix[3:-1])}>{_text(lexical)}</literal>"


def _text(text: str) -> str:
    # a parser reads a bare carriage return as a line feed
    return escape(_NOT_XML.sub("\ufffd", text), {"\r": "&#13;"})
