"""The lines at which the records of an XML document begin.

lxml knows the lines of elements up to line 65,535 only. So expat reads the same bytes beside it, and counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from xml.parsers import expat


class RecordLines:
    """Sees the blocks of a document before lxml does; gives the line of one record after the other, or None where
    expat cannot read what lxml can."""

    def __init__(self, steps: tuple[str, ...], encoding: str | None) -> None:
        self._steps = steps
        self._lines: deque[int] = deque()
        self._depth = 0
        self._fitting = 0  # how many of the open elements are where the steps lead
        self._before = 0  # line ends before the first element, which neither parser gets to see
        self._is_empty = True
        self._parser: expat.XMLParserType | None = expat.ParserCreate(encoding, namespace_separator="}")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._refuse

    def watch(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """The blocks, as they are."""
        for block in blocks:
            self._feed(block)
            yield block

    def next(self) -> int | None:
        """The line of the next record."""
        return self._lines.popleft() if self._lines else None

    def _feed(self, block: bytes) -> None:
        if self._parser is None:
            return
        if self._is_empty:
            text = block.lstrip()
            self._before += block[: len(block) - len(text)].count(b"\n")
            self._is_empty = not text
            block = text
        try:
            self._parser.Parse(block, False)
        except (expat.ExpatError, ValueError, LookupError):
            self._parser = None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._fitting == self._depth < len(self._steps) and _fits(name, self._steps[self._depth]):
            self._fitting += 1
            if self._fitting == len(self._steps):
                assert self._parser is not None
                self._lines.append(self._before + self._parser.CurrentLineNumber)
        self._depth += 1

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._fitting = min(self._fitting, self._depth)

    def _refuse(self, *declared: object) -> None:
        raise ValueError("entities are refused")


def _fits(name: str, step: str) -> bool:
    """Whether a name as expat writes it, `IRI}local`, is that of a step, `{IRI}local`, in which `*` stands for any."""
    if step == "*":
        return True
    if step.endswith("}*"):
        return name.startswith(step[1:-1])
    return name == step.removeprefix("{")
