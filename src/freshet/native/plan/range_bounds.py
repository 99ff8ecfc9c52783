"""Comparisons between the inputs of a join that say in which range the values of a variable are.

`?a > ?b - 5 && ?a < ?b + 5` bounds ?a, once ?b is known, from both sides; and ?b, once ?a is. So does `?a - ?b < 5`:
what is done to ?a there is undone, step by step, on the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from freshet.algebra.expressions import And, Arithmetic, Call, Compare, Constant, Expression, Negate, Variable
from freshet.algebra.free_variables import variables_of
from freshet.native.plan.plan import PlanCondition, PlanJoin, PlanLeaf, PlanNode, Stored

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(frozen=True, slots=True)
class Undone:
    """A step on the way from a variable to what is compared: an operator, and the operand beside the variable.

    `-` takes the operand away, `from` takes away from it; `negate` and `abs` have none.
    """

    operator: str
    operand: Expression | None = None


@dataclass(frozen=True, slots=True)
class RangeBound:
    """What a comparison says of a variable: the steps from the outermost in, the operator, and the other side."""

    variable: str
    steps: tuple[Undone, ...]
    operator: str
    bound: Expression

    @property
    def others(self) -> frozenset[str]:
        """The variables that must be known."""
        return frozenset(variables_of(tuple(self.expressions)))

    @property
    def expressions(self) -> list[Expression]:
        """The bound, then the operands of the steps that have one."""
        return [self.bound, *(step.operand for step in self.steps if step.operand is not None)]


def comparisons(expression: Expression) -> Iterator[Compare]:
    """The comparisons that hold wherever a condition does."""
    if isinstance(expression, And):
        yield from comparisons(expression.left)
        yield from comparisons(expression.right)
    elif isinstance(expression, Compare) and expression.operator in _MIRRORED:
        yield expression


def range_bounds(expression: Expression) -> Iterator[RangeBound]:
    """All bounds that a condition puts on a variable by others."""
    for compare in comparisons(expression):
        sides = (
            (compare.operator, compare.left, compare.right),
            (_MIRRORED[compare.operator], compare.right, compare.left),
        )
        for operator, side, other in sides:
            if not _is_arithmetic(side) or not _is_arithmetic(other):
                continue
            for name in sorted(variables_of(side) - variables_of(other)):
                steps = _steps_to(name, side)
                if steps is not None:
                    found = RangeBound(name, steps, operator, other)
                    if found.others and name not in found.others:
                        yield found


def ordered_variables(join: PlanJoin, condition: PlanCondition) -> list[str]:
    """The variables on which a condition needs an ordered index: it is all that relates some inputs to others."""
    found = set()
    for bound in range_bounds(condition.expression):
        if not {bound.variable, *bound.others} <= condition.scope:
            continue
        homes = [each for each in join.inputs if bound.variable in each.certain and not _is_stored(each)]
        others = [each for each in join.inputs if bound.others & each.certain]
        if homes and others and not any(home.names & other.names for home in homes for other in others):
            found.add(bound.variable)
    return sorted(found)


def _is_stored(node: PlanNode) -> bool:
    return isinstance(node, PlanLeaf) and isinstance(node.source, Stored)


def _steps_to(name: str, side: Expression) -> tuple[Undone, ...] | None:
    """What is done to a variable to get one side of a comparison; None where that cannot be undone."""
    match side:
        case Variable(found):
            return () if found == name else None
        case Negate(operand):
            return _after(Undone("negate"), name, operand)
        case Call("ABS", (operand,)):
            return _after(Undone("abs"), name, operand)
        case Arithmetic(operator, left, right):
            if name not in variables_of(right):
                return _after(Undone(operator, right), name, left)
            if name not in variables_of(left) and operator != "/":
                return _after(Undone("from" if operator == "-" else operator, left), name, right)
    return None


def _after(step: Undone, name: str, operand: Expression) -> tuple[Undone, ...] | None:
    steps = _steps_to(name, operand)
    return None if steps is None else (step, *steps)


def _is_arithmetic(side: Expression) -> bool:
    """Whether it is made of variables, constants and arithmetic."""
    match side:
        case Variable() | Constant():
            return True
        case Negate(operand) | Call("ABS", (operand,)):
            return _is_arithmetic(operand)
        case Arithmetic(_, left, right):
            return _is_arithmetic(left) and _is_arithmetic(right)
    return False
