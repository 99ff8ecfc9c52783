"""Slice: OFFSET and LIMIT. Below it, no more is found than is needed, where that is easy."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

import numpy as np

from freshet.algebra.nodes import BGP, Extend, Node, Project, Slice, Union
from freshet.oneshot.evaluate import evaluate
from freshet.oneshot.operators.bgp import match
from freshet.oneshot.operators.extend import extended
from freshet.oneshot.operators.project import projected
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Rows, Table, numbered, stacked


@evaluate.register
def _(node: Slice, scope: Scope) -> Table:
    whole = replace(scope, hint=None)
    end = None if node.limit is None else node.offset + node.limit
    table = evaluate(node.child, whole) if end is None or scope.outer is not None else some(node.child, whole, end)
    outer_names = scope.outer_names(table)
    if not outer_names:
        return _rows(table, node.offset, table.count if end is None else min(end, table.count))
    groups, _ = numbered(table, outer_names)
    places = _places_in_groups(groups)
    return table.where((places >= node.offset) & (places < (table.count if end is None else end)))


def _rows(table: Table, first: int, end: int) -> Table:
    first = min(first, end)
    return Table({name: ids[first:end] for name, ids in table.columns.items()}, end - first)


def _places_in_groups(groups: Rows) -> Rows:
    """The place of each row among those of its group, from 0."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    places = np.empty(len(groups), np.int64)
    places[order] = np.arange(len(groups)) - starts
    return places


@singledispatch
def some(node: Node, scope: Scope, limit: int) -> Table:
    """At least `limit` solutions of a node where it has so many, perhaps not all."""
    return evaluate(node, scope)


@some.register
def _(node: BGP, scope: Scope, limit: int) -> Table:
    return match(node, scope, limit)


@some.register
def _(node: Project, scope: Scope, limit: int) -> Table:
    names = [variable.name for variable in node.variables]
    return projected(some(node.child, scope.only(names), limit), names)


@some.register
def _(node: Extend, scope: Scope, limit: int) -> Table:
    return extended(some(node.child, scope, limit), node, scope)


@some.register
def _(node: Union, scope: Scope, limit: int) -> Table:
    left = some(node.left, scope, limit)
    return left if left.count >= limit else stacked([left, some(node.right, scope, limit - left.count)])
