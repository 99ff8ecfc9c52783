"""What constant expressions come to, as far as every implementation must agree: nothing that rounds or extends."""

from __future__ import annotations

import operator
import re
from decimal import Decimal

from freshet.algebra.expressions import Arithmetic, Call, Constant, Expression
from freshet.rdf.terms import XSD, XSD_STRING, BlankNode, Iri, Literal, Term, TripleTerm

XSD_BOOLEAN = Iri(XSD + "boolean")
XSD_INTEGER = Iri(XSD + "integer")
XSD_DECIMAL = Iri(XSD + "decimal")
TRUE = Constant(Literal("true", XSD_BOOLEAN))
FALSE = Constant(Literal("false", XSD_BOOLEAN))

_GREATEST = 2**53  # beyond it implementations part ways
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_COMPARISONS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def boolean(value: bool) -> Constant:
    """`true` or `false`"""
    return TRUE if value else FALSE


def effective_boolean_value(expression: Expression) -> bool | None:
    """The effective boolean value of a constant (17.2.2); None where it is an error, or not known here."""
    if not isinstance(expression, Constant) or not isinstance(expression.term, Literal):
        return None
    value = _value(expression.term)
    return None if value is None else bool(value)


def is_error(expression: Expression) -> bool:
    """Whether the effective boolean value is certainly an error: an IRI, or a whole number divided by zero."""
    match expression:
        case Constant(term):
            return isinstance(term, Iri)
        case Arithmetic("/", Constant(Literal(_, datatype)), Constant(divisor)):
            return datatype == XSD_INTEGER and isinstance(divisor, Literal) and _integer(divisor) == 0
        case _:
            return False


def fold_comparison(symbol: str, left: Term, right: Term) -> Constant | None:
    """A comparison of two constants (17.3), or None where it is an error or not known here."""
    if symbol in ("=", "!=") and (isinstance(left, Iri) or isinstance(right, Iri)):
        if not isinstance(left, BlankNode) and not isinstance(right, BlankNode):
            return boolean((left == right) == (symbol == "="))
        return None
    if not isinstance(left, Literal) or not isinstance(right, Literal):
        return None
    one, other = _value(left), _value(right)
    if one is None or other is None or _kind(one) is not _kind(other):
        return None
    return boolean(_COMPARISONS[symbol](one, other))


def fold_arithmetic(symbol: str, left: Term, right: Term) -> Constant | None:
    """Sums, differences and products of whole numbers; quotients are decimals, whose form is left to the evaluator."""
    if symbol not in _ARITHMETIC or not isinstance(left, Literal) or not isinstance(right, Literal):
        return None
    one, other = _integer(left), _integer(right)
    return None if one is None or other is None else whole_number(_ARITHMETIC[symbol](one, other))


def fold_negation(term: Term) -> Constant | None:
    """`-term` of a whole number."""
    value = _integer(term) if isinstance(term, Literal) else None
    return None if value is None else whole_number(-value)


def whole_number(value: int) -> Constant | None:
    """The constant of a number that is not too large."""
    return Constant(Literal(str(value), XSD_INTEGER)) if abs(value) < _GREATEST else None


def fold_call(call: Call, terms: tuple[Term, ...]) -> Constant | None:
    """A function of constants: tests of terms, and functions of simple strings (17.4)."""
    match call.function, terms:
        case "SAMETERM", (left, right):
            return boolean(left == right)
        case "ISIRI" | "ISURI", (term,):
            return boolean(isinstance(term, Iri))
        case "ISLITERAL", (term,):
            return boolean(isinstance(term, Literal))
        case "ISBLANK", (term,):
            return boolean(isinstance(term, BlankNode))
        case "ISTRIPLE", (term,):
            return boolean(isinstance(term, TripleTerm))
        case "STR", (Iri(text),):
            return Constant(Literal(text))
        case "STR", (Literal(text),):
            return Constant(Literal(text))
        case "LANG", (Literal(_, _, language),):
            return Constant(Literal(language or ""))
        case "DATATYPE", (Literal(_, datatype),):
            return Constant(datatype)
        case name, (Literal(text, datatype),) if datatype == XSD_STRING:
            return _string_function(name, text)
        case name, (Literal(text, datatype), Literal(part, other)) if datatype == other == XSD_STRING:
            return _string_test(name, text, part)
        case _:
            return None


def _string_function(name: str, text: str) -> Constant | None:
    if name == "STRLEN":
        return whole_number(len(text))
    if name in ("UCASE", "LCASE") and text.isascii():  # beyond ASCII the tables of Unicode's versions differ
        return Constant(Literal(text.upper() if name == "UCASE" else text.lower()))
    return None


def _string_test(name: str, text: str, part: str) -> Constant | None:
    match name:
        case "CONTAINS":
            return boolean(part in text)
        case "STRSTARTS":
            return boolean(text.startswith(part))
        case "STRENDS":
            return boolean(text.endswith(part))
        case _:
            return None


def _value(literal: Literal) -> bool | Decimal | str | None:
    """The value of a literal that is a boolean, an exact number or a simple string."""
    match literal.datatype:
        case Iri(XSD_STRING.value):
            return literal.lexical
        case Iri(XSD_BOOLEAN.value):
            return _BOOLEANS.get(literal.lexical)
        case Iri(XSD_INTEGER.value):
            value = _integer(literal)
            return None if value is None else Decimal(value)
        case Iri(XSD_DECIMAL.value) if _DECIMAL.fullmatch(literal.lexical) and len(literal.lexical) <= 18:
            return Decimal(literal.lexical)
        case _:
            return None


def _integer(literal: Literal) -> int | None:
    if literal.datatype != XSD_INTEGER or len(literal.lexical) > 18 or not _INTEGER.fullmatch(literal.lexical):
        return None
    return int(literal.lexical)


def _kind(value: bool | Decimal | str) -> type:
    return type(value)
