"""Wukong+S's continuous queries C1 to C11 over CityBench as RSP-QL, made from the plans that its authors published.

A line of a plan is a triple pattern, a direction, and S where it is asked of a stream, T where of the stored graph. The
patterns of an observation, and those of its value, are asked of the stream of the service that observed it. A first
line that only says at which predicate to begin is none of the query's patterns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from freshet.rdf.errors import InputError
from freshet_benchmarks.citybench import SSN

NAMES = tuple(f"C{number}" for number in range(1, 12))

# Table 9 of the paper: milliseconds on a single node.
PUBLISHED_MS = dict(zip(NAMES, (0.24, 0.37, 0.26, 0.98, 0.94, 0.26, 0.24, 0.27, 1.15, 0.78, 0.16), strict=True))
PUBLISHED_MEAN_MS = 0.41

_WINDOW = re.compile(r"FROM\s+<([^>]+)>\s*\[", re.IGNORECASE)
_LINE = re.compile(r"^(\S+)\s+(\S+)\s+(\S+)\s+(?:<-|->)([ST])\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A triple pattern, and whether it is asked of a stream."""

    subject: str
    predicate: str
    object: str
    streamed: bool

    def __str__(self) -> str:
        return f"{self.subject} {self.predicate} {self.object} ."


@dataclass(frozen=True, slots=True)
class CityQuery:
    """A query with the streams that it reads."""

    name: str
    text: str
    streams: tuple[str, ...]


def city_query(folder: Path, name: str) -> CityQuery:
    """A query by its name; `folder` has Wukong+S's plans."""
    plan = (folder / f"Q{name.removeprefix('C')}.txt").read_text(encoding="utf-8")
    streams = tuple(_WINDOW.findall(plan))
    patterns = [Pattern(s, p, o, home == "S") for s, p, o, home in _LINE.findall(plan) if p != o]
    if not streams or not patterns:
        raise InputError(f"there is no plan of {name}", file=str(folder))
    selected = re.search(r"SELECT\s+(.*?)\s*FROM", plan, re.IGNORECASE | re.DOTALL)
    bound = {term for pattern in patterns for term in (pattern.subject, pattern.object) if term.startswith("?")}
    variables = [variable for variable in selected[1].split() if variable in bound] if selected else []
    homes = _homes(patterns)
    windows = "\n".join(
        f"FROM NAMED WINDOW <w{at}> ON <{stream}> [RANGE PT3S STEP PT1S]" for at, stream in enumerate(streams)
    )
    asked = [str(pattern) for pattern in patterns if not pattern.streamed]
    for at, stream in enumerate(streams):
        own = [str(each) for each in patterns if each.streamed and homes[each.subject] == stream]
        asked.append(f"WINDOW <w{at}> {{ {' '.join(own)} }}")
    text = f"REGISTER RSTREAM <{name}> AS SELECT {' '.join(variables)}\n{windows}\nWHERE {{ {' '.join(asked)} }}"
    return CityQuery(name, text, streams)


def _homes(patterns: list[Pattern]) -> dict[str, str]:
    """The stream of each subject: that of who observed it, and of what has it as its value."""
    streamed = [pattern for pattern in patterns if pattern.streamed]
    homes = {each.subject: each.object.strip("<>") for each in streamed if each.predicate == f"<{SSN}observedBy>"}
    for each in streamed:
        if each.subject in homes:
            homes.setdefault(each.object, homes[each.subject])
    return homes
