"""References into records: how a JSONPath that only follows names is written, so that equal ones have equal texts."""

from __future__ import annotations

import re

from freshet.rml.model import Reference
from freshet.rml.sources import Formulation

_STEP = re.compile(r"""\.?([^.\[\]'"$*@()?,:]+)|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]""")
_DELIMITED = re.compile(r'"(?:[^"]|"")+"')
_PLAIN = re.compile(r"""[^.\[\]'"$*@()?,:\\]+""")


def names_of(text: str) -> tuple[str, ...] | None:
    """The names that a JSONPath follows (`$.a.b`, `a.b`, `$['a b']`); None where it does something else."""
    path = text.removeprefix("$")
    names, end = [], 0
    while end < len(path):
        match = _STEP.match(path, end)
        if match is None:
            return None
        plain, *quoted = match.groups()
        names.append(plain if plain is not None else re.sub(r"\\(.)", r"\1", next(q for q in quoted if q is not None)))
        end = match.end()
    return tuple(names) or None


def reference(text: str, formulation: Formulation) -> Reference:
    """A reference as it is written. Of a JSONPath of names the spelling is made the same; the quotes of an SQL name are
    taken off."""
    if formulation in (Formulation.TABLE, Formulation.QUERY) and _DELIMITED.fullmatch(text):
        return Reference(text[1:-1].replace('""', '"'))
    names = names_of(text) if formulation is Formulation.JSON else None
    return Reference(text if names is None else json_path(names))


def json_path(names: tuple[str, ...]) -> str:
    """The spelling of a JSONPath of names.

    >>> json_path(("a", "b c"))
    'a.b c'
    >>> json_path(("a", "b.c"))
    "$['a']['b.c']"
    """
    if all(_PLAIN.fullmatch(name) for name in names):
        return ".".join(names)
    return "$" + "".join("['" + name.replace("\\", "\\\\").replace("'", "\\'") + "']" for name in names)
