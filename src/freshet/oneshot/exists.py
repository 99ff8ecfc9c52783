"""EXISTS (SPARQL 1.1, 18.6) for all rows at once.

The rows that agree on what the pattern mentions have one answer, so the pattern is evaluated for the distinct ones, as
outer solutions of its scope. Rows that leave such variables unbound leave them free in the pattern; what is bound
decides the class of a row, and each class is evaluated by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.expressions import Exists
from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import Node
from freshet.oneshot.dataset import Ids
from freshet.oneshot.endpoint_rows import without_passed_over
from freshet.oneshot.evaluate import evaluate
from freshet.oneshot.joining import have_compatible
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Rows, Table, number_groups


def exists(scope: Scope, expression: Exists, columns: Mapping[str, Ids], count: int) -> NDArray[np.bool_]:
    """For which rows the pattern has a solution, whether EXISTS asks for it or NOT EXISTS."""
    names = variables_of(expression.pattern)
    outer = Table({name: ids for name, ids in columns.items() if name in names}, count)
    result = np.zeros(count, np.bool_)
    for rows in _rows_by_bound(outer):
        some = outer.take(rows).bound_columns()
        numbers, firsts = number_groups(some, tuple(some.columns))
        pattern = without_passed_over(expression.pattern, outer.columns.keys() - some.columns.keys())
        result[rows] = _have_solutions(some.take(firsts), pattern, scope)[numbers]
    return result


def _rows_by_bound(table: Table) -> list[Rows]:
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
