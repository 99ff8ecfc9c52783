"""What is rare is matched first, and then what is connected with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import (
    BGP,
    Filter,
    Join,
    LeftJoin,
    Minus,
    Node,
    PathPattern,
    PatternTerm,
    Service,
    Slice,
    TriplePattern,
    Union,
    Values,
)
from freshet.algebra.rewrite.merge_patterns import LONGEST_CHAIN, join_all, join_operands
from freshet.algebra.rewrite.walk import with_children
from freshet.algebra.scope import variables_in_scope
from freshet.algebra.statistics import Place, Statistics

_PLACES: tuple[Place, Place, Place] = ("subject", "predicate", "object")
_FILTERED = 0.3  # what a condition lets through, for lack of better knowledge
_MOST_COMPARED = 100
_SHARED = 100.0  # by how much a variable that is bound already narrows an operand
_PATH = 10.0  # how many more pairs a path joins than a triple


def order_joins(node: Node, statistics: Statistics) -> Node:
    """`Join(P, Q) -> Join(Q, P)` where Q has fewer solutions, for whole chains of joins and for the triples of a BGP.

    Join is commutative and associative over bags, and a basic graph pattern is a set, so every order means the same.
    Greedy: the operand with the fewest solutions first, and then always the one with the fewest for each solution,
    where an operand that shares no variable comes only when no other is left.

    >>> from freshet.algebra.statistics import BoundPlaces
    >>> from freshet.rdf.terms import Iri
    >>> s, o = Variable("s"), Variable("o")
    >>> loose, tight = TriplePattern(s, Iri("p"), o), TriplePattern(s, Iri("q"), Iri("x"))
    >>> order_joins(BGP((loose, tight)), BoundPlaces()) == BGP((tight, loose))
    True
    """
    if isinstance(node, BGP):
        return _order_triples(node, statistics)
    if not isinstance(node, Join):
        return with_children(node, lambda child: order_joins(child, statistics))
    operands = [order_joins(operand, statistics) for operand in join_operands(node)]
    if len(operands) > LONGEST_CHAIN:
        return join_all(operands)
    scopes = [set(variables_in_scope(operand)) for operand in operands]
    counts = [_solutions(operand, statistics) for operand in operands]
    order = _greedy(scopes, lambda place, bound: counts[place] / _SHARED ** len(scopes[place] & bound))
    return join_all([operands[place] for place in order])


def _order_triples(node: BGP, statistics: Statistics) -> BGP:
    if len(node.patterns) < 2:
        return node
    patterns = node.patterns
    counts = [statistics.count(pattern) for pattern in patterns]
    scopes = [{term for term in _terms(pattern) if isinstance(term, Variable)} for pattern in patterns]

    def estimate(place: int, bound: set[Variable]) -> float:
        return _triple_estimate(patterns[place], counts[place], bound, statistics)

    return BGP(tuple(patterns[place] for place in _greedy(scopes, estimate)))


def _greedy(scopes: Sequence[set[Variable]], estimate: Callable[[int, set[Variable]], float]) -> list[int]:
    """An order of the operands with these variables; of very many, only by how rare each is by itself."""
    if len(scopes) > _MOST_COMPARED:
        return sorted(range(len(scopes)), key=lambda place: estimate(place, set()))
    left = list(range(len(scopes)))
    bound: set[Variable] = set()
    order: list[int] = []
    while left:
        connected = [place for place in left if not scopes[place].isdisjoint(bound) or not scopes[place]]
        best = min(connected or left, key=lambda place: estimate(place, bound))
        left.remove(best)
        order.append(best)
        bound |= scopes[best]
    return order


def _triple_estimate(pattern: TriplePattern, count: float, bound: set[Variable], statistics: Statistics) -> float:
    """How many triples match for one solution that binds these variables."""
    if bound:
        for place, term in zip(_PLACES, _terms(pattern), strict=True):
            if term in bound:
                count /= max(1.0, statistics.distinct(pattern.predicate, place))
    return count


def _solutions(node: Node, statistics: Statistics) -> float:
    """How many solutions a node has, very roughly."""
    match node:
        case BGP(patterns):
            return _triples_solutions(patterns, statistics)
        case PathPattern(subject, _, object_):
            return _PATH * statistics.count(TriplePattern(subject, Variable(".path"), object_))
        case Service():
            return inf  # its endpoint may be a variable of the others, and it is far away
        case Values(_, rows):
            return float(len(rows))
        case Join(left, right):
            return max(_solutions(left, statistics), _solutions(right, statistics))
        case Union(left, right):
            return _solutions(left, statistics) + _solutions(right, statistics)
        case LeftJoin(left) | Minus(left):
            return _solutions(left, statistics)
        case Filter(_, child):
            return _FILTERED * _solutions(child, statistics)
        case Slice(child, _, int() as limit):
            return min(float(limit), _solutions(child, statistics))
        case _:
            below: Node | None = getattr(node, "child", None)
            return 1.0 if below is None else _solutions(below, statistics)


def _triples_solutions(patterns: tuple[TriplePattern, ...], statistics: Statistics) -> float:
    """The product along the order in which the triples stand: they have been ordered before."""
    total = 1.0
    bound: set[Variable] = set()
    for pattern in patterns:
        total *= _triple_estimate(pattern, statistics.count(pattern), bound, statistics)
        bound.update(term for term in _terms(pattern) if isinstance(term, Variable))
    return total


def _terms(pattern: TriplePattern) -> tuple[PatternTerm, PatternTerm, PatternTerm]:
    return pattern.subject, pattern.predicate, pattern.object
