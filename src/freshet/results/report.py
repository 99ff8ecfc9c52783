"""What queries give back, as ids; the dictionary turns them into terms when they are written.

The dictionary keeps their terms as long as they themselves are kept: hold on to the report, not only to its rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.nodes import StreamOperator


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Solutions:
    """A sequence of solutions: a row each, a column of ids for each variable, 0 where it is unbound."""

    variables: tuple[str, ...]
    rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class BooleanAnswer:
    """What ASK gives."""

    value: bool


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class GraphAnswer:
    """What CONSTRUCT and DESCRIBE give: a set of triples."""

    subjects: NDArray[np.int64]
    predicates: NDArray[np.int64]
    objects: NDArray[np.int64]


Answer = Solutions | BooleanAnswer | GraphAnswer


@dataclass(frozen=True, slots=True)
class Freshness:
    """How good an answer is that was made with remote data: what share is expected to be right, and what it took.

    `oldest_ms` is how long ago the oldest of the remote data in it was fetched, `missed` has the constraints that
    could not be kept (`accuracy`, `latency`), `failing` says why an endpoint gave nothing.
    """

    accuracy: float
    refreshes: int
    latency_ms: float
    oldest_ms: int
    missed: tuple[str, ...] = ()
    failing: str | None = None


@dataclass(slots=True, eq=False, weakref_slot=True)  # a frozen one takes five times as long to make
class Report:
    """What one evaluation of a registered query puts out (R2S): the rows as in `Solutions`, or a graph (CONSTRUCT).

    Nobody changes one: several may have it.
    """

    query: str
    time_ms: int
    stream: StreamOperator
    variables: tuple[str, ...]
    rows: NDArray[np.int64]
    graph: GraphAnswer | None = None
    freshness: Freshness | None = None  # where the query has SERVICE

    @property
    def shown(self) -> Solutions:
        """What there is to show: the rows, or the triples of the graph as rows of their own."""
        if self.graph is None:
            return Solutions(self.variables, self.rows)
        triples = (self.graph.subjects, self.graph.predicates, self.graph.objects)
        return Solutions(("subject", "predicate", "object"), np.stack(triples, axis=1))
