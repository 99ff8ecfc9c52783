"""One-shot evaluation: a table of solutions for each operator of the algebra (SPARQL 1.1, 18.6)."""

from __future__ import annotations

from functools import singledispatch

from freshet.algebra import nodes
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table
from freshet.rdf.deadline import current
from freshet.rdf.errors import UnsupportedError


def evaluate(node: nodes.Node, scope: Scope) -> Table:
    """The solutions of a node, as a bag, with a column for each variable in scope."""
    deadline = current()
    with deadline.step():
        table = operator(node, scope)
    deadline.reserve(table.nbytes)
    return table


@singledispatch
def operator(node: nodes.Node, scope: Scope) -> Table:
    """What evaluates a node."""
    raise UnsupportedError(f"{type(node).__name__} is not supported yet in one-shot queries")
