"""Whether an answer is the one that the suite expects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from conformance.expected import TermAnswer
from conformance.isomorphism import Row, same_bag, same_sequence
from freshet.rdf.ids import XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT
from freshet.rdf.terms import Literal, Term


def difference(found: TermAnswer, expected: TermAnswer, *, lax: bool = False, by_value: bool = False) -> str:
    """Empty where the answers agree, else what is wrong, for people to read.

    `lax` lets duplicates be left out, as REDUCED may; `by_value` lets numbers be written in another way.
    """
    if by_value:
        found, expected = _with_plain_numbers(found), _with_plain_numbers(expected)
    if found.truth != expected.truth:
        return f"the answer is {found.truth}, expected {expected.truth}"
    if found.variables != expected.variables:
        return f"the variables are {_names(found)}, expected {_names(expected)}"
    if _same_rows(found, expected, lax):
        return ""
    return f"found:\n{_show(found.rows)}\nexpected{' in order' * expected.ordered}:\n{_show(expected.rows)}"


def _same_rows(found: TermAnswer, expected: TermAnswer, lax: bool) -> bool:
    if lax:
        return len(found.rows) <= len(expected.rows) and same_bag(set(found.rows), set(expected.rows))
    return (same_sequence if expected.ordered else same_bag)(found.rows, expected.rows)


def _with_plain_numbers(answer: TermAnswer) -> TermAnswer:
    return replace(answer, rows=tuple(tuple(map(_plain, row)) for row in answer.rows))


def _plain(term: Term | None) -> Term | None:
    """A number in one form for each value; doubles that the order of additions changes are one."""
    if not isinstance(term, Literal) or term.datatype not in (XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT):
        return term
    try:
        value = Decimal(term.lexical).normalize()
    except InvalidOperation:
        return term
    return replace(term, lexical=f"{value:f}" if term.datatype == XSD_DECIMAL else f"{float(value):.9g}")


def _names(answer: TermAnswer) -> str:
    return "none" if answer.variables is None else " ".join(f"?{name}" for name in sorted(answer.variables))


def _show(rows: Iterable[Row]) -> str:
    lines = ["  " + "  ".join("-" if term is None else str(term) for term in row) for row in rows]
    return "\n".join(lines) or "  nothing"
