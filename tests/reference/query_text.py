"""A continuous query as words with their places: no grammar, only what rewriting has to find."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cached_property

import pyoxigraph as ox

# Where a query has no BASE, relative IRIs are resolved against this and shown without it again.
NO_BASE = "http://relative.invalid/"

TOKENS = re.compile(
    r"""(?P<space>(?:\s+|\#[^\n]*)+)
      | (?P<string>\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<iri><[^<>"{}|^`\\\s]*>)
      | (?P<variable>[?$]\w+)
      | (?P<prefixed>(?:[A-Za-z][\w.-]*)?:[\w.:%-]*(?<!\.))
      | (?P<word>@?\w+(?:\.\d+\w*)?)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
UNITS_MS = {"seconds": 1000, "ns": Fraction(1, 10**6), "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)
NUMBER_AND_UNIT = re.compile(r"(\d+(?:\.\d+)?)(seconds|ns|ms|s|m|h|d)", re.IGNORECASE)


class QueryText:
    """The words of a query. All text between two words stays as it is: `<=` and `"a"@en` are several words here."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        self.spaces: list[str] = []
        space = ""
        for match in TOKENS.finditer(text):
            if match.lastgroup == "space":
                space = match.group()
            else:
                self.words.append(match.group())
                self.spaces.append(space)
                space = ""
        self.upper = [word.upper() for word in self.words]

    def text(self, start: int, stop: int) -> str:
        """Words with what stands between them."""
        return "".join(
            space + word for space, word in zip(self.spaces[start:stop], self.words[start:stop], strict=True)
        )

    def find(self, word: str, start: int) -> int:
        """Where a word comes next."""
        return self.upper.index(word, start)

    def closing(self, at: int) -> int:
        """Where the brace that opens at `at` is closed."""
        depth = 0
        for place in range(at, len(self.words)):
            depth += (self.words[place] == "{") - (self.words[place] == "}")
            if depth == 0:
                return place
        raise SyntaxError("a brace is not closed")

    @cached_property
    def prologue(self) -> str:
        """The PREFIX and BASE declarations, wherever REGISTER stands among them."""
        parts = []
        for at, word in enumerate(self.upper):
            if word == "PREFIX":
                parts.append(" ".join(self.words[at : at + 3]))
            elif word == "BASE":
                parts.append(" ".join(self.words[at : at + 2]))
        return "\n".join(parts)

    def resolve(self, name: str) -> str:
        """The IRI that a name in the query stands for: pyoxigraph resolves it as anywhere in the query."""
        solutions = ox.Store().query(f"{self.prologue}\nSELECT ({name} AS ?iri) {{}}", base_iri=NO_BASE)
        return next(iter(solutions))["iri"].value.removeprefix(NO_BASE)


def duration_ms(text: str) -> int:
    """`PT1M30S`, `PT0.5S`, `10s`, `1h30m`, `2HOURS`, `500ms` or `500` in milliseconds."""
    if text.isdigit():
        return int(text)
    if iso := ISO_DURATION.fullmatch(text):
        days, hours, minutes, seconds = (Fraction(part or 0) for part in iso.groups())
        return int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
    parts = NUMBER_AND_UNIT.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        raise SyntaxError(f"{text} is no duration")
    return int(sum(Fraction(number) * UNITS_MS[unit.lower()] for number, unit in parts))
