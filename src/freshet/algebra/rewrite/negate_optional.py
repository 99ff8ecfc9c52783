"""`OPTIONAL { ... ?x ... } FILTER(!BOUND(?x))` asks for what has no match, and can be asked for as such."""

from __future__ import annotations

from freshet.algebra.certain import certainly_bound
from freshet.algebra.expressions import Call, Exists, Expression, Not, Variable
from freshet.algebra.nodes import (
    BGP,
    Alternative,
    Filter,
    Graph,
    Inverse,
    Join,
    LeftJoin,
    Minus,
    Node,
    Path,
    PathPattern,
    Repeat,
    Sequence,
    Union,
    Window,
)
from freshet.algebra.rewrite.conditions import conjunction, conjuncts, has_exists, is_volatile, mentioned_variables
from freshet.algebra.scope import variables_in_scope


def negate_optional(node: Node) -> Node:
    """`Filter(!BOUND(?x), LeftJoin(P, Q, c)) -> Minus(P, Filter(c, Q))`, or `Filter(NOT EXISTS {Q FILTER c}, P)`.

    It holds where Q binds ?x in every solution and P in none: then ?x is unbound exactly for the solutions of P that
    are compatible with no solution of Q under c, and each of them comes out as often as P has it.

    Minus says the same where P and Q both bind some variable in every solution, because it skips pairs that
    have no variable in common; and where c sees in a solution of Q alone what it saw in both together. Otherwise
    NOT EXISTS says the same, where to put a solution of P into Q means what it means to join with it: Q is made of
    triples, paths that are not of length zero, GRAPH, WINDOW, Join, Union, and filters over what they bind. Where
    neither is so, nothing changes. Inside an EXISTS the rule is not used: ?x could come from without.

    >>> from freshet.algebra.nodes import TriplePattern
    >>> from freshet.rdf.terms import Iri
    >>> s, x = Variable("s"), Variable("x")
    >>> left, right = (BGP((TriplePattern(s, Iri(name), end),)) for name, end in (("p", Iri("o")), ("q", x)))
    >>> negate_optional(Filter(Not(Call("BOUND", (x,))), LeftJoin(left, right))) == Minus(left, right)
    True
    """
    if not isinstance(node, Filter) or not isinstance(node.child, LeftJoin):
        return node
    conditions = conjuncts(node.condition)
    optional = node.child
    for each in conditions:
        if (variable := _unbound(each)) is not None and (negated := _negated(optional, variable)) is not None:
            rest = [other for other in conditions if other is not each]
            return Filter(conjunction(rest), negated) if rest else negated
    return node


def _unbound(condition: Expression) -> Variable | None:
    match condition:
        case Not(Call("BOUND", (Variable() as variable,))):
            return variable
        case _:
            return None


def _negated(optional: LeftJoin, variable: Variable) -> Node | None:
    left, right, condition = optional.left, optional.right, optional.condition
    certain = certainly_bound(right)
    within = set(variables_in_scope(left))
    if variable not in certain or variable in within:
        return None
    if condition is not None and (has_exists(condition) or is_volatile(condition)):
        return None
    matched = right if condition is None else Filter(condition, right)
    decided = condition is None or not (mentioned_variables(condition) - certain) & within
    if decided and not certain.isdisjoint(certainly_bound(left)):
        return Minus(left, matched)
    return Filter(Exists(matched, negated=True), left) if _takes_solutions(right) else None


def _takes_solutions(node: Node) -> bool:
    """Whether putting a solution into the pattern gives the same as joining with it."""
    match node:
        case BGP():
            return True
        case PathPattern(_, path, _):
            return not _may_be_of_length_zero(path)
        case Join(left, right) | Union(left, right):
            return _takes_solutions(left) and _takes_solutions(right)
        case Graph(_, child) | Window(_, child):
            return _takes_solutions(child)
        case Filter(condition, child):
            closed = not has_exists(condition) and mentioned_variables(condition) <= certainly_bound(child)
            return closed and _takes_solutions(child)
        case _:
            return False


def _may_be_of_length_zero(path: Path) -> bool:
    match path:
        case Repeat(_, 0):
            return True
        case Repeat(inner) | Inverse(inner):
            return _may_be_of_length_zero(inner)
        case Sequence(left, right) | Alternative(left, right):
            return _may_be_of_length_zero(left) or _may_be_of_length_zero(right)
        case _:
            return False
