"""Expressions of SPARQL 1.1 (section 17), as frozen dataclasses. What they mean is the back ends' business."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from freshet.rdf.terms import Term

if TYPE_CHECKING:
    from freshet.algebra.nodes import Node


@dataclass(frozen=True, slots=True)
class Expression:
    """Any expression."""


@dataclass(frozen=True, slots=True)
class Variable(Expression):
    """A variable, without the question mark. A name that starts with a dot is Freshet's own and never shown."""

    name: str

    def __str__(self) -> str:
        return f"?{self.name}"


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """A term in the query."""

    term: Term


@dataclass(frozen=True, slots=True)
class And(Expression):
    """`left && right`"""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Or(Expression):
    """`left || right`"""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """`! operand`"""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Compare(Expression):
    """`left operator right`; the operator is one of = != < <= > >="""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Arithmetic(Expression):
    """`left operator right`; the operator is one of + - * /"""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negate(Expression):
    """`- operand`"""

    operand: Expression


@dataclass(frozen=True, slots=True)
class In(Expression):
    """`operand IN (choices)`, or NOT IN"""

    operand: Expression
    choices: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A built-in function by its SPARQL name in capitals (`STRLEN`), or a cast or extension function by its IRI."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class UserCall(Call):
    """A call of a function that the session has been given; `implementation` takes and gives columns."""

    implementation: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Exists(Expression):
    """`EXISTS { pattern }`, or NOT EXISTS"""

    pattern: Node
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Aggregate(Expression):
    """`FUNCTION([DISTINCT] operand)`: COUNT SUM AVG MIN MAX SAMPLE GROUP_CONCAT; the operand is None for COUNT(*)."""

    function: str
    operand: Expression | None
    distinct: bool = False
    separator: str = " "
