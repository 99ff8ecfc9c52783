"""Expressions in the scope of an operator."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.expressions import Expression
from freshet.expressions import evaluate as expressions
from freshet.expressions.context import Context
from freshet.oneshot.dataset import Ids
from freshet.oneshot.exists import exists
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table
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
