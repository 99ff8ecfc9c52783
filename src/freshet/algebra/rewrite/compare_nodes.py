"""Comparisons of what cannot be a literal: two terms are equal where they are the same."""

from __future__ import annotations

from freshet.algebra.expressions import Call, Compare, Expression, Not, Variable
from freshet.algebra.nodes import (
    BGP,
    Distinct,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Node,
    PatternTerm,
    Project,
    Reduced,
    Union,
    Window,
)
from freshet.algebra.rewrite.walk import with_operands


def compare_nodes(node: Node) -> Node:
    """`Filter(?a = ?b, P) -> Filter(sameTerm(?a, ?b), P)` where `?a` or `?b` is a subject or predicate in P.

    Equality of literals is equality of their values, which have to be read; that of all other terms is identity
    (SPARQL 1.1, 17.4.1.7). Only two literals can be an error, and a subject is none.

    >>> from freshet.algebra.nodes import TriplePattern
    >>> from freshet.rdf.terms import Iri
    >>> a, b = Variable("a"), Variable("b")
    >>> compare_nodes(Filter(Compare("=", a, b), BGP((TriplePattern(a, Iri("urn:p"), b),)))).condition.function
    'SAMETERM'
    """
    if not isinstance(node, Filter):
        return node
    known = _nodes(node.child)

    def change(expression: Expression) -> Expression:
        match expression:
            case Compare("=" | "!=" as operator, Variable() as left, Variable() as right):
                if left not in known and right not in known:
                    return expression
                same = Call("SAMETERM", (left, right))
                return same if operator == "=" else Not(same)
        return with_operands(expression, change)

    condition = change(node.condition)
    return node if condition is node.condition else Filter(condition, node.child)


def _nodes(node: Node) -> set[Variable]:
    """The variables that are an IRI or a blank node in every solution of a node. (A path of length zero binds all.)"""
    match node:
        case BGP(patterns):
            return {term for each in patterns for term in _variables(each.subject, each.predicate)}
        case Join(left, right):
            return _nodes(left) | _nodes(right)
        case Union(left, right):
            return _nodes(left) & _nodes(right)
        case Graph(name, child) | Window(name, child):
            return _nodes(child) | _variables(name)
        case Project(child, variables):
            return _nodes(child).intersection(variables)
        case Filter(_, child) | LeftJoin(child) | Minus(child) | Extend(child) | Distinct(child) | Reduced(child):
            return _nodes(child)
        case _:
            return set()


def _variables(*terms: PatternTerm) -> set[Variable]:
    return {term for term in terms if isinstance(term, Variable)}
