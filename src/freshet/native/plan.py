"""What the native engine runs: a join of triple patterns, perhaps grouped, then row by row up to the report."""

from __future__ import annotations

from dataclasses import dataclass

from freshet.algebra.expressions import Aggregate, Expression
from freshet.algebra.nodes import StreamOperator, TriplePattern
from freshet.algebra.windows import WindowOperator


@dataclass(frozen=True, slots=True)
class PlanLeaf:
    """A triple pattern in a window, or in the stored graph where the window is None."""

    window: WindowOperator | None
    pattern: TriplePattern


@dataclass(frozen=True, slots=True)
class PlanFilter:
    """A condition, which sees the variables of its own group only."""

    condition: Expression
    scope: frozenset[str]


@dataclass(frozen=True, slots=True)
class PlanExtend:
    """A variable computed from others."""

    variable: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class PlanGroup:
    """Keys and aggregates, each aggregate under its variable."""

    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Aggregate], ...]


RowStep = PlanFilter | PlanExtend


@dataclass(frozen=True, slots=True)
class Plan:
    """A query in the shape that the engine keeps answered.

    Leaves in windows come first. `extends` are computed on the results of the join, `rows` after grouping.
    """

    windows: tuple[WindowOperator, ...]
    leaves: tuple[PlanLeaf, ...]
    filters: tuple[PlanFilter, ...]
    extends: tuple[RowStep, ...]
    group: PlanGroup | None
    rows: tuple[RowStep, ...]
    variables: tuple[str, ...]
    distinct: bool
    output: StreamOperator

    @property
    def window_leaves(self) -> int:
        return sum(leaf.window is not None for leaf in self.leaves)
