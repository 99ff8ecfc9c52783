"""Answers and reports as Python shows them: a line that says what it is, and the first rows as a table."""

from __future__ import annotations

from freshet.rdf.terms import BlankNode, Iri, Literal, Term
from freshet.rdf.wording import show_count
from freshet.results.report import Answer, BooleanAnswer, GraphAnswer, Report
from freshet.results.terms import shown_rows

MOST_ROWS = 10
MOST_CHARACTERS = 60  # of a term


def answer_text(answer: Answer | Report) -> str:
    """The answer for people to read. Where the dictionary of its terms is missing, the rows are left out."""
    if isinstance(answer, BooleanAnswer):
        return str(answer.value).lower()
    shown = shown_rows(answer)
    count = len(shown.rows)
    graph = answer.graph if isinstance(answer, Report) else answer if isinstance(answer, GraphAnswer) else None
    title = show_count(count, "solution" if graph is None else "triple" if graph.graphs is None else "quad")
    if isinstance(answer, Report):
        title = f"{answer.query} at {answer.time_ms} ms, {answer.stream}: {title}"
    if answer.dictionary is None or not shown.variables or not count:
        return title
    rows = [[_text(term) for term in answer.dictionary.decode_many(row)] for row in shown.rows[:MOST_ROWS]]
    lines = [title, *_columns([list(shown.variables), *rows])]
    return "\n".join([*lines, f"... {count - MOST_ROWS:,} more"] if count > MOST_ROWS else lines)


def _text(term: Term | None) -> str:
    if term is None:
        return ""
    match term:
        case Iri(value) | Literal(value):
            pass
        case BlankNode(label):
            value = f"_:{label}"
        case _:
            value = str(term)
    line = " ".join(value.split())
    return line if len(line) <= MOST_CHARACTERS else line[: MOST_CHARACTERS - 3] + "..."


def _columns(rows: list[list[str]]) -> list[str]:
    """The cells of each row below those of the row above.

    >>> _columns([["room", "t"], ["hall", "18"]])
    ['room  t', 'hall  18']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in lines]
