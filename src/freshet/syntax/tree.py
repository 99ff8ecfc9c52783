"""Parse trees: what the parser gives and the transformers read."""

from __future__ import annotations

import re
from itertools import islice


class Token(str):
    """A word of the query: the name of its terminal, and where it starts."""

    __slots__ = ("start", "type")

    type: str
    start: int


class Cells(Token):
    """Data of a long VALUES or update: what stands in the braces, as it is written. Punctuation is cells too."""

    __slots__ = ("pattern", "text", "texts")

    pattern: re.Pattern[str]
    text: str
    texts: list[str]

    def offset(self, number: int) -> int:
        """Where a cell starts."""
        return next(islice(self.pattern.finditer(self.text, self.start), number, None)).start(1)


class Tree:
    """What a rule of the grammar has matched; a child that is optional and not there is None."""

    __slots__ = ("children", "data", "start")

    def __init__(self, data: str, children: list[Child], start: int) -> None:
        self.data = data
        self.children = children
        self.start = start


Child = Tree | Token


def make_token(type_: str, text: str, start: int) -> Token:
    """A token that the text does not hold as it is."""
    made = Token(text)
    made.type, made.start = type_, start
    return made


def offset(child: Child) -> int:
    """Where a child starts."""
    return child.start


def trees(branch: Tree) -> list[Tree]:
    """The children that are trees."""
    return [child for child in branch.children if isinstance(child, Tree)]


def tokens(branch: Tree) -> list[Token]:
    """The children that are tokens."""
    return [child for child in branch.children if isinstance(child, Token)]
