"""The text of a query: codepoint escapes, and from an offset back to the line and column that a person sees."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TypeVar

from freshet.rdf.deadline import current
from freshet.rdf.errors import FreshetError, QuerySyntaxError, UnsupportedError

Problem = TypeVar("Problem", bound=FreshetError)

_LINE_END = re.compile(r"\r\n|\r|\n")
_SURROGATE = re.compile("[\ud800-\udfff]")
_EXCERPT_WIDTH = 100
_TOKENS_AT_ONCE = (1 << 14) - 1  # between two looks at the deadline

# Escapes in strings and IRIs belong to those tokens and comments stay as they are: only what is left is decoded here.
_ESCAPE_OR_TOKEN = re.compile(
    r'''"""(?:[^"\\]++|\\.|"{1,2}+(?!"))*+"""|\'\'\'(?:[^\'\\]++|\\.|\'{1,2}+(?!\'))*+\'\'\''''
    r"""|"(?:[^"\\\n\r]++|\\.)*+"|'(?:[^'\\\n\r]++|\\.)*+'"""
    r"""|<(?:[^\x00-\x20<>"{}|^`\\]++|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*+>"""
    r"""|\#[^\r\n]*"""
    r"""|\\(?:u(?P<four>[0-9A-Fa-f]{4})|U(?P<eight>[0-9A-Fa-f]{8}))""",
    re.DOTALL,
)


def codepoint(digits: str) -> str | None:
    """The character of a codepoint escape, or None where there is no such character.

    >>> codepoint("0041"), codepoint("D800"), codepoint("00110000")
    ('A', None, None)
    """
    number = int(digits, 16)
    return None if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF else chr(number)


def printable(text: str) -> str:
    """The text with what no terminal can show replaced."""
    return _SURROGATE.sub("\ufffd", text)


class Source:
    """A query as it was written (`text`) and as the lexer reads it (`decoded`), where offsets count."""

    def __init__(self, text: str, file: str | None = None) -> None:
        self.text = text
        self.file = file
        self._decoded_ends: list[int] = []
        self._shifts: list[int] = []
        # A byte order mark is what some editors leave at the start of a file; a blank of the same length keeps offsets.
        plain = " " + text[1:] if text.startswith("\ufeff") else text
        self.decoded = self._decode(plain) if "\\u" in plain or "\\U" in plain else plain

    def _decode(self, text: str) -> str:
        parts: list[str] = []
        copied = length = 0
        deadline = current()
        for count, match in enumerate(_ESCAPE_OR_TOKEN.finditer(text), 1):
            if not count & _TOKENS_AT_ONCE:
                deadline.check()
            digits = match["four"] or match["eight"]
            character = codepoint(digits) if digits else None
            if character is None:
                continue
            parts += [text[copied : match.start()], character]
            length += match.start() - copied + 1
            copied = match.end()
            self._decoded_ends.append(length)
            self._shifts.append(copied - length)
        parts.append(text[copied:])
        return "".join(parts)

    def check_characters(self) -> None:
        """Half a surrogate pair is no character, and nothing past here could write it out again."""
        if match := _SURROGATE.search(self.decoded):
            code = f"U+{ord(match[0]):04X}"
            raise self.error(f"{code} is half of a surrogate pair and no character", match.start())

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1, of an offset in `decoded`."""
        at = self._original_offset(offset)
        ends = [match.end() for match in _LINE_END.finditer(self.text, 0, at)]
        return len(ends) + 1, at - (ends[-1] if ends else 0) + 1

    def excerpt(self, offset: int) -> str:
        """The line of an offset with a caret below it."""
        at = self._original_offset(offset)
        start = max((match.end() for match in _LINE_END.finditer(self.text, 0, at)), default=0)
        following = _LINE_END.search(self.text, at)
        end = following.start() if following else len(self.text)
        first = max(start, at - _EXCERPT_WIDTH // 2)
        line = printable(self.text[first : min(end, first + _EXCERPT_WIDTH)])
        margin = "".join("\t" if character == "\t" else " " for character in self.text[first:at])
        return f"{line}\n{margin}^"

    def error(self, message: str, offset: int, hint: str | None = None) -> QuerySyntaxError:
        """A syntax error at an offset."""
        return self._problem(QuerySyntaxError, message, offset, hint)

    def unsupported(self, message: str, offset: int) -> UnsupportedError:
        """What is understood and refused by name, at an offset."""
        return self._problem(UnsupportedError, message, offset)

    def _problem(self, kind: type[Problem], message: str, offset: int, hint: str | None = None) -> Problem:
        line, column = self.place(offset)
        return kind(
            printable(message),
            file=self.file,
            line=line,
            column=column,
            hint=printable(hint) if hint else None,
            excerpt=self.excerpt(offset),
        )

    def _original_offset(self, offset: int) -> int:
        index = bisect_right(self._decoded_ends, offset) - 1
        return offset + self._shifts[index] if index >= 0 else offset
