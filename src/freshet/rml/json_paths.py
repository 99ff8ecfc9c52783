"""JSONPath as mappings write it: steps where kernels can follow it, a compiled path of a library where not."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

import orjson

from freshet.kernels.json_values import DEEPEST
from freshet.rdf.errors import InputError

if TYPE_CHECKING:
    import jsonpath


class Wildcard(Enum):
    """Every member of an object, or every element of an array."""

    ALL = "*"


Step = str | int | Wildcard

# Names without quotes may hold more than RFC 9535 allows: mappings have always written `$.Country Code` and `a-b`.
_STEP = re.compile(
    r"""\.?(?P<name>[^.\[\]'"$*@()?,;:\\]+)
      | \.?(?P<wildcard>\*)
      | \[\s*(?:'(?P<single>(?:[^'\\]|\\.)*)'|"(?P<double>(?:[^"\\]|\\.)*)")\s*\]
      | \[\s*(?P<index>\d+)\s*\]
      | \[\s*(?P<all>\*)\s*\]""",
    re.VERBOSE,
)


_MOST_DESCENTS = 3  # `..` in a path: each makes as many searches of all before it as documents are deep


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path; `steps` is None where it has more than names, indexes and wildcards (filters, slices, descendants)."""

    text: str
    steps: tuple[Step, ...] | None

    @property
    def many(self) -> bool:
        """Whether it may find several values in one record."""
        return self.steps is None or Wildcard.ALL in self.steps

    @property
    def names(self) -> tuple[str, ...] | None:
        """Its steps where they are names only."""
        if not self.steps:
            return None
        names = tuple(step for step in self.steps if isinstance(step, str))
        return names if len(names) == len(self.steps) else None

    def compiled(self) -> jsonpath.JSONPath:
        """The path as the library has it."""
        return _compiled(self.text)


def read_path(text: str) -> JsonPath:
    """A JSONPath: `$.a.b[*]`, `a.b`, `$['a b'][0]`, or anything that RFC 9535 has."""
    path = text.strip()
    rest = path.removeprefix("$").removeprefix("@")
    steps: list[Step] = []
    end = 0
    for match in _STEP.finditer(rest):
        if match.start() != end:
            break
        end = match.end()
        steps.append(_step(match))
    if end == len(rest):
        return JsonPath(text, tuple(steps))
    _compiled(text)
    return JsonPath(text, None)


def _step(match: re.Match[str]) -> Step:
    found = match.lastgroup
    written = match.group(found or 0)
    if found in ("wildcard", "all"):
        return Wildcard.ALL
    if found == "index":
        return int(written)
    return _unescaped(written) if found in ("single", "double") else written


def _unescaped(name: str) -> str:
    if "\\" not in name:
        return name
    try:
        return str(orjson.loads('"' + re.sub(r"\\\\|\\'|\\?\"", _requoted, name) + '"'))
    except orjson.JSONDecodeError:
        raise InputError(f"the name {name} has an escape that JSONPath does not know") from None


def _requoted(quote: re.Match[str]) -> str:
    return {"\\\\": "\\\\", "\\'": "'"}.get(quote.group(), '\\"')


@cache
def _environment() -> jsonpath.JSONPathEnvironment:
    """Paths go as deep as documents may be."""
    import jsonpath

    environment = jsonpath.JSONPathEnvironment(strict=True)
    environment.max_recursion_depth = DEEPEST + 1
    return environment


@contextmanager
def deep_enough() -> Iterator[None]:
    """Paths are followed in here: Python lets calls go as deep as documents may be."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 20 * DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _compiled(text: str) -> jsonpath.JSONPath:
    path = text.strip()
    import jsonpath  # most mappings do without, and workers of Spark start sooner

    absolute = path if path.startswith("$") else f"${'' if path.startswith('[') else '.'}{path}"
    try:
        compiled = _environment().compile(absolute)
    except (jsonpath.JSONPathError, ValueError) as error:
        raise InputError(f"{text} is no JSONPath: {str(error).splitlines()[0]}") from None
    if not isinstance(compiled, jsonpath.JSONPath):
        raise InputError(f"{text} joins several paths; a reference is one")
    descents = sum(isinstance(each, jsonpath.segments.JSONPathRecursiveDescentSegment) for each in compiled.segments)
    if descents > _MOST_DESCENTS:
        raise InputError(f"{text[:200]} looks into all that is below more than {_MOST_DESCENTS} times")
    return compiled
