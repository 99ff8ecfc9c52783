"""Reads the lines of N-Triples, N-Quads and timed N-Triples that the scanner leaves to a full parser, pyoxigraph."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import pyoxigraph

from freshet.rdf.errors import InputError
from freshet.rdf.oxigraph import parse_error, parsed_key

_TIMED = re.compile(rb"(-?[0-9]+)\t")
_LEAST_TIME, _GREATEST_TIME = -(2**63), 2**63 - 1


class ParsedStatement(NamedTuple):
    """A statement on a line (counted from 0). The graph's key is None for the default graph."""

    line: int
    time_ms: int
    keys: tuple[str, str, str, str | None]


@dataclass(frozen=True, slots=True)
class LineParser:
    """What the lines of one file have in common. Errors count lines from `first_line`."""

    file: str
    first_line: int
    blank_scope: str
    timed: bool
    quads: bool

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
        times = [0] * len(lines)
        if self.timed:
            matches = [_TIMED.match(text) for text in texts]
            whole = [match for match in matches if match]
            if len(whole) < len(texts):
                return None
            times = [int(match[1]) for match in whole]
            texts = [text[match.end() :] for match, text in zip(whole, texts, strict=True)]
            if not _LEAST_TIME <= min(times) <= max(times) <= _GREATEST_TIME:
                return None
        if any(b"\n" in text or b"\r" in text[:-1] for text in texts):
            return None
        try:
            quads = list(pyoxigraph.parse(b"\n".join(texts), self._form))
            if len(quads) != len(lines):
                return None
            return [self._statement(*row) for row in zip(lines, times, quads, strict=True)]
        except (SyntaxError, InputError):
            return None

    def _parse_line(self, line: int, text: bytes) -> list[ParsedStatement]:
        number, time_ms, prefix = self.first_line + line, 0, 0
        if self.timed:
            match = _TIMED.match(text)
            if not match:
                raise self._error("a line must be `milliseconds TAB statement`", number, 1)
            time_ms, prefix = int(match[1]), match.end()
            if not _LEAST_TIME <= time_ms <= _GREATEST_TIME:
                raise self._error("the time does not fit in 64 bits", number, 1)
        try:
            quads = list(pyoxigraph.parse(text[prefix:], self._form))
            statements = [self._statement(line, time_ms, quad) for quad in quads]
        except SyntaxError as error:
            raise parse_error(error, self.file, line=number, column_offset=prefix) from None
        except InputError as error:
            raise self._error(error.message, number, prefix + 1) from None
        if self.timed and len(statements) != 1:
            raise self._error("one statement must follow the time", number, prefix + 1)
        return statements

    def _statement(self, line: int, time_ms: int, quad: pyoxigraph.Quad) -> ParsedStatement:
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
        )

    def _error(self, message: str, line: int, column: int) -> InputError:
        return InputError(message, file=self.file, line=line, column=column)
