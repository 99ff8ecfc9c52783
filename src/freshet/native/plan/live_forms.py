"""Live CONSTRUCT, DESCRIBE and ASK as SELECT, whose solutions are kept by increments.

| query                                | kept as                                                                    |
| ------------------------------------ | -------------------------------------------------------------------------- |
| CONSTRUCT { ?s :p ?o . ?o :q 1 } { } | the distinct triples: each solution once for each triple of the template   |
| DESCRIBE ?x { }                      | the triples of the descriptions                                            |
| ASK { }                              | one solution: whether there are any (`lower.py`, as for continuous queries) |
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from freshet.algebra.expressions import And, Call, Compare, Constant, Expression, Not, Variable
from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import (
    DESCRIBED,
    Describe,
    Distinct,
    Extend,
    Filter,
    Join,
    Node,
    PatternTerm,
    Project,
    Query,
    QueryForm,
    TriplePattern,
    Values,
)
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.ids import XSD_INTEGER
from freshet.rdf.terms import BlankNode, Literal

_NUMBER = Variable(".triple")  # of the template


def as_solutions(query: Query) -> Query:
    """A query without a window as one whose solutions are what is reported: SELECT and ASK as they are."""
    if query.form is QueryForm.CONSTRUCT:
        return _select_triples(query, _triples(query.root, query.template))
    if query.form is QueryForm.DESCRIBE:
        return _select_triples(query, Describe(query.root, query.resources))
    return query


def _select_triples(query: Query, triples: Node) -> Query:
    columns = tuple(term for term in _terms(DESCRIBED) if isinstance(term, Variable))
    return replace(query, form=QueryForm.SELECT, root=Distinct(Project(triples, columns)), template=(), resources=())


def _triples(root: Node, template: tuple[object, ...]) -> Node:
    """What the template makes of the solutions of a pattern, without what is no triple."""
    patterns: list[TriplePattern] = []
    for each in template:
        if not isinstance(each, TriplePattern):
            raise UnsupportedError("GRAPH in the template of a live CONSTRUCT is not supported yet")
        if any(isinstance(term, BlankNode) for term in _terms(each)):
            raise UnsupportedError("a blank node in the template of a live CONSTRUCT is not supported yet")
        patterns.append(each)
    if not patterns:
        return Values(tuple(term for term in _terms(DESCRIBED) if isinstance(term, Variable)), ())
    variables = tuple(Variable(name) for name in sorted(variables_of(tuple(patterns))))
    node: Node = Project(root, variables)
    if len(patterns) != 1:
        numbers = tuple((_literal(number),) for number in range(len(patterns)))
        node = Join(node, Values((_NUMBER,), numbers))
    for column, terms in zip(_terms(DESCRIBED), zip(*map(_terms, patterns), strict=True), strict=False):
        assert isinstance(column, Variable)
        node = Extend(node, column, _numbered_term(terms))
    subject, predicate, object_ = _terms(DESCRIBED)
    assert isinstance(subject, Variable)
    assert isinstance(predicate, Variable)
    assert isinstance(object_, Variable)
    conditions: list[Expression] = [
        Not(Call("ISLITERAL", (subject,))),
        Call("ISIRI", (predicate,)),
        Call("BOUND", (object_,)),
    ]
    return Filter(reduce(And, conditions), node)


def _numbered_term(terms: tuple[PatternTerm, ...]) -> Expression:
    """The term of the triple with the number."""
    *others, last = terms
    found = _expression(last)
    for number, term in reversed(list(enumerate(others))):
        if _expression(term) != found:
            found = Call("IF", (Compare("=", _NUMBER, Constant(_literal(number))), _expression(term), found))
    return found


def _expression(term: PatternTerm) -> Expression:
    if isinstance(term, Variable):
        return term
    assert not isinstance(term, BlankNode)
    return Constant(term)


def _literal(number: int) -> Literal:
    return Literal(str(number), XSD_INTEGER)


def _terms(triple: TriplePattern) -> tuple[PatternTerm, PatternTerm, PatternTerm]:
    return triple.subject, triple.predicate, triple.object
