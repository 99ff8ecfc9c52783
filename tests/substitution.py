"""`substitute` of SPARQL 1.1 (18.6): a pattern with the terms of an outer solution in place of its variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from freshet.algebra.expressions import Constant, Expression, Variable
from freshet.algebra.nodes import Graph, Node, PathPattern, Project, TriplePattern, Values
from freshet.rdf.terms import Term

Tree = TypeVar("Tree")


def substituted(node: Node, terms: Mapping[str, Term]) -> Node:
    """The node with terms for variables; a sub-select's own variables are others, whatever they are called."""
    match node:
        case Project(child, variables):
            selected = {variable.name for variable in variables}
            inner = {name: term for name, term in terms.items() if name in selected}
            left = tuple(variable for variable in variables if variable.name not in inner)
            return Project(substituted(child, inner), left)
        case Values(variables, rows):
            kept = [at for at, variable in enumerate(variables) if variable.name not in terms]
            fitting = [
                row
                for row in rows
                if all(terms.get(variables[at].name, term) == term for at, term in enumerate(row) if term is not None)
            ]
            return Values(tuple(variables[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in fitting))
    return _substitute(node, terms)


def _substitute(tree: Tree, terms: Mapping[str, Term]) -> Tree:
    if not is_dataclass(tree) or isinstance(tree, type):
        return tree
    in_place = isinstance(tree, TriplePattern | PathPattern | Graph)  # where a term stands by itself
    return replace(tree, **{place.name: _value(getattr(tree, place.name), terms, in_place) for place in fields(tree)})


def _value(value: object, terms: Mapping[str, Term], in_place: bool) -> object:
    if isinstance(value, Variable) and value.name in terms:
        return terms[value.name] if in_place else Constant(terms[value.name])
    if isinstance(value, tuple):
        return tuple(_value(each, terms, in_place) for each in value)
    if isinstance(value, Node):
        return substituted(value, terms)
    return _substitute(value, terms) if isinstance(value, Expression | TriplePattern) or is_dataclass(value) else value
