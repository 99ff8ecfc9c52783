r"""Regular expressions of XPath 2.0 (7.6.1 of its functions) in the words of Python's `re`.

What differs: `$` is the very end, `\s` four characters, `\i \c \p{..}` and `[a-z-[aeiou]]` are unknown to Python; look
around and inline flags are unknown to XPath. Taken beyond XPath 2.0, as other engines do: `(?:..)`, `\b`, `\B` and the
flag q; `\w` is Python's.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache
from itertools import groupby

FLAGS = frozenset("smixq")

_MOST_DIGITS = 9  # of the number of a group
_QUANTIFIER = re.compile(r"[?*+]|\{[0-9]+(?:,[0-9]*)?\}")
_PROPERTY = re.compile(r"\{([A-Za-z0-9-]+)\}")
_DIGITS = re.compile(r"[1-9][0-9]*")
_SPACES = " \t\n\r"
_PLAIN_ESCAPES = frozenset("\\|.?*+(){}-[]^$")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_SPACE_CLASS = r" \t\n\r"
_NAME_START = (
    r":A-Z_a-z\xC0-\xD6\xD8-\xF6\xF8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C-\u200D\u2070-\u218F\u2C00-\u2FEF"
    r"\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF"
)
_NAME_REST = r"\-.0-9\xB7\u0300-\u036F\u203F-\u2040"
_CLASSES = {"s": _SPACE_CLASS, "i": _NAME_START, "c": _NAME_START + _NAME_REST, "d": r"\d", "w": r"\w"}
_BLOCKS = {
    "BasicLatin": (0x0000, 0x007F),
    "Latin-1Supplement": (0x0080, 0x00FF),
    "LatinExtended-A": (0x0100, 0x017F),
    "LatinExtended-B": (0x0180, 0x024F),
    "Greek": (0x0370, 0x03FF),
    "GreekandCoptic": (0x0370, 0x03FF),
    "Cyrillic": (0x0400, 0x04FF),
    "Armenian": (0x0530, 0x058F),
    "Hebrew": (0x0590, 0x05FF),
    "Arabic": (0x0600, 0x06FF),
    "Devanagari": (0x0900, 0x097F),
    "Thai": (0x0E00, 0x0E7F),
    "GeneralPunctuation": (0x2000, 0x206F),
    "CurrencySymbols": (0x20A0, 0x20CF),
    "MathematicalOperators": (0x2200, 0x22FF),
    "Hiragana": (0x3040, 0x309F),
    "Katakana": (0x30A0, 0x30FF),
    "CJKUnifiedIdeographs": (0x4E00, 0x9FFF),
    "HangulSyllables": (0xAC00, 0xD7A3),
}


class RegexError(ValueError):
    """Not a regular expression of XPath."""


def translate(pattern: str, flags: str = "") -> str:
    r"""The pattern for Python; the flags s, m, x and q are worked into it.

    >>> translate("a$", ""), translate("[a-z-[aeiou]]", ""), translate("a b", "x")
    ('a\\Z', '(?:(?![aeiou])[a-z])', 'ab')
    """
    return "".join(pieces(pattern, flags))


def pieces(pattern: str, flags: str = "") -> list[str]:
    r"""What `translate` puts together: parentheses, bars, quantifiers, and what stands for one character or none.

    >>> pieces("(a|b)*?c", "")
    ['(', 'a', '|', 'b', ')', '*?', 'c']
    """
    return [_escaped(character) for character in pattern] if "q" in flags else _Translation(pattern, flags).translate()


@cache
def _category(name: str) -> str:
    """The inside of a character class for a general category such as `Lu` or `L`."""
    if name.startswith("Is"):
        if name[2:] not in _BLOCKS:
            raise RegexError(f"unknown block {name}")
        first, last = _BLOCKS[name[2:]]
        return f"{_escaped(chr(first))}-{_escaped(chr(last))}"
    members = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith(name)]
    if not members or len(name) > 2:
        raise RegexError(f"unknown category {name}")
    runs = [list(run) for _, run in groupby(enumerate(members), lambda pair: pair[1] - pair[0])]
    return "".join(f"{_escaped(chr(run[0][1]))}-{_escaped(chr(run[-1][1]))}" for run in runs)


def _escaped(character: str) -> str:
    """A character inside or outside of a class, as itself."""
    code = ord(character)
    if character.isalnum() and code < 128:
        return character
    return f"\\x{code:02x}" if code < 256 else f"\\U{code:08x}"


class _Translation:
    """One pattern, read from left to right."""

    def __init__(self, pattern: str, flags: str) -> None:
        self._text = pattern
        self._at = 0
        self._dot = r"(?s:.)" if "s" in flags else r"[^\n]"
        # a line does not begin behind a newline that ends the text
        self._start = r"(?:\A|(?<=\n)(?!\Z))" if "m" in flags else r"\A"
        self._end = r"(?=\n|\Z)" if "m" in flags else r"\Z"
        self._free = "x" in flags
        self._groups = 0  # closed ones, which may be referred to
        self._open: list[bool] = []  # whether each open parenthesis makes a group

    def translate(self) -> list[str]:
        out: list[str] = []
        quantifiable = False
        while self._at < len(self._text):
            character = self._text[self._at]
            if self._free and character in _SPACES:
                self._at += 1
                continue
            if character in "?*+{":
                if not quantifiable:
                    raise RegexError(f"{character} has nothing to repeat")
                out.append(self._quantifier())
                quantifiable = False
                continue
            piece = self._piece(character)
            quantifiable = character not in "(|"
            out.append(piece)
        if self._open:
            raise RegexError("a parenthesis is not closed")
        return out

    def _quantifier(self) -> str:
        match = _QUANTIFIER.match(self._text, self._at)
        if match is None:
            raise RegexError("not a quantifier")
        self._at = match.end()
        self._skip_spaces()
        lazy = self._text.startswith("?", self._at)
        self._at += lazy
        return match[0] + "?" * lazy

    def _skip_spaces(self) -> None:
        while self._free and self._at < len(self._text) and self._text[self._at] in _SPACES:
            self._at += 1

    def _piece(self, character: str) -> str:
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        self._at += 1
        match character:
            case "(":
                return self._open_group()
            case ")":
                return self._close_group()
            case "^":
                return self._start
            case "$":
                return self._end
            case ".":
                return self._dot
            case "|":
                return "|"
            case "]" | "}":
                raise RegexError(f"{character} closes nothing")
        return _escaped(character)

    def _open_group(self) -> str:
        plain = self._text.startswith("?:", self._at)
        if self._text.startswith("?", self._at) and not plain:
            raise RegexError("only (?: may follow a parenthesis")
        self._at += 2 * plain
        self._open.append(not plain)
        return "(?:" if plain else "("

    def _close_group(self) -> str:
        if not self._open:
            raise RegexError("a parenthesis closes nothing")
        self._groups += self._open.pop()
        return ")"

    def _escape(self) -> str:
        digits = _DIGITS.match(self._text, self._at + 1)
        if digits is not None:
            return self._reference(digits[0])
        letter = self._text[self._at + 1 : self._at + 2]
        if letter and letter in "bB":
            self._at += 2
            # versions of Python differ in whether \B is in an empty text: it is not
            return r"\b" if letter == "b" else r"(?:(?!\A\Z)\B)"
        inside, negated = self._class_escape()
        return f"[{'^' * negated}{inside}]"

    def _reference(self, digits: str) -> str:
        length = min(len(digits), _MOST_DIGITS)
        while length > 1 and int(digits[:length]) > self._groups:
            length -= 1
        if int(digits[:length]) > self._groups:
            raise RegexError("a reference to a group that is not there")
        self._at += 1 + length
        return f"(?:\\{digits[:length]})"

    def _class_escape(self) -> tuple[str, bool]:
        """What an escape stands for inside a class, and whether it is everything else."""
        letter = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        if letter in _CONTROLS:
            return _escaped(_CONTROLS[letter]), False
        if letter and letter in _PLAIN_ESCAPES:
            return _escaped(letter), False
        if letter.lower() in _CLASSES:
            return _CLASSES[letter.lower()], letter.isupper()
        if letter and letter in "pP" and (name := _PROPERTY.match(self._text, self._at)):
            self._at = name.end()
            return _category(name[1]), letter == "P"
        raise RegexError(f"unknown escape \\{letter}")

    def _class(self) -> str:
        """A character class, perhaps with another to be subtracted."""
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        parts: list[str] = []  # each matches one character
        members: list[str] = []
        subtracted = ""
        while not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise RegexError("a character class is not closed")
            if self._text.startswith("-[", self._at):
                self._at += 1
                subtracted = f"(?!{self._class()})"
                if not self._text.startswith("]", self._at):
                    raise RegexError("a subtracted class ends a class")
                break
            if self._free and self._text[self._at] in _SPACES:  # white space means itself in a class
                members.append(_escaped(self._text[self._at]))
                self._at += 1
                continue
            self._member(members, parts)
        self._at += 1
        if not members and not parts:
            raise RegexError("an empty character class")
        if members:
            parts.append(f"[{''.join(members)}]")
        if negated:
            lookahead = "".join(f"(?!{part})" for part in parts)
            single = len(parts) == 1 and members
            whole = f"[^{''.join(members)}]" if single else rf"(?:{lookahead}(?s:.))"
        else:
            # a character that is in several parts is not to be tried in each
            whole = parts[0] if len(parts) == 1 else f"(?:(?={'|'.join(parts)})(?s:.))"
        return f"(?:{subtracted}{whole})" if subtracted else whole

    def _member(self, members: list[str], parts: list[str]) -> None:
        first, single = self._character(members, parts)
        if not single:
            return
        dash = self._text.startswith("-", self._at)
        if not dash or self._text[self._at + 1 : self._at + 2] in ("]", "[", ""):
            members.append(first)
            return
        self._at += 1
        last, single = self._character(members, parts)
        if not single:
            raise RegexError("a range ends in a class")
        members.append(f"{first}-{last}")

    def _character(self, members: list[str], parts: list[str]) -> tuple[str, bool]:
        """One character of a class, or a class escape, which is put where it belongs."""
        character = self._text[self._at : self._at + 1]
        if character == "[":
            raise RegexError("[ inside a character class")
        if character != "\\":
            self._at += 1
            return _escaped(character), True
        letter = self._text[self._at + 1 : self._at + 2]
        inside, negated = self._class_escape()
        if letter in _CONTROLS or letter in _PLAIN_ESCAPES:
            return inside, True
        if negated:
            parts.append(f"[^{inside}]")
        else:
            members.append(inside)
        return inside, False
