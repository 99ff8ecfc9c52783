"""How deep a query may nest: everything that walks the algebra does so by recursion, and Python's stack is finite."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Node, TriplePattern, Values
from freshet.rdf.terms import MOST_NESTED, BlankNode, Iri, Literal, TripleTerm
from freshet.syntax.tree import Tree

DEEPEST_SYNTAX = 128
"""Brackets within brackets, as the parse tree counts them."""

DEEPEST_ALGEBRA = 256
"""Operators on one path from the root; a group adds one for each OPTIONAL, BIND, MINUS or sub-pattern in a row."""


_LEAVES = (Iri, Literal, BlankNode, TripleTerm, Variable, TriplePattern)

_TRIPLE_TERMS = ("triple_term", "expression_triple_term")


def too_deep(tree: Tree) -> int | None:
    """Where the parse tree is deeper than it may be, as an offset; None where it is not."""
    level = [tree]
    for _ in range(DEEPEST_SYNTAX):
        level = [child for each in level for child in each.children if isinstance(child, Tree)]
        if not level:
            return None
    return level[0].start


def nested_triple_terms(tree: Tree) -> int | None:
    """Where more triple terms stand within one another than a term may have, as an offset; None where none do."""
    level = [(tree, 0)]
    while level:
        level = [
            (child, within + (child.data in _TRIPLE_TERMS))
            for each, within in level
            for child in each.children
            if isinstance(child, Tree)
        ]
        if (found := next((each for each, within in level if within > MOST_NESTED), None)) is not None:
            return found.start
    return None


def depth(root: Node) -> int:
    """Dataclasses within dataclasses, counted without recursion."""
    count = 0
    level: list[object] = [root]
    while level:
        count += 1
        level = [part for each in level for part in _parts(each)]
    return count


def _parts(value: object) -> list[object]:
    found: list[object] = []
    waiting = (
        [getattr(value, field.name) for field in fields(value)]
        if is_dataclass(value) and not isinstance(value, Values)
        else []
    )
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(part)
        elif is_dataclass(part) and not isinstance(part, _LEAVES):
            found.append(part)
    return found
