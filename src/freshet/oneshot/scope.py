"""What an operator is evaluated in: the active graph, and what its surroundings know already.

Two tables come from outside. `outer` holds the solutions for which an EXISTS is evaluated, all at once: its variables
are constants inside the pattern (`substitute` of SPARQL 1.1, 18.6), with another value for each outer solution. A
table inside the pattern that has columns of outer variables holds the solutions for each of their values; one without
is the same for all. `hint` is what the result will be joined with: an operator may leave out solutions that are
compatible with no row of it, and need not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from freshet.expressions.context import Context
from freshet.federation.client import Bindings, Columns, ServiceClient
from freshet.federation.service_query import ServiceQuery
from freshet.oneshot.dataset import Dataset, GraphReader
from freshet.oneshot.joining import join
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary


class Services(Protocol):
    """Remote endpoints."""

    def solutions(
        self,
        iri: str,
        query: ServiceQuery,
        dictionary: Dictionary,
        bindings: Bindings | None = None,
        check: Callable[[], None] = ...,
        seconds: float | None = None,
        silent: bool = False,
    ) -> Columns:
        """The solutions of a pattern at an endpoint, those that fit the bindings where there are some.

        `silent`: whether a ServiceError is ignored.
        """


NO_SERVICES: Services = ServiceClient()


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The surroundings of an operator. All columns of `outer` and `hint` are bound in every row.

    `context` is the query's; what EXISTS means depends on the scope, and is added where an expression is evaluated.
    """

    dataset: Dataset
    graph: GraphReader
    dictionary: Dictionary
    context: Context
    outer: Table | None = None
    hint: Table | None = None
    services: Services = NO_SERVICES

    def with_hint(self, hint: Table | None) -> Scope:
        """The same with another hint."""
        return self if hint is self.hint else replace(self, hint=hint)

    def select(self, names: Collection[str]) -> Scope:
        """What stands inside a SELECT sees of the outside: the variables that it selects."""
        if self.outer is None and self.hint is None:
            return self
        return replace(self, outer=_select_columns(self.outer, names), hint=_select_columns(self.hint, names))

    def outer_names(self, table: Table) -> list[str]:
        """The outer variables that a table has columns of."""
        return [] if self.outer is None else [name for name in self.outer.columns if name in table.columns]

    def correlate(self, table: Table, names: Iterable[str]) -> Table:
        """The table with a column for each outer variable that is named."""
        if self.outer is None:
            return table
        wanted = set(names)
        missing = [name for name in self.outer.columns if name in wanted and name not in table.columns]
        if not missing:
            return table
        outer = self.outer.select([*self.outer_names(table), *missing]).distinct()
        return join(table, outer)


def _select_columns(table: Table | None, names: Collection[str]) -> Table | None:
    if table is None:
        return None
    found = table.select(name for name in table.columns if name in names)
    return found if found.columns else None
