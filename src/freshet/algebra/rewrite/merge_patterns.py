"""Basic graph patterns that are joined in the same graph or window become one."""

from __future__ import annotations

from functools import reduce

from freshet.algebra.nodes import BGP, Graph, Join, Node, Window

LONGEST_CHAIN = 64


def merge_patterns(node: Node) -> Node:
    """`Join(BGP(s), BGP(t)) -> BGP(s + t)`, and `Join(Graph(g, P), Graph(g, Q)) -> Graph(g, Join(P, Q))`.

    A basic graph pattern has each of its solutions once, so the join has each once too, and a triple pattern that
    stands in both adds nothing. Join is commutative and associative over bags: what stands between two operands of a
    chain does not matter. Windows of one name have one content at a time, and merge as graphs do, also where the name
    is a variable: the join makes both sides agree on it.

    >>> from freshet.algebra.expressions import Variable
    >>> from freshet.algebra.nodes import TriplePattern
    >>> from freshet.rdf.terms import Iri
    >>> pattern = BGP((TriplePattern(Variable("s"), Iri("p"), Variable("o")),))
    >>> merge_patterns(Join(pattern, pattern)) == pattern
    True
    """
    if not isinstance(node, Join) or not isinstance(node.right, Join | BGP | Graph | Window):
        return node
    operands = join_operands(node)
    merged = merge_operands(operands)
    return node if len(merged) == len(operands) else join_all(merged)


def merge_operands(operands: list[Node]) -> list[Node]:
    """The operands of a chain of joins, each merged into the first that it goes with."""
    merged: list[Node] = []
    for operand in operands:
        for place, earlier in enumerate(merged):
            if (both := _merge(earlier, operand)) is not None:
                merged[place] = both
                break
        else:
            merged.append(operand)
    return merged


def join_operands(node: Node) -> list[Node]:
    """The operands of a chain of joins, from left to right."""
    operands: list[Node] = []
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Join):
            waiting += (each.right, each.left)
        else:
            operands.append(each)
    return operands


def join_all(operands: list[Node]) -> Node:
    """A chain of joins of at least one operand; a very long one as a tree that can still be walked."""
    if len(operands) <= LONGEST_CHAIN:
        return reduce(Join, operands)
    middle = len(operands) // 2
    return Join(join_all(operands[:middle]), join_all(operands[middle:]))


def _merge(earlier: Node, operand: Node) -> Node | None:
    match earlier, operand:
        case BGP(some), BGP(more):
            return BGP(tuple(dict.fromkeys(some + more)))
        case (Graph(name, left), Graph(other, right)) if name == other:
            return Graph(name, merge_patterns(Join(left, right)))
        case (Window(name, left, None), Window(other, right, None)) if name == other:
            return Window(name, merge_patterns(Join(left, right)))
        case _:
            return None
