"""Stored patterns that are joined once (the cache of CQELS), where that is cheaper than probing each of them.

A row of a window that has to look into k stored patterns makes k look-ups, and carries along rows that a later pattern
throws away. Joined in advance they are one look-up. The price is the memory of the joined rows, so they are kept where
they are not expected to be more than the patterns have together:

    | R1 ⋈ R2 |  ≈  |R1| · |R2| / max(distinct keys of R1, of R2)   <=   |R1| + |R2|

and not more than MOST_ROWS, since large patterns are not copied otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from freshet.algebra.free_variables import variables_of
from freshet.native.plan.plan import Names, PlanCache, PlanJoin, PlanLeaf, PlanNode, Stored


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows there are, and how many different values each variable has in them."""

    rows: float
    distinct: Mapping[str, float]


SizeOf = Callable[[PlanLeaf], Size]

MOST_ROWS = 1 << 20


def with_caches(node: PlanNode, size_of: SizeOf) -> PlanNode:
    """The plan with caches in every join that gains by them."""
    cached: PlanNode = _below(node, size_of)
    return _with_cache(cached, size_of) if isinstance(cached, PlanJoin) else cached


def _below(node: PlanNode, size_of: SizeOf) -> Any:
    """The node with the nodes below it changed."""
    changed: dict[str, Any] = {}
    for place in fields(node):
        part = getattr(node, place.name)
        if isinstance(part, PlanNode):
            changed[place.name] = with_caches(part, size_of)
        elif isinstance(part, tuple) and part and isinstance(part[0], PlanNode):
            changed[place.name] = tuple(with_caches(each, size_of) for each in part)
    return replace(node, **changed)


def _with_cache(join: PlanJoin, size_of: SizeOf) -> PlanNode:
    stored = [each for each in join.inputs if isinstance(each, PlanLeaf) and isinstance(each.source, Stored)]
    if len(stored) < 2 or len(stored) == len(join.inputs):
        return join
    inputs = [each for each in join.inputs if each not in stored]
    conditions = list(join.conditions)
    for group in _components(stored):
        if len(group) < 2 or not _pays(group, size_of):
            inputs += group
            continue
        names = frozenset[str]().union(*(leaf.names for leaf in group))
        inside = tuple(each for each in conditions if _variables(each.expression, each.scope) <= names)
        conditions = [each for each in conditions if each not in inside]
        inputs.append(PlanCache(names, names, PlanJoin(names, names, tuple(group), inside)))
    return replace(join, inputs=tuple(inputs), conditions=tuple(conditions))


def _variables(expression: Any, scope: Names) -> Names:
    return frozenset(variables_of(expression)) & scope


def _components(leaves: list[PlanLeaf]) -> list[list[PlanLeaf]]:
    """The leaves in groups that share variables."""
    groups: list[list[PlanLeaf]] = []
    for leaf in leaves:
        joined = [group for group in groups if any(leaf.names & each.names for each in group)]
        merged = [each for group in joined for each in group] + [leaf]
        groups = [group for group in groups if group not in joined] + [merged]
    return groups


def _pays(group: list[PlanLeaf], size_of: SizeOf) -> bool:
    sizes = sorted((size_of(leaf) for leaf in group), key=lambda size: size.rows)
    rows, distinct = sizes[0].rows, dict(sizes[0].distinct)
    for size in sizes[1:]:
        rows *= size.rows
        for name, count in size.distinct.items():
            if name in distinct:
                rows /= max(1.0, distinct[name], count)
                distinct[name] = min(distinct[name], count)
            else:
                distinct[name] = count
        distinct = {name: min(count, max(rows, 1.0)) for name, count in distinct.items()}
    return rows <= min(MOST_ROWS, sum(size.rows for size in sizes))
