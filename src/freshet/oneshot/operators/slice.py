"""Slice: OFFSET and LIMIT. Below it, no more is found than is needed, where that is easy."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

import numpy as np

from freshet.algebra.nodes import BGP, Extend, Filter, LeftJoin, Node, Project, Slice, Union
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.operators.bgp import match
from freshet.oneshot.operators.extend import extend_table
from freshet.oneshot.operators.filter import filter_table
from freshet.oneshot.operators.left_join import left_join_table
from freshet.oneshot.operators.project import project_table
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Rows, Table, number_groups, stack_tables

_FIRST_TRY = 1 << 10  # solutions of what a filter stands on
_MORE = 16  # times as many, where they were not enough


@operator.register
def _(node: Slice, scope: Scope) -> Table:
    whole = replace(scope, hint=None)
    end = None if node.limit is None else node.offset + node.limit
    table = (
        evaluate(node.child, whole)
        if end is None or scope.outer is not None
        else first_solutions(node.child, whole, end)
    )
    outer_names = scope.outer_names(table)
    if not outer_names:
        return _rows(table, node.offset, table.count if end is None else min(end, table.count))
    groups, _ = number_groups(table, outer_names)
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
def first_solutions(node: Node, scope: Scope, limit: int) -> Table:
    """At least `limit` solutions of a node if it has them, perhaps not all."""
    return evaluate(node, scope)


@first_solutions.register
def _(node: BGP, scope: Scope, limit: int) -> Table:
    return match(node, scope, limit)


@first_solutions.register
def _(node: Project, scope: Scope, limit: int) -> Table:
    names = [variable.name for variable in node.variables]
    return project_table(first_solutions(node.child, scope.select(names), limit), names)


@first_solutions.register
def _(node: Extend, scope: Scope, limit: int) -> Table:
    return extend_table(first_solutions(node.child, scope, limit), node, scope)


@first_solutions.register
def _(node: LeftJoin, scope: Scope, limit: int) -> Table:
    return left_join_table(
        first_solutions(node.left, scope, limit), node, scope
    )  # which leaves at least one row of each


@first_solutions.register
def _(node: Filter, scope: Scope, limit: int) -> Table:
    if not _stops_early(node.child):
        return evaluate(node, scope)
    tried = max(limit, _FIRST_TRY)
    while True:
        child = first_solutions(node.child, scope, tried)
        found = filter_table(child, node, scope)
        if found.count >= limit or child.count < tried:
            return found
        tried *= _MORE


def _stops_early(node: Node) -> bool:
    """Whether fewer solutions of a node are less work."""
    match node:
        case BGP():
            return True
        case Project(child) | Extend(child) | Filter(_, child) | LeftJoin(child):
            return _stops_early(child)
        case Union(left, right):
            return _stops_early(left) and _stops_early(right)
    return False


@first_solutions.register
def _(node: Union, scope: Scope, limit: int) -> Table:
    left = first_solutions(node.left, scope, limit)
    return left if left.count >= limit else stack_tables([left, first_solutions(node.right, scope, limit - left.count)])
