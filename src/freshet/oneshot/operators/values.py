"""Values: inline data."""

from __future__ import annotations

import numpy as np

from freshet.algebra.nodes import Values
from freshet.oneshot.constants import constant_id
from freshet.oneshot.dataset import Ids
from freshet.oneshot.evaluate import operator
from freshet.oneshot.joining import join
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table
from freshet.rdf.deadline import current
from freshet.rdf.terms import Term

_FEW = 64
_ROWS_AT_ONCE = 1 << 13  # between two looks at the deadline


@operator.register
def _(node: Values, scope: Scope) -> Table:
    columns = {variable.name: _ids([row[at] for row in node.rows], scope) for at, variable in enumerate(node.variables)}
    table = Table(columns, len(node.rows))
    names = scope.outer_names(table)
    if not names:
        return table
    assert scope.outer is not None  # an outer variable is bound wherever it has a column, UNDEF or not
    return join(table, scope.outer.select(names).distinct())


def _ids(terms: list[Term | None], scope: Scope) -> Ids:
    if len(terms) <= _FEW:
        return np.array([0 if term is None else constant_id(term, scope.dictionary) for term in terms], np.int64)
    deadline = current()
    found = np.empty(len(terms), np.int64)
    for first in range(0, len(terms), _ROWS_AT_ONCE):
        deadline.check()
        some = terms[first : first + _ROWS_AT_ONCE]
        found[first : first + len(some)] = _some_ids(some, scope)
    return found


def _some_ids(terms: list[Term | None], scope: Scope) -> Ids:
    places = {term: at for at, term in enumerate(dict.fromkeys(term for term in terms if term is not None), 1)}
    found = np.concatenate([[0], scope.dictionary.encode_many(list(places))])
    return found[np.array([0 if term is None else places[term] for term in terms], np.int64)]
