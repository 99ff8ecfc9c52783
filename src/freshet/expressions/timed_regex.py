"""Regular expressions that end: by Python's `re`, which is quick but may never end, or by `regex` within a time limit.

`re` matches a text over which a pattern surely takes few steps. Both give the same answers, but for characters that are
newer than Python's tables of Unicode and, with the flag i, for references to groups (`re` distinguishes ſ from s) and
U+0345 (a letter for `regex`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property

import regex

from freshet.expressions.regex_steps import steps_of
from freshet.expressions.xpath_regex import pieces
from freshet.rdf.deadline import current
from freshet.rdf.errors import FreshetError

SECONDS = 1.0  # for one value; `regex` counts the computing time of all threads
_GRACE = 0.01  # `regex` takes 0 for no limit
_MOST_PARTS = 100_000  # `regex` writes groups that are repeated out
_LONGEST_SHOWN = 100

_WORD = r"\p{L}\p{N}_"
_SAME = {
    r"\w": _WORD,
    r"\b": f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))",
    r"\B": f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))",
}
# `regex` takes the alternatives of [^a]|[^b] for [^ab]
_NEGATED, _NOT_NEXT = re.compile(r"\[\^([^]]*)\]"), r"(?:(?![\1])(?s:.))"
# `re` takes I, i, İ and ı for one letter where case does not matter
_ONE_I = {ord("I"): "i", 0x130: "i", 0x131: "i"}
_DOTLESS, _DOTTED = r"\U00000131", r"\U00000130"


class RegexLimitError(FreshetError):
    """A regular expression takes too long over a value, or is too large."""

    exit_status = 1


def _seconds() -> float:
    """How long a value may take: no longer than the query."""
    deadline = current()
    deadline.check()
    left = deadline.left()
    return SECONDS if left is None else min(SECONDS, left + _GRACE)


class TimedRegex:
    """A regular expression of XPath; RegexError and what `re` raises where it is none."""

    def __init__(self, pattern: str, flags: str) -> None:
        parts = pieces(pattern, flags)
        self._pattern = pattern
        self._folds = "i" in flags
        self._quick = re.compile("".join(parts), re.IGNORECASE if self._folds else re.NOFLAG)
        self._steps = steps_of(parts)
        self._longest = self._steps.longest()
        self.groups = self._quick.groups

    def found_in(self, text: str) -> bool:
        """Whether it matches somewhere."""
        if len(text) <= self._longest:
            return self._quick.search(text) is not None
        try:
            return self._slow.search(self._folded(text), timeout=_seconds()) is not None
        except TimeoutError:
            raise self._too_long(text) from None

    def matches(self, text: str) -> Iterator[re.Match[str] | regex.Match[str]]:
        """Its matches from left to right. Their places are those of the text; their own text may be in another case."""
        if len(text) <= self._longest:
            yield from self._quick.finditer(text)
            return
        try:
            yield from self._slow.finditer(self._folded(text), timeout=_seconds())
        except TimeoutError:
            raise self._too_long(text) from None

    @cached_property
    def takes_nothing(self) -> bool:
        """Whether it matches the empty text."""
        return self.found_in("")

    @cached_property
    def _slow(self) -> regex.Pattern[str]:
        if self._steps.parts > _MOST_PARTS:
            raise RegexLimitError(f"the regular expression {self._shown} has more than {_MOST_PARTS:,} parts")
        written = self._quick.pattern
        for theirs, ours in _SAME.items():
            written = written.replace(theirs, ours)
        written = _NEGATED.sub(_NOT_NEXT, written)
        if not self._folds:
            return regex.compile(written, regex.VERSION0)
        return regex.compile(written.replace(_DOTLESS, _DOTTED), regex.VERSION0 | regex.IGNORECASE)

    def _folded(self, text: str) -> str:
        return text.translate(_ONE_I) if self._folds else text

    @property
    def _shown(self) -> str:
        shown = self._pattern if len(self._pattern) <= _LONGEST_SHOWN else self._pattern[:_LONGEST_SHOWN] + "…"
        return json.dumps(shown, ensure_ascii=False)

    def _too_long(self, text: str) -> RegexLimitError:
        current().check()
        return RegexLimitError(
            f"the regular expression {self._shown} takes longer than {SECONDS:g} s over a value of "
            f"{len(text):,} characters"
        )
