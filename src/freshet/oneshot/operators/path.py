"""PathPattern: the ends of a property path. It is walked from the end of which the fewest nodes are known.

| path   | graph             | ends (?x, ?y)          |
| ------ | ----------------- | ---------------------- |
| ?x :p+ ?y | a :p b, b :p c | (a, b), (b, c), (a, c) |

A way of no steps leads from a term to itself: any term that the query names (or an outer solution of EXISTS gives),
and for a variable every node of the graph.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Path, PathPattern, PatternTerm
from freshet.oneshot.constants import constant_id
from freshet.oneshot.dataset import Ids
from freshet.oneshot.evaluate import operator
from freshet.oneshot.paths import Walker, can_be_empty
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table


@operator.register
def _(node: PathPattern, scope: Scope) -> Table:
    walker = Walker(scope.graph, scope.dictionary)
    starts, ends = (
        _known_nodes(node.subject, node.path, walker, scope),
        _known_nodes(node.object, node.path, walker, scope),
    )
    if starts is None and ends is None:
        found = walker.ends(node.path)
    elif ends is None or (starts is not None and len(starts) <= len(ends)):
        assert starts is not None
        rows, reached = walker.walk(node.path, starts)
        found = starts[rows], reached
    else:
        rows, reached = walker.walk(node.path, ends, backward=True)
        found = reached, ends[rows]
    return _solutions(node, found, scope)


def _known_nodes(term: PatternTerm, path: Path, walker: Walker, scope: Scope) -> Ids | None:
    """The nodes that an end can be, each once; None where it can be any."""
    if not isinstance(term, Variable):
        return np.array([constant_id(term, scope.dictionary)], np.int64)
    name = term.name
    if scope.outer is not None and name in scope.outer.columns:
        return np.unique(scope.outer.columns[name])
    if scope.hint is None or name not in scope.hint.columns:
        return None
    nodes = np.unique(scope.hint.columns[name])
    return nodes[walker.present(nodes)] if can_be_empty(path) else nodes


def _solutions(node: PathPattern, found: tuple[Ids, Ids], scope: Scope) -> Table:
    columns: dict[str, Ids] = {}
    kept: NDArray[np.bool_] | None = None
    for term, ids in zip((node.subject, node.object), found, strict=True):
        if not isinstance(term, Variable):
            same = ids == constant_id(term, scope.dictionary)
        elif term.name in columns:
            same = ids == columns[term.name]
        else:
            columns[term.name] = ids
            continue
        kept = same if kept is None else kept & same
    table = Table(columns, len(found[0]))
    return table if kept is None else table.where(kept)
