"""Triple terms with variables (SPARQL 1.2, 18.2): patterns match them by conditions on their parts.

`?r :says <<( ?s :p ?o )>>` is `?r :says ?t` with `isTRIPLE(?t) && sameTerm(PREDICATE(?t), :p)`, and binds ?s and ?o to
SUBJECT(?t) and OBJECT(?t). So what evaluates patterns, also by increments, need know of triple terms only that they are
terms; and one without variables is a term of a pattern like any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from freshet.algebra.expressions import And, Call, Constant, Expression, Variable
from freshet.algebra.nodes import BGP, Extend, Filter, Node, PatternTerm, TriplePattern
from freshet.rdf.terms import BlankNode, Iri, TripleTerm
from freshet.syntax.transform_expressions import chain

_PARTS = ("SUBJECT", "PREDICATE", "OBJECT")


@dataclass(frozen=True, slots=True)
class TripleTermPattern:
    """A triple term that is not the same in every solution."""

    subject: PatternTerm | TripleTermPattern
    predicate: PatternTerm
    object: PatternTerm | TripleTermPattern


@dataclass(frozen=True, slots=True)
class TripleTermStep:
    """A variable of Freshet's own in a basic graph pattern, and what it is to match."""

    variable: Variable
    pattern: TripleTermPattern


def triple_term(
    subject: PatternTerm | TripleTermPattern, predicate: PatternTerm, object_: PatternTerm | TripleTermPattern
) -> TripleTerm | TripleTermPattern:
    """The triple term of its parts: a term where it has no variables and no blank nodes."""
    if isinstance(subject, Iri) and isinstance(predicate, Iri) and not isinstance(object_, _NOT_GROUND):
        return TripleTerm(subject, predicate, object_)
    return TripleTermPattern(subject, predicate, object_)


def matched(patterns: Iterable[TriplePattern], steps: Iterable[TripleTermStep]) -> Node:
    """A basic graph pattern with triple terms that have variables.

    >>> s, t = Variable("s"), Variable(".t0")
    >>> said = TripleTermPattern(s, Iri("a:p"), Variable("o"))
    >>> node = matched([TriplePattern(s, Iri("a:says"), t)], [TripleTermStep(t, said)])
    >>> type(node).__name__, node.variable.name, type(node.child).__name__
    ('Extend', 'o', 'Filter')
    """
    triples = tuple(patterns)
    node: Node = BGP(triples)
    known: dict[Variable, Expression] = {
        term: term
        for each in triples
        for term in (each.subject, each.predicate, each.object)
        if isinstance(term, Variable)
    }
    conditions: list[Expression] = []
    bound: list[tuple[Variable, Expression]] = []
    waiting: list[tuple[Expression, TripleTermPattern]] = [(step.variable, step.pattern) for step in steps]
    for term, pattern in waiting:
        conditions.append(Call("ISTRIPLE", (term,)))
        for name, part in zip(_PARTS, (pattern.subject, pattern.predicate, pattern.object), strict=True):
            found = Call(name, (term,))
            if isinstance(part, TripleTermPattern):
                waiting.append((found, part))
            elif not isinstance(part, Variable):
                conditions.append(Call("SAMETERM", (found, Constant(part))))
            elif part in known:
                conditions.append(Call("SAMETERM", (found, known[part])))
            else:
                known[part] = found
                bound.append((part, found))
    if conditions:
        node = Filter(chain(And, conditions), node)
    for variable, expression in bound:
        node = Extend(node, variable, expression)
    return node


def made(pattern: TripleTermPattern, nodes: dict[str, Variable]) -> Expression:
    """The expression that makes a triple term of a template; `nodes` has the variables of its blank nodes by label."""
    return Call(
        "TRIPLE", tuple(_made_part(part, nodes) for part in (pattern.subject, pattern.predicate, pattern.object))
    )


def _made_part(part: PatternTerm | TripleTermPattern, nodes: dict[str, Variable]) -> Expression:
    match part:
        case TripleTermPattern():
            return made(part, nodes)
        case Variable():
            return part
        case BlankNode(label):
            return nodes.setdefault(label, Variable(f".n{len(nodes)}"))
        case _:
            return Constant(part)


_NOT_GROUND = (Variable, BlankNode, TripleTermPattern)
