"""Functions that give another value at each call, as inputs of their own: so that expressions stay functions of rows.

NOW() is the time of the evaluation. It becomes a variable of a pattern that has one solution, another at each moment:

    FILTER (?t > NOW())        FILTER (?t > ?.now0)  over the pattern joined with  { BIND (NOW() AS ?.now0) }

RAND(), UUID(), STRUUID() and BNODE() are drawn when a solution comes, and kept with it until it goes:

    FILTER (RAND() < 0.5)      FILTER (?.drawn0 < 0.5)  over  BIND (RAND() AS ?.drawn0)

BNODE(label) is one node for each label and solution, so it is made of a node that is drawn for the solution.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from itertools import count

from freshet.algebra import nodes
from freshet.algebra.expressions import Call, Exists, Expression, Variable
from freshet.algebra.rewrite.walk import with_children, with_expressions, with_operands
from freshet.expressions.functions import VOLATILE
from freshet.expressions.nodes import LABELLED_NODE
from freshet.rdf.errors import UnsupportedError

NOW = Call("NOW", ())
_BLANK_NODE = Call("BNODE", ())
_UNIT = nodes.BGP(())


def is_moment(node: nodes.Node) -> bool:
    """Whether a node is the pattern whose one solution has the time of the evaluation."""
    return isinstance(node, nodes.Extend) and node.expression == NOW and node.child == _UNIT


def is_drawn(node: nodes.Extend) -> bool:
    """Whether the variable of a node is drawn for each solution."""
    call = node.expression
    return isinstance(call, Call) and call.function in VOLATILE and call != NOW and not call.arguments


def volatile_function(part: object) -> str | None:
    """The name of a function in a part of a query whose values are drawn."""
    if isinstance(part, Call) and part.function in VOLATILE and part != NOW:
        return part.function
    parts: Iterable[object] = ()
    if isinstance(part, tuple):
        parts = part
    elif is_dataclass(part) and not isinstance(part, nodes.Service):
        parts = (getattr(part, place.name) for place in fields(part))
    return next(filter(None, map(volatile_function, parts)), None)


def separate_volatile(root: nodes.Node) -> nodes.Node:
    """The pattern with its volatile functions as variables."""
    return _Separation().node(root, in_exists=False)


class _Separation:
    def __init__(self) -> None:
        self._numbers = count()

    def node(self, node: nodes.Node, *, in_exists: bool) -> nodes.Node:
        if isinstance(node, nodes.Service):
            return node  # its functions are the endpoint's
        node = with_children(node, lambda child: self.node(child, in_exists=in_exists))
        if is_moment(node) or (isinstance(node, nodes.Extend) and is_drawn(node) and not in_exists):
            return node
        added: list[nodes.Extend] = []
        below = node.left if isinstance(node, nodes.LeftJoin) else getattr(node, "child", None)

        def change(expression: Expression) -> Expression:
            match expression:
                case Exists(pattern):
                    return replace(expression, pattern=self.node(pattern, in_exists=True))
                case Call(function) if function in VOLATILE:
                    if expression != NOW and (in_exists or isinstance(node, nodes.LeftJoin)):
                        where = "EXISTS" if in_exists else "the condition of OPTIONAL"
                        raise UnsupportedError(f"the function {function} in {where} is not supported")
                    return self._variable(
                        replace(expression, arguments=tuple(map(change, expression.arguments))), below, added
                    )
            return with_operands(expression, change)

        changed = with_expressions(node, change)
        return changed if not added else self._over(changed, added)

    def _variable(self, call: Call, below: nodes.Node | None, added: list[nodes.Extend]) -> Expression:
        if call.arguments:
            drawn = (each.variable for each in added if _is_solution(each.variable))
            solution = _solution_below(below) or next(drawn, None) or self._add(_BLANK_NODE, "solution", added)
            return Call(LABELLED_NODE, (solution, *call.arguments))
        return self._add(call, "now" if call == NOW else "drawn", added)

    def _add(self, call: Call, name: str, added: list[nodes.Extend]) -> Variable:
        variable = Variable(f".{name}{next(self._numbers)}")
        added.append(nodes.Extend(_UNIT, variable, call))
        return variable

    def _over(self, node: nodes.Node, added: list[nodes.Extend]) -> nodes.Node:
        """The node over a pattern that binds more."""

        def extend(child: nodes.Node) -> nodes.Node:
            for each in added:
                child = nodes.Join(child, each) if each.expression == NOW else replace(each, child=child)
            return child

        if isinstance(node, nodes.LeftJoin):
            return replace(node, left=extend(node.left))
        return with_children(node, extend)


def _is_solution(variable: Variable) -> bool:
    return variable.name.startswith(".solution")


def _solution_below(node: nodes.Node | None) -> Variable | None:
    """The node that was drawn already for the solutions of a group."""
    while isinstance(node, nodes.Extend | nodes.Filter | nodes.OrderBy):
        if isinstance(node, nodes.Extend) and _is_solution(node.variable):
            return node.variable
        node = node.child
    return None
