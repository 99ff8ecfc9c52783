"""The variables that an expression or an operator mentions for its surroundings, wherever inside they stand."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Project, TriplePattern


def variables_of(part: object) -> set[str]:
    """The names of all variables in it, those in EXISTS included; of a sub-select, those that it selects.

    >>> from freshet.algebra.expressions import Compare
    >>> sorted(variables_of(Compare("<", Variable("a"), Variable("b"))))
    ['a', 'b']
    """
    if isinstance(part, Variable):
        return {part.name}
    if isinstance(part, TriplePattern):
        return {each.name for each in (part.subject, part.predicate, part.object) if isinstance(each, Variable)}
    if isinstance(part, Project):
        return {variable.name for variable in part.variables}
    if isinstance(part, tuple):
        return set().union(*map(variables_of, part))
    if is_dataclass(part):
        return set().union(*(variables_of(getattr(part, place.name)) for place in fields(part)))
    return set()
