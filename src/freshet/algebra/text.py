"""Terms, paths and expressions as SPARQL would write them, for people to read."""

from __future__ import annotations

import re

from freshet.algebra.expressions import (
    Aggregate,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Exists,
    Expression,
    In,
    Negate,
    Not,
    Or,
    Variable,
)
from freshet.algebra.names import IriText
from freshet.algebra.nodes import (
    Alternative,
    Inverse,
    Link,
    NegatedPropertySet,
    OrderCondition,
    Path,
    PatternTerm,
    QuadPattern,
    Repeat,
    Sequence,
    TriplePattern,
)
from freshet.rdf.terms import RDF_TYPE, XSD, XSD_STRING, Iri, Literal

_PLAIN_DATATYPES = {XSD + "integer", XSD + "decimal", XSD + "double", XSD + "boolean"}
_OPERAND = 7
_CREDENTIALS = re.compile(r"^([^/?#]*//)[^/?#]*@")


def term_text(term: PatternTerm, iri_text: IriText = str) -> str:
    """A term or variable; numbers and booleans plain, Freshet's own variables without a question mark."""
    match term:
        case Variable(name):
            return f"_:{name[2:]}" if name.startswith("._") else name if name.startswith(".") else f"?{name}"
        case Iri():
            return iri_text(term)
        case Literal(lexical, datatype, None) if datatype.value in _PLAIN_DATATYPES and lexical:
            return lexical
        case Literal(lexical, datatype, None) if datatype != XSD_STRING:
            return f"{Literal(lexical)}^^{iri_text(datatype)}"
        case _:
            return str(term)


def endpoint_text(endpoint: PatternTerm, iri_text: IriText = str) -> str:
    """An endpoint of SERVICE, without credentials in it: plans are shown to others."""
    if isinstance(endpoint, Iri):
        endpoint = Iri(_CREDENTIALS.sub(r"\1...@", endpoint.value))
    return term_text(endpoint, iri_text)


def triple_terms(pattern: TriplePattern, iri_text: IriText = str) -> tuple[str, str, str]:
    """The three terms of a triple pattern, with `a` for rdf:type."""
    predicate = "a" if pattern.predicate == RDF_TYPE else term_text(pattern.predicate, iri_text)
    return term_text(pattern.subject, iri_text), predicate, term_text(pattern.object, iri_text)


def triple_text(pattern: TriplePattern, iri_text: IriText = str) -> str:
    """A triple pattern, with `a` for rdf:type."""
    return " ".join(triple_terms(pattern, iri_text))


def template_text(pattern: TriplePattern | QuadPattern, iri_text: IriText = str) -> str:
    """A triple of a template, in its graph."""
    if isinstance(pattern, TriplePattern):
        return triple_text(pattern, iri_text)
    inside = triple_text(pattern.triple, iri_text)
    return inside if pattern.graph is None else f"GRAPH {term_text(pattern.graph, iri_text)} {{ {inside} }}"


def path_text(path: Path, iri_text: IriText = str) -> str:
    """A property path, with brackets wherever it has parts."""

    def part(inner: Path) -> str:
        plain = isinstance(inner, Link | NegatedPropertySet | Repeat)
        return path_text(inner, iri_text) if plain else f"({path_text(inner, iri_text)})"

    match path:
        case Link(predicate):
            return "a" if predicate == RDF_TYPE else iri_text(predicate)
        case Inverse(inner):
            return f"^{part(inner)}"
        case Sequence(left, right):
            return f"{part(left)}/{part(right)}"
        case Alternative(left, right):
            return f"{part(left)}|{part(right)}"
        case Repeat(inner, least, once):
            repeated = f"({path_text(inner, iri_text)})" if isinstance(inner, Repeat) else part(inner)
            return f"{repeated}{'?' if once else '+' if least else '*'}"
        case NegatedPropertySet(forward, backward):
            return f"!({'|'.join([*map(iri_text, forward), *(f'^{iri_text(each)}' for each in backward)])})"
        case _:
            raise TypeError(f"no text is defined for {type(path).__name__}")


def order_text(condition: OrderCondition, iri_text: IriText = str) -> str:
    """One key of ORDER BY."""
    text = expression_text(condition.expression, iri_text)
    return f"DESC({text})" if condition.descending else text


def expression_text(expression: Expression, iri_text: IriText = str) -> str:
    """An expression with no more brackets than it needs; the pattern of EXISTS is left to be shown elsewhere.

    >>> expression_text(And(Not(Variable("a")), Compare("<", Variable("b"), Variable("c"))))
    '!?a && ?b < ?c'
    """
    return _text(expression, iri_text)[1]


def _text(expression: Expression, iri_text: IriText) -> tuple[int, str]:
    """How tightly the expression binds, and its text."""
    match expression:
        case Or(left, right):
            return 1, f"{_within(left, 1, iri_text)} || {_within(right, 2, iri_text)}"
        case And(left, right):
            return 2, f"{_within(left, 2, iri_text)} && {_within(right, 3, iri_text)}"
        case Compare(operator, left, right):
            return 3, f"{_within(left, 4, iri_text)} {operator} {_within(right, 4, iri_text)}"
        case In(operand, choices, negated):
            return 3, f"{_within(operand, 4, iri_text)} {'NOT IN' if negated else 'IN'} ({_list(choices, iri_text)})"
        case Arithmetic("+" | "-" as operator, left, right):
            return 4, f"{_within(left, 4, iri_text)} {operator} {_within(right, 5, iri_text)}"
        case Arithmetic(operator, left, right):
            return 5, f"{_within(left, 5, iri_text)} {operator} {_within(right, 6, iri_text)}"
        case Not(operand):
            return 6, f"!{_within(operand, _OPERAND, iri_text)}"
        case Negate(operand):
            return 6, f"-{_within(operand, _OPERAND, iri_text)}"
        case Variable():
            return _OPERAND, term_text(expression, iri_text)
        case Constant(term):
            return _OPERAND, term_text(term, iri_text)
        case Call(function, arguments):
            name = function if function.replace("_", "").isalnum() else iri_text(Iri(function))
            return _OPERAND, f"{name}({_list(arguments, iri_text)})"
        case Exists(_, negated):
            return _OPERAND, "NOT EXISTS {...}" if negated else "EXISTS {...}"
        case Aggregate():
            return _OPERAND, _aggregate(expression, iri_text)
        case _:
            raise TypeError(f"no text is defined for {type(expression).__name__}")


def _within(expression: Expression, tightness: int, iri_text: IriText) -> str:
    binds, text = _text(expression, iri_text)
    return text if binds >= tightness else f"({text})"


def _list(expressions: tuple[Expression, ...], iri_text: IriText) -> str:
    return ", ".join(expression_text(each, iri_text) for each in expressions)


def _aggregate(aggregate: Aggregate, iri_text: IriText) -> str:
    distinct = "DISTINCT " if aggregate.distinct else ""
    operand = "*" if aggregate.operand is None else expression_text(aggregate.operand, iri_text)
    separator = f"; SEPARATOR={Literal(aggregate.separator)}" if aggregate.function == "GROUP_CONCAT" else ""
    return f"{aggregate.function}({distinct}{operand}{separator})"
