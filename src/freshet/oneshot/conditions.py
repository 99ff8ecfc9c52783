"""Expressions in the scope of an operator, and EXISTS in them (SPARQL 1.1, 18.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.expressions import Exists, Expression
from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import Node
from freshet.expressions import evaluate as expressions
from freshet.expressions.context import Context
from freshet.oneshot.dataset import Ids
from freshet.oneshot.endpoint_rows import skip_unbound_services
from freshet.oneshot.evaluate import evaluate
from freshet.oneshot.joining import have_compatible
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Rows, Table, number_groups
from freshet.rdf.errors import UnsupportedError


def value(expression: Expression, table: Table, scope: Scope) -> Ids:
    """The ids of an expression's values, one a row; 0 is an error."""
    context = _context(expression, scope)
    return expressions.evaluate(expression, table.columns, table.count, scope.dictionary, context)


def holds(condition: Expression, table: Table, scope: Scope) -> NDArray[np.bool_]:
    """Where a condition is true."""
    return expressions.test(condition, table.columns, table.count, scope.dictionary, _context(condition, scope))


def _context(expression: Expression, scope: Scope) -> Context:
    context = replace(scope.context, exists=partial(exists, scope))
    if what := expressions.unsupported_reason(expression, context):
        raise UnsupportedError(f"{what} is not supported yet in one-shot queries")
    return context


def exists(scope: Scope, expression: Exists, columns: Mapping[str, Ids], count: int) -> NDArray[np.bool_]:
    """For which rows the pattern has a solution, whether EXISTS asks for it or NOT EXISTS.

    The rows that agree on what the pattern mentions have one answer, so the pattern is evaluated for the distinct ones,
    as outer solutions of its scope. Rows that leave such variables unbound leave them free in the pattern; what is
    bound decides the class of a row, and each class is evaluated by itself.
    """
    names = variables_of(expression.pattern)
    outer = Table({name: ids for name, ids in columns.items() if name in names}, count)
    result = np.zeros(count, np.bool_)
    for rows in rows_by_bound(outer):
        some = outer.take(rows).bound_columns()
        numbers, firsts = number_groups(some, tuple(some.columns))
        pattern = skip_unbound_services(expression.pattern, outer.columns.keys() - some.columns.keys())
        result[rows] = _have_solutions(some.take(firsts), pattern, scope)[numbers]
    return result


def rows_by_bound(table: Table) -> list[Rows]:
    """The rows in classes that bind the same variables."""
    unbound = [name for name, ids in table.columns.items() if not ids.all()]
    if not unbound:
        return [np.arange(table.count)]
    masks, firsts = number_groups(
        Table({name: (table.columns[name] != 0).astype(np.int64) for name in unbound}, table.count), unbound
    )
    return [np.flatnonzero(masks == number) for number in range(len(firsts))]


def _have_solutions(outer: Table, pattern: Node, scope: Scope) -> NDArray[np.bool_]:
    given = outer if outer.columns else None
    found = evaluate(pattern, replace(scope, outer=given, hint=given))
    names = [name for name in outer.columns if name in found.columns]
    if not names:
        return np.full(outer.count, found.count > 0)
    return have_compatible(outer, found, names, ())
