"""Expressions in SPARQL, evaluated by Freshet over rows of terms, and by oxigraph from the same text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache

import numpy as np
from hypothesis import strategies as st

from freshet.algebra.expressions import Expression
from freshet.algebra.nodes import Extend, Project
from freshet.expressions.context import Context
from freshet.expressions.evaluate import evaluate
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Term
from freshet.syntax.parser import parse_query
from oxigraph_expressions import PREFIX, oxigraph_rows

Row = tuple[Term | None, ...]

NOW = datetime(2024, 2, 29, 12, 30, 15, 250_000, UTC)
CONTEXT = Context(now=NOW, base="http://example.org/base/")


def rows(*arguments: st.SearchStrategy[Term | None]) -> st.SearchStrategy[list[Row]]:
    """Columns to try a function on."""
    return st.lists(st.tuples(*arguments), min_size=1, max_size=30)


@cache
def expression_of(text: str) -> Expression:
    """The algebra of an expression."""
    root = parse_query(f"{PREFIX}SELECT ({text} AS ?result) {{ }}").root
    assert isinstance(root, Project)
    assert isinstance(root.child, Extend)
    return root.child.expression


def freshet_values(
    expression: str | Expression, rows: Sequence[Row] = ((),), context: Context | None = CONTEXT
) -> list[Term | None]:
    """The value of an expression over ?a, ?b, ?c for each row."""
    dictionary = Dictionary()
    columns = {
        name: np.array([dictionary.encode(term) if term else 0 for term in column], np.int64)
        for name, column in zip("abc", zip(*rows, strict=True), strict=False)
    }
    parsed = expression_of(expression) if isinstance(expression, str) else expression
    return dictionary.decode_many(evaluate(parsed, columns, len(rows), dictionary, context))


def value(text: str) -> Term | None:
    """The value of an expression without variables."""
    return freshet_values(text)[0]


def agree(texts: Sequence[str], rows: Sequence[Row]) -> None:
    """Freshet and oxigraph give the same terms."""
    expected = oxigraph_rows(texts, "abc"[: len(rows[0])], rows)
    for at, text in enumerate(texts):
        for found, said, row in zip(freshet_values(text, rows), expected, rows, strict=True):
            assert found == said[at], f"{text} of {', '.join(map(str, row))}: {found}, not {said[at]}"
