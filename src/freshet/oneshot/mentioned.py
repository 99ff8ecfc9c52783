"""The variables that an operator or expression mentions for its surroundings, wherever inside they stand."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Project


def mentioned(part: object) -> set[str]:
    """The names of all variables in it, those in EXISTS included; of a sub-select, those that it selects."""
    if isinstance(part, Variable):
        return {part.name}
    if isinstance(part, Project):
        return {variable.name for variable in part.variables}
    if isinstance(part, tuple):
        return set().union(*map(mentioned, part))
    if is_dataclass(part):
        return set().union(*(mentioned(getattr(part, place.name)) for place in fields(part)))
    return set()
