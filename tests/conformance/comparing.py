"""Whether an answer is the one that the suite expects."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.expected import TermAnswer
from conformance.isomorphism import Row, same_bag, same_sequence


def difference(found: TermAnswer, expected: TermAnswer, *, lax: bool = False) -> str:
    """Empty where the answers agree, else what is wrong, for people to read.

    `lax` lets duplicates be left out, as REDUCED may.
    """
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


def _names(answer: TermAnswer) -> str:
    return "none" if answer.variables is None else " ".join(f"?{name}" for name in sorted(answer.variables))


def _show(rows: Iterable[Row]) -> str:
    lines = ["  " + "  ".join("-" if term is None else str(term) for term in row) for row in rows]
    return "\n".join(lines) or "  nothing"
