"""Reads the lines of N-Triples, N-Quads and timed N-Triples that the scanner leaves to a full parser, pyoxigraph."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import pyoxigraph

from freshet.rdf.documents import long_terms_refused
from freshet.rdf.elements import FURTHEST_MS
from freshet.rdf.errors import InputError
from freshet.rdf.oxigraph import parse_error, parsed_key
from freshet.rdf.triple_nesting import TripleNesting

_TIMED = re.compile(rb"(-?)0*([0-9]+)\t(-[ \t]+)?")
NO_DELETIONS = (
    "a line that begins with - after its time deletes a statement, and the stream was not declared to retract"
)
_MOST_TIME_DIGITS = len(str(FURTHEST_MS))


class ParsedStatement(NamedTuple):
    """A statement on a line (counted from 0). The graph's key is None for the default graph."""

    line: int
    time_ms: int
    keys: tuple[str, str, str, str | None]
    deletes: bool = False


@dataclass(frozen=True, slots=True)
class LineParser:
    """What the lines of one file have in common. Errors count lines from `first_line`.

    With `deletions`, a minus sign between the time and the statement says that it is deleted.
    """

    file: str
    first_line: int
    blank_scope: str
    timed: bool
    quads: bool
    deletions: bool = False

    def parse(self, lines: list[int], texts: list[bytes]) -> tuple[list[ParsedStatement], list[InputError]]:
        """The statements of the lines, and an error for each bad one."""
        together = self._parse_together(lines, texts)
        if together is not None:
            return together, []
        statements: list[ParsedStatement] = []
        errors: list[InputError] = []
        for line, text in zip(lines, texts, strict=True):
            try:
                statements += self._parse_line(line, text)
            except InputError as error:
                errors.append(error)
        return statements, errors

    @property
    def _form(self) -> pyoxigraph.RdfFormat:
        return pyoxigraph.RdfFormat.N_QUADS if self.quads else pyoxigraph.RdfFormat.N_TRIPLES

    def _parse_together(self, lines: list[int], texts: list[bytes]) -> list[ParsedStatement] | None:
        """The statements where all lines are good and have one each, else None. Saves starting a parser a line."""
        times, deletes = [0] * len(lines), [False] * len(lines)
        if self.timed:
            matches = [_TIMED.match(text) for text in texts]
            whole = [match for match in matches if match]
            times = [time_ms for match in whole if (time_ms := _time_ms(match)) is not None]
            if len(times) < len(texts):
                return None
            deletes = [match[3] is not None for match in whole]
            if any(deletes) and not self.deletions:
                return None
            texts = [text[match.end() :] for match, text in zip(whole, texts, strict=True)]
        if any(b"\n" in text or b"\r" in text[:-1] for text in texts):
            return None
        together = b"\n".join(texts)
        try:
            TripleNesting(self.file).look(together)
            quads = list(pyoxigraph.parse(together, self._form))
            if len(quads) != len(lines):
                return None
            return [self._statement(*row) for row in zip(lines, times, quads, deletes, strict=True)]
        except (SyntaxError, InputError, MemoryError):
            return None

    def _parse_line(self, line: int, text: bytes) -> list[ParsedStatement]:
        number, time_ms, prefix, deletes = self.first_line + line, 0, 0, False
        if self.timed:
            match = _TIMED.match(text)
            if not match:
                raise self._error("a line must be `milliseconds TAB statement`", number, 1)
            read_ms, prefix = _time_ms(match), match.end()
            if read_ms is None:
                raise self._error("the time is out of range: at most 2^61 ms before or after 1970", number, 1)
            if match[3] is not None and not self.deletions:
                raise self._error(NO_DELETIONS, number, match.start(3) + 1)
            time_ms, deletes = read_ms, match[3] is not None
        try:
            TripleNesting(self.file).look(text)
            with long_terms_refused(self.file):
                quads = list(pyoxigraph.parse(text[prefix:], self._form))
            statements = [self._statement(line, time_ms, quad, deletes) for quad in quads]
        except SyntaxError as error:
            raise parse_error(error, self.file, line=number, column_offset=prefix) from None
        except InputError as error:
            raise self._error(error.message, number, prefix + 1) from None
        if self.timed and len(statements) != 1:
            raise self._error("one statement must follow the time", number, prefix + 1)
        return statements

    def _statement(self, line: int, time_ms: int, quad: pyoxigraph.Quad, deletes: bool) -> ParsedStatement:
        scope = self.blank_scope
        default = isinstance(quad.graph_name, pyoxigraph.DefaultGraph)
        return ParsedStatement(
            line,
            time_ms,
            (
                parsed_key(quad.subject, scope),
                parsed_key(quad.predicate, scope),
                parsed_key(quad.object, scope),
                None if default else parsed_key(quad.graph_name, scope),
            ),
            deletes,
        )

    def _error(self, message: str, line: int, column: int) -> InputError:
        return InputError(message, file=self.file, line=line, column=column)


def _time_ms(written: re.Match[bytes]) -> int | None:
    """The time, None where it is out of range. The scanner's kernel leaves all such times to this parser."""
    sign, digits = written[1], written[2]
    if len(digits) > _MOST_TIME_DIGITS:
        return None
    time_ms = int(sign + digits)
    return time_ms if abs(time_ms) <= FURTHEST_MS else None
