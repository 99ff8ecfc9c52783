"""Values: inline data."""

from __future__ import annotations

import numpy as np

from freshet.algebra.nodes import Values
from freshet.oneshot.constants import given_id
from freshet.oneshot.evaluate import operator
from freshet.oneshot.joining import join
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table


@operator.register
def _(node: Values, scope: Scope) -> Table:
    columns = {
        variable.name: np.array(
            [0 if (term := row[at]) is None else given_id(term, scope.dictionary) for row in node.rows], np.int64
        )
        for at, variable in enumerate(node.variables)
    }
    table = Table(columns, len(node.rows))
    names = scope.outer_names(table)
    if not names:
        return table
    assert scope.outer is not None  # an outer variable is bound wherever it has a column, UNDEF or not
    return join(table, scope.outer.select(names).distinct())
