"""Terms, paths and expressions as SPARQL would write them, for people to read."""

from __future__ import annotations

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
from freshet.algebra.nodes import (
    Alternative,
    Inverse,
    Link,
    NegatedPropertySet,
    OrderCondition,
    Path,
    PatternTerm,
    Repeat,
    Sequence,
    TriplePattern,
)
from freshet.rdf.terms import RDF_TYPE, XSD, Literal

_PLAIN_DATATYPES = {XSD + "integer", XSD + "decimal", XSD + "double", XSD + "boolean"}
_OPERAND = 7


def term_text(term: PatternTerm) -> str:
    """A term or variable; numbers and booleans plain, Freshet's own variables without a question mark."""
    match term:
        case Variable(name):
            return f"_:{name[2:]}" if name.startswith("._") else name if name.startswith(".") else f"?{name}"
        case Literal(lexical, datatype, None) if datatype.value in _PLAIN_DATATYPES and lexical:
            return lexical
        case _:
            return str(term)


def triple_text(pattern: TriplePattern) -> str:
    """A triple pattern, with `a` for rdf:type."""
    predicate = "a" if pattern.predicate == RDF_TYPE else term_text(pattern.predicate)
    return f"{term_text(pattern.subject)} {predicate} {term_text(pattern.object)}"


def path_text(path: Path) -> str:
    """A property path, with brackets wherever it has parts."""
    match path:
        case Link(predicate):
            return "a" if predicate == RDF_TYPE else str(predicate)
        case Inverse(inner):
            return f"^{_path_part(inner)}"
        case Sequence(left, right):
            return f"{_path_part(left)}/{_path_part(right)}"
        case Alternative(left, right):
            return f"{_path_part(left)}|{_path_part(right)}"
        case Repeat(inner, least, once):
            repeated = f"({path_text(inner)})" if isinstance(inner, Repeat) else _path_part(inner)
            return f"{repeated}{'?' if once else '+' if least else '*'}"
        case NegatedPropertySet(forward, backward):
            return f"!({'|'.join([*map(str, forward), *(f'^{each}' for each in backward)])})"
        case _:
            raise TypeError(f"no text is defined for {type(path).__name__}")


def _path_part(path: Path) -> str:
    plain = isinstance(path, Link | NegatedPropertySet | Repeat)
    return path_text(path) if plain else f"({path_text(path)})"


def order_text(condition: OrderCondition) -> str:
    """One key of ORDER BY."""
    text = expression_text(condition.expression)
    return f"DESC({text})" if condition.descending else text


def expression_text(expression: Expression) -> str:
    """An expression with no more brackets than it needs; the pattern of EXISTS is left to be shown elsewhere.

    >>> expression_text(And(Not(Variable("a")), Compare("<", Variable("b"), Variable("c"))))
    '!?a && ?b < ?c'
    """
    return _text(expression)[1]


def _text(expression: Expression) -> tuple[int, str]:
    """How tightly the expression binds, and its text."""
    match expression:
        case Or(left, right):
            return 1, f"{_within(left, 1)} || {_within(right, 2)}"
        case And(left, right):
            return 2, f"{_within(left, 2)} && {_within(right, 3)}"
        case Compare(operator, left, right):
            return 3, f"{_within(left, 4)} {operator} {_within(right, 4)}"
        case In(operand, choices, negated):
            return 3, f"{_within(operand, 4)} {'NOT IN' if negated else 'IN'} ({_list(choices)})"
        case Arithmetic("+" | "-" as operator, left, right):
            return 4, f"{_within(left, 4)} {operator} {_within(right, 5)}"
        case Arithmetic(operator, left, right):
            return 5, f"{_within(left, 5)} {operator} {_within(right, 6)}"
        case Not(operand):
            return 6, f"!{_within(operand, _OPERAND)}"
        case Negate(operand):
            return 6, f"-{_within(operand, _OPERAND)}"
        case Variable():
            return _OPERAND, term_text(expression)
        case Constant(term):
            return _OPERAND, term_text(term)
        case Call(function, arguments):
            name = function if function.replace("_", "").isalnum() else f"<{function}>"
            return _OPERAND, f"{name}({_list(arguments)})"
        case Exists(_, negated):
            return _OPERAND, "NOT EXISTS {...}" if negated else "EXISTS {...}"
        case Aggregate():
            return _OPERAND, _aggregate(expression)
        case _:
            raise TypeError(f"no text is defined for {type(expression).__name__}")


def _within(expression: Expression, tightness: int) -> str:
    binds, text = _text(expression)
    return text if binds >= tightness else f"({text})"


def _list(expressions: tuple[Expression, ...]) -> str:
    return ", ".join(expression_text(each) for each in expressions)


def _aggregate(aggregate: Aggregate) -> str:
    distinct = "DISTINCT " if aggregate.distinct else ""
    operand = "*" if aggregate.operand is None else expression_text(aggregate.operand)
    separator = f"; SEPARATOR={Literal(aggregate.separator)}" if aggregate.function == "GROUP_CONCAT" else ""
    return f"{aggregate.function}({distinct}{operand}{separator})"
