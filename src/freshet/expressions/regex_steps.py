"""How many steps a regular expression may take over a text, estimated from its pieces.

A matcher that backtracks tries every way in which the pieces may share a text. The ways of pieces in a row multiply,
those of alternatives add up, and what has one way and is repeated has as many as the times it may be repeated.
What has several ways and is repeated, as in `(a+)+`, may have twice as many ways with each further character.

`regex` writes groups that are repeated out when it compiles them, `(ab){3}` as three and `(ab)+` as two: nested ones
multiply, so what is written out is counted too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import NamedTuple

MOST_STEPS = 50_000_000  # less than a second of Python's `re`
_MANY = 100  # times; what may be repeated more often is bounded by the text
_WEIGHT = 16  # this number of letters of a class costs about as much as one character
_QUANTIFIER = re.compile(r"([?*+])\??|\{([0-9]+)(?:(,)([0-9]*))?\}\??")
_REFERENCE = re.compile(r"\(\?:\\[1-9]")


class Steps(NamedTuple):
    """Over n characters there are at most factor * n ** power ways, of `size` steps each; no factor: no such bound.

    Written out they are `parts` in number, and one where it is a single character.
    """

    factor: int | None = 1
    power: int = 0
    size: int = 0
    parts: int = 0

    def then(self, other: Steps) -> Steps:
        factor = None if self.factor is None or other.factor is None else self.factor * other.factor
        return Steps(factor, self.power + other.power, self.size + other.size, self.parts + other.parts)

    def otherwise(self, other: Steps) -> Steps:
        factor = None if self.factor is None or other.factor is None else self.factor + other.factor
        return Steps(factor, max(self.power, other.power), self.size + other.size, self.parts + other.parts)

    def repeated(self, least: int, most: int | None) -> Steps:
        copies = 1 if self.parts == 1 else least + 1 if most is None else max(1, most)
        parts = self.parts * copies
        if most == 1 and self.factor is not None:
            return Steps(self.factor + 1 - least, self.power, self.size, parts)
        if self.factor != 1 or self.power:
            return Steps(None, self.power, self.size, parts)
        if most is None or most > _MANY:
            return Steps(1, 1, self.size, parts)
        return Steps(max(1, most - least + 1), 0, self.size * max(1, most), parts)

    def grouped(self) -> Steps:
        return self._replace(parts=self.parts + 1)

    def longest(self) -> int:
        """The longest text that takes few steps; -1 where none surely does."""
        if self.factor is None:
            return -1
        most = MOST_STEPS // (self.factor * max(1, self.size))
        if self.power == 0:
            return sys.maxsize if most else -1
        return int(most ** (1 / self.power)) - 1


_COMPARISON = Steps(1, 1, 1, 1)  # what a reference compares may be long
_ANYWHERE = Steps(1, 1)


def steps_of(pieces: Sequence[str]) -> Steps:
    """The steps of a search, by the pieces of `xpath_regex.pieces`.

    >>> steps_of(["a", "+", "b"]), steps_of(["(", "a", "+", ")", "+"]).longest()
    (Steps(factor=1, power=2, size=2, parts=2), -1)
    """
    outer: list[tuple[Steps | None, Steps]] = []  # around each open group: alternatives before, and what precedes it
    before: Steps | None = None
    sequence, last = Steps(), Steps()
    for piece in pieces:
        if piece in ("(", "(?:"):
            outer.append((before, sequence.then(last)))
            before, sequence, last = None, Steps(), Steps()
        elif piece == ")":
            last = _add_branch(before, sequence.then(last)).grouped()
            before, sequence = outer.pop()
        elif piece == "|":
            before = _add_branch(before, sequence.then(last))
            sequence, last = Steps(), Steps()
        elif times := _QUANTIFIER.fullmatch(piece):
            last = last.repeated(*_counts(times))
        else:
            sequence, last = sequence.then(last), _COMPARISON if _REFERENCE.match(piece) else _character(piece)
    whole = _add_branch(before, sequence.then(last))
    # a search begins anywhere, but for a pattern that begins with the very beginning
    is_anchored = bool(pieces) and pieces[0] == r"\A" and "|" not in pieces
    return whole if is_anchored else whole.then(_ANYWHERE)


def _character(piece: str) -> Steps:
    """What matches one character, or none: a class is looked through part by part."""
    return Steps(1, 0, 1 + len(piece) // _WEIGHT, 1)


def _add_branch(before: Steps | None, branch: Steps) -> Steps:
    return branch if before is None else before.otherwise(branch)


def _counts(times: re.Match[str]) -> tuple[int, int | None]:
    """The least and the most times of a quantifier; None: any number."""
    sign, least, comma, most = times.groups()
    if sign:
        return int(sign == "+"), 1 if sign == "?" else None
    return int(least), (int(most) if most else None) if comma else int(least)
