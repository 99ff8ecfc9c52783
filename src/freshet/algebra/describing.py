"""What there is to say of each operator: the tree and the JSON of `freshet explain` say the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from freshet.algebra.expressions import Exists, Expression, Variable
from freshet.algebra.names import IriText
from freshet.algebra.nodes import (
    BGP,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    PathPattern,
    Project,
    Reduced,
    Service,
    Slice,
    Union,
    Values,
    Window,
)
from freshet.algebra.text import endpoint_text, expression_text, order_text, path_text, term_text, triple_text


@dataclass(frozen=True, slots=True)
class Description:
    """What there is to say of one node: its facts by name, the nodes below it, and the patterns of its EXISTS."""

    facts: dict[str, Any]
    children: tuple[Node, ...] = ()
    exists: tuple[Node, ...] = ()


def describe(node: Node, iri_text: IriText = str) -> Description:
    """The facts, children and EXISTS patterns of a node; `iri_text` says how IRIs are written."""
    facts: dict[str, Any]
    match node:
        case BGP(patterns):
            return Description({"patterns": [triple_text(pattern, iri_text) for pattern in patterns]})
        case PathPattern(subject, path, object_):
            ends = term_text(subject, iri_text), term_text(object_, iri_text)
            return Description({"path": f"{ends[0]} {path_text(path, iri_text)} {ends[1]}"})
        case Join(left, right) | Union(left, right) | Minus(left, right):
            return Description({}, (left, right))
        case LeftJoin(left, right, condition):
            facts = {} if condition is None else {"condition": expression_text(condition, iri_text)}
            return Description(facts, (left, right), _exists(condition))
        case Filter(condition, child):
            return Description({"condition": expression_text(condition, iri_text)}, (child,), _exists(condition))
        case Graph(name, child) | Window(name, child, None):
            return Description({"name": term_text(name, iri_text)}, (child,))
        case Window(name, child, Variable() as stream):
            return Description({"name": term_text(name, iri_text), "stream": term_text(stream)}, (child,))
        case Service(endpoint, child, silent):
            return Description({"endpoint": endpoint_text(endpoint, iri_text), "silent": silent}, (child,))
        case Extend(child, variable, expression):
            facts = {"variable": term_text(variable, iri_text), "expression": expression_text(expression, iri_text)}
            return Description(facts, (child,), _exists(expression))
        case Values(variables, rows):
            cells = [["UNDEF" if term is None else term_text(term, iri_text) for term in row] for row in rows]
            return Description({"variables": _names(variables), "rows": cells})
        case Group(child, keys, aggregates):
            computed = {term_text(variable): expression_text(each, iri_text) for variable, each in aggregates}
            facts = {"keys": _names(keys), "aggregates": computed}
            return Description(facts, (child,), _exists(*(aggregate for _, aggregate in aggregates)))
        case OrderBy(child, conditions):
            facts = {"conditions": [order_text(each, iri_text) for each in conditions]}
            return Description(facts, (child,), _exists(*(each.expression for each in conditions)))
        case Project(child, variables):
            return Description({"variables": _names(variables)}, (child,))
        case Slice(child, offset, limit):
            return Description({"offset": offset, "limit": limit}, (child,))
        case Distinct(child) | Reduced(child):
            return Description({}, (child,))
        case _:
            raise TypeError(f"no description is defined for {type(node).__name__}")


def _names(variables: tuple[Variable, ...]) -> list[str]:
    return [term_text(variable) for variable in variables]


def _exists(*expressions: Expression | None) -> tuple[Node, ...]:
    """The patterns of EXISTS in expressions, from left to right."""
    return tuple(pattern for expression in expressions for pattern in _exists_in(expression))


def _exists_in(expression: Expression | None) -> Iterator[Node]:
    if isinstance(expression, Exists):
        yield expression.pattern
    elif expression is not None and is_dataclass(expression):
        for field in fields(expression):
            value = getattr(expression, field.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Expression):
                    yield from _exists_in(part)
