"""Nesting of triple terms in RDF documents: how deep it is, before a parser goes there.

Parsers copy and free a term within a term by recursion: thousands of levels leave the stack, and the process ends.
"""

from __future__ import annotations

import re
from xml.parsers import expat

from freshet.rdf.errors import InputError
from freshet.rdf.terms import TOO_NESTED

DEEPEST = 1_000
"""The most levels that a parser is given. The limit on terms, `MOST_NESTED`, is checked when their keys are made."""

_GAP = rb"(?:\s|#[^\r\n]*+)*+"
_ROW = re.compile(rb"(?:\)>>" + _GAP + rb")+")
_REST = re.compile(_GAP + rb"(?:\)>>" + _GAP + rb")*")
_END, _LINE_ENDS = b")>>", (b"\n", b"\r")
_PARSE_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns# parseType"
_HIDDEN = (b"&#", b"<!DOCTYPE", b"\xff\xfe", b"\xfe\xff")  # with any of these the word "Triple" may not be in the bytes


class TripleNesting:
    """Looks at a document of Turtle's family, piece by piece.

    Only the object of a triple term can be a triple term, so that the ends of nested ones stand in a row.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._ends = 0  # of a row that may go on in the next piece
        self._in_comment = False
        self._begun = b""  # an end that a piece has cut

    def look(self, piece: bytes) -> None:
        """Refuse a document with too many triple terms within one another."""
        text, at = self._begun + piece, 0
        self._begun = next((begun for begun in (b")>", b")") if text.endswith(begun)), b"")
        stop = len(text) - len(self._begun)
        if self._in_comment:
            at = min((place for end in _LINE_ENDS if (place := text.find(end, 0, stop)) >= 0), default=stop)
        if self._ends and at < stop:
            rest = _REST.match(text, at, stop)
            assert rest is not None
            at = self._count(rest, self._ends, stop)
        if _END in text:
            for row in _ROW.finditer(text, at, stop):
                self._count(row, 0, stop)

    def _count(self, row: re.Match[bytes], before: int, stop: int) -> int:
        ends, found = before + row[0].count(_END), row[0]
        if ends > DEEPEST:
            raise InputError(TOO_NESTED, file=self._file)
        last_line = found[max(map(found.rfind, _LINE_ENDS)) + 1 :]
        self._ends, self._in_comment = (ends, b"#" in last_line) if row.end() == stop else (0, False)
        return row.end()


def check_xml_triples(data: bytes, file: str) -> None:
    """Refuse RDF/XML with too many triple terms (`rdf:parseType="Triple"`) within one another."""
    if data.count(b"Triple") <= DEEPEST and not any(each in data for each in _HIDDEN):
        return
    open_elements: list[bool] = []
    depth = 0

    def start(_: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        open_elements.append(attributes.get(_PARSE_TYPE) == "Triple")
        depth += open_elements[-1]
        if depth > DEEPEST:
            raise InputError(TOO_NESTED, file=file)

    def end(_: str) -> None:
        nonlocal depth
        depth -= open_elements.pop()

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(expat.ErrorString(error.code), file=file, line=error.lineno, column=error.offset + 1) from None
