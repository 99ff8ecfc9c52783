"""RDF messages: documents that are each one message, and logs of several (https://w3c-cg.github.io/rsp/spec/messages).

A log in N-Triples, N-Quads, Turtle or TriG begins with `VERSION "1.2-messages"`, and has `MESSAGE` between messages. In
JSON-LD, each line may be a message. A transaction of an RDF Patch is one as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyoxigraph
from numpy.typing import NDArray

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.documents import long_terms_refused, parse_document
from freshet.rdf.errors import InputError
from freshet.rdf.formats import FORMATS, N3_HINT, is_line_format
from freshet.rdf.ntriples import scan_statements
from freshet.rdf.patches import PATCH, patch_statements
from freshet.rdf.reading import Quads, document_error, parse_rdf, scan_nquads

JSON_LINES = "jsonld-lines"
MESSAGE_FORMATS = (*FORMATS, JSON_LINES, PATCH)
"""What messages may be written in."""

_LOG = re.compile(
    rb"(?:\s|#[^\n]*\n)*(?:(?i:VERSION)\s+|(?P<directive>@version)\s+)"
    rb"(?P<label>\"[^\"\n]*-messages\"|'[^'\n]*-messages')(?(directive)\s*\.)"
)
# The tokens of Turtle that may hold the word, and the word where it stands for itself.
_DELIMITER = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""|' + rb"'''(?:[^'\\]|\\.|'(?!''))*'''|"
    rb'"(?:[^"\\\n]|\\.)*"|' + rb"'(?:[^'\\\n]|\\.)*'|"
    rb"<[^<>\s]*>|#[^\n]*|(?P<cut>(?<![\w:@%.-])(?:(?i:MESSAGE)(?![\w:.-])|@message\s*\.))",
    re.DOTALL,
)


class Messages(NamedTuple):
    """Statements, and of which message each is, counted from 0. `ordered`: whether messages are in order of arrival.

    The predicates of statements that are deleted are negative.
    """

    quads: Quads
    numbers: NDArray[np.int64]
    ordered: bool


class _Piece(NamedTuple):
    """The text of one message, and how many lines stand before it."""

    text: bytes
    lines_before: int


@dataclass(frozen=True, slots=True)
class MessageReader:
    """Reads messages. Blank nodes have the scope that is given; in a log, labels belong to their message."""

    dictionary: Dictionary
    blank_scope: str
    file: str
    deletions: bool = False  # whether a patch may delete

    def read(self, text: bytes, form: str | None) -> Messages:
        """The messages of a text in one of `MESSAGE_FORMATS`; without one in N-Triples, N-Quads or Turtle."""
        try:
            return self._read(text, form)
        except InputError as error:
            if form == "n3":
                error.hint = N3_HINT
            raise

    def _read(self, text: bytes, form: str | None) -> Messages:
        if form == PATCH:
            patch = patch_statements(text, self.file, deletions=self.deletions)
            quads = self._lines(patch.text)
            signed = np.where(patch.deletes, -quads.predicates, quads.predicates)
            return Messages(quads._replace(predicates=signed), patch.transactions, ordered=True)
        if form == JSON_LINES:
            return self._parse(_json_lines(text), pyoxigraph.RdfFormat.JSON_LD, renaming=False)
        if form is None:  # of two readings the one that comes further is what was meant
            try:
                return self._read(text, "nq")
            except InputError as error:
                try:
                    return self._read(text, "trig" if _LOG.match(text) else "ttl")
                except InputError as other:
                    raise max(error, other, key=lambda one: (one.line or 0, one.column or 0)) from None
        parsed_as = FORMATS[form].parsed_as
        if form not in ("jsonld", "rdfxml") and (log := _LOG.match(text)) is not None:
            return self._parse(_log_pieces(text, log.end()), parsed_as, renaming=True)
        if is_line_format(parsed_as):
            quads = self._lines(text)
        else:
            quads = parse_rdf(text, parsed_as, self.dictionary, self.file, blank_scope=self.blank_scope)
        return Messages(quads, np.zeros(len(quads.graphs), np.int64), ordered=False)

    def _lines(self, text: bytes) -> Quads:
        columns, errors = scan_statements(text, self.dictionary, self.file, quads=True, blank_scope=self.blank_scope)
        if errors:
            raise errors[0]
        return Quads(*columns)

    def _parse(self, pieces: Iterable[_Piece], form: pyoxigraph.RdfFormat, *, renaming: bool) -> Messages:
        """One N-Quads text of all messages, which is scanned at once. Prefixes of a message hold for those after it."""
        made, counts = [], []
        prefixes: dict[str, str] = {}
        base: str | None = None
        for text, lines_before in pieces:
            head = b"".join(b"@prefix %b: <%b> ." % (each.encode(), prefixes[each].encode()) for each in prefixes)
            try:
                # A line for the prefixes of messages before: columns in errors are those of the file.
                given = text if is_line_format(form) else head + b"\n" + text
                with long_terms_refused(self.file):
                    parser = parse_document(given, form, self.file, base, renaming=renaming)
                    statements = pyoxigraph.serialize(parser, format=pyoxigraph.RdfFormat.N_QUADS)
                assert statements is not None
            except SyntaxError as error:
                found = document_error(error, form, self.file)
                if found.line is not None:
                    found.line += lines_before - (not is_line_format(form))
                raise found from None
            prefixes, base = parser.prefixes, parser.base_iri
            made.append(statements)
            counts.append(statements.count(b"\n"))
        columns = scan_nquads(b"".join(made), self.dictionary, self.file, self.blank_scope)
        return Messages(Quads(*columns), np.repeat(np.arange(len(counts)), counts), ordered=True)


def _json_lines(text: bytes) -> Iterator[_Piece]:
    for number, line in enumerate(text.split(b"\n")):
        if line.strip():
            yield _Piece(line, number)


def _log_pieces(text: bytes, start: int) -> Iterator[_Piece]:
    """The messages of a log. A delimiter at its end makes no message after it."""
    lines = text.count(b"\n", 0, start)
    for found in _DELIMITER.finditer(text, start):
        if found["cut"] is not None:
            yield _Piece(text[start : found.start()], lines)
            lines += text.count(b"\n", start, found.end())
            start = found.end()
    rest = text[start:]
    if rest.strip():
        yield _Piece(rest, lines)
