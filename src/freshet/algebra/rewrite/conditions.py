"""Conditions of filters: their conjuncts, the variables that matter to them, and whether they may be moved."""

from __future__ import annotations

from dataclasses import is_dataclass
from functools import reduce

from freshet.algebra.expressions import And, Call, Exists, Expression, Variable
from freshet.rdf.terms import BlankNode, Iri, Literal

_VOLATILE = {"RAND", "UUID", "STRUUID", "BNODE"}
_SHORT = 16
_LEAVES = (Variable, Iri, Literal, BlankNode)


def conjuncts(condition: Expression) -> list[Expression]:
    """A filter is split: `FILTER(a && b)` keeps what `FILTER(a)` and `FILTER(b)` both keep.

    `a && b` is true exactly where both are true. Where one is an error, it is false or an error, and a filter drops
    the solution either way.

    >>> [each.name for each in conjuncts(And(And(Variable("a"), Variable("b")), Variable("c")))]
    ['a', 'b', 'c']
    """
    found: list[Expression] = []
    waiting = [condition]
    while waiting:
        each = waiting.pop()
        if isinstance(each, And):
            waiting += (each.right, each.left)
        else:
            found.append(each)
    return found


def conjunction(conditions: list[Expression]) -> Expression:
    """The other way round: one condition of at least one, in no deeper a tree than it needs."""
    if len(conditions) <= _SHORT:
        return reduce(And, conditions)
    middle = len(conditions) // 2
    return And(conjunction(conditions[:middle]), conjunction(conditions[middle:]))


def mentioned_variables(part: object) -> set[Variable]:
    """All variables in an expression or a pattern, those inside EXISTS and sub-selects too."""
    return {each for each in _parts(part) if isinstance(each, Variable)}


def is_volatile(expression: Expression) -> bool:
    """Whether the value may be another each time, so that it matters how often it is computed."""
    return any(isinstance(each, Call) and each.function in _VOLATILE for each in _parts(expression))


def has_exists(expression: Expression) -> bool:
    """Whether the value depends on the graph as well as on the solution."""
    return any(isinstance(each, Exists) for each in _parts(expression))


def _parts(whole: object) -> list[object]:
    """An expression or pattern and everything in it, without recursion."""
    found = [whole]
    for each in found:
        if isinstance(each, tuple):
            found.extend(each)
        elif is_dataclass(each) and not isinstance(each, _LEAVES):
            found.extend(getattr(each, field) for field in each.__match_args__)  # type: ignore[union-attr]
    return found
