"""The variables that an expression mentions."""

from __future__ import annotations

from dataclasses import fields

from freshet.algebra.expressions import Expression, Variable


def variables_of(expression: Expression) -> set[str]:
    """The names of all variables in an expression.

    >>> from freshet.algebra.expressions import Compare
    >>> sorted(variables_of(Compare("<", Variable("a"), Variable("b"))))
    ['a', 'b']
    """
    if isinstance(expression, Variable):
        return {expression.name}
    found: set[str] = set()
    for place in fields(expression):
        value = getattr(expression, place.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Expression):
                found |= variables_of(part)
    return found
