"""What cannot be kept by increments: evaluated anew, but only when a graph that it reads has changed.

    ΔQ = Q(graphs + Δgraphs) - Q(graphs)        computed where Δgraphs is not empty

Property paths that repeat, GRAPH with a variable, and EXISTS in places where it is more than a join. Where SERVICE
stands in it, it is evaluated every time, from local views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from freshet.expressions.context import Context
from freshet.native.change import Change
from freshet.native.inputs import Buffer
from freshet.native.plan import PlanAgain
from freshet.native.r2s.bags import table_difference
from freshet.oneshot import operators as operators  # evaluate knows the operators once they are imported
from freshet.oneshot.dataset import DEFAULT_GRAPH, Dataset, GraphReader
from freshet.oneshot.deadline import Deadline
from freshet.oneshot.evaluate import evaluate
from freshet.oneshot.scope import NO_SERVICES, Scope, Services
from freshet.oneshot.table import Table
from freshet.oneshot.view import MergedGraph
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Iri
from freshet.rdf.triples import Ids, Triples

_NOTHING = Change(Table({}, 0), Table({}, 0))


class Readers(Protocol):
    """What the store gives: triples made ready to be read, and the named graphs as they are now."""

    def reader(self, triples: Triples) -> GraphReader: ...
    def named(self) -> Dataset: ...


class FollowedGraph:
    """A graph in leaf buffers that match every triple, with a reader that is made when it is needed."""

    def __init__(self, buffers: Sequence[Buffer], reader: Callable[[Triples], GraphReader]) -> None:
        self._buffers = buffers
        self._make = reader
        self._readers: list[GraphReader | None] = [None] * len(buffers)
        self._seen: int | None = None

    def changed(self, number: int) -> bool:
        """Whether any triple came or went since it was asked last."""
        seen, self._seen = self._seen, number
        if seen is None:
            return True
        moved = [bool(len(each.fresh(seen)) or len(each.dead(seen))) for each in self._buffers]
        self._readers = [None if new else old for new, old in zip(moved, self._readers, strict=True)]
        return any(moved)

    def reader(self) -> GraphReader:
        for at, buffer in enumerate(self._buffers):
            if self._readers[at] is None:
                rows = buffer.values[buffer.live_rows()]
                columns = (np.ascontiguousarray(rows[:, place]) for place in range(3))
                self._readers[at] = self._make(Triples(*columns))
        readers = [each for each in self._readers if each is not None]
        return readers[0] if len(readers) == 1 else MergedGraph(readers)


class AgainOp:
    """A part of a query that the one-shot evaluator answers."""

    def __init__(
        self,
        plan: PlanAgain,
        graphs: Mapping[Iri | None, FollowedGraph],
        readers: Readers,
        dictionary: Dictionary,
        services: Services = NO_SERVICES,
    ) -> None:
        self._plan = plan
        self._services = services
        self._names = tuple(sorted(plan.names))
        self._graphs = {DEFAULT_GRAPH if name is None else dictionary.encode(name): g for name, g in graphs.items()}
        self._readers = readers
        self._dictionary = dictionary
        self._named: list[GraphReader] = []  # when it was asked last
        self._now: Table | None = None

    def changes(self, number: int) -> Change:
        # Each is asked, so that none tells of a change twice.
        changed = [self._named_changed(), *(graph.changed(number) for graph in self._graphs.values())]
        if self._now is not None and not any(changed) and not self._plan.services:
            return _NOTHING
        before, self._now = self.rows(), self._evaluated()
        return Change(
            table_difference(self._now, before, self._names), table_difference(before, self._now, self._names)
        )

    def rows(self) -> Table:
        return Table({}, 0) if self._now is None else self._now

    def _named_changed(self) -> bool:
        """Whether a named graph came or changed since, where any of them may be read."""
        if not self._plan.reads_all_named:
            return False
        named = self._readers.named()
        before, self._named = self._named, [named.graph(name) for name in named.names().tolist()]
        # A graph that has changed has another reader; those before are kept, so that none of them can be taken for it.
        return len(before) != len(self._named) or any(
            old is not new for old, new in zip(before, self._named, strict=True)
        )

    def _evaluated(self) -> Table:
        dataset = _Graphs(
            {name: graph.reader() for name, graph in self._graphs.items()},
            self._readers.named(),
            None if self._plan.named is None else {self._dictionary.encode(name) for name in self._plan.named},
        )
        scope = Scope(
            dataset=dataset,
            graph=dataset.graph(DEFAULT_GRAPH),
            dictionary=self._dictionary,
            deadline=Deadline(),
            context=Context(datetime.now(UTC), None),
            services=self._services,
        )
        return evaluate(self._plan.node, scope)


class _Graphs:
    """The graphs that a query reads by name, and the stored named graphs for `GRAPH ?g`."""

    def __init__(self, graphs: Mapping[int, GraphReader], stored: Dataset, seen: set[int] | None) -> None:
        self._graphs = graphs
        self._stored = stored
        names = stored.names()
        self._names = names if seen is None else names[np.isin(names, list(seen))]

    def graph(self, name: int) -> GraphReader:
        if name in self._graphs:
            return self._graphs[name]
        return self._stored.graph(name) if (self._names == name).any() else MergedGraph([])

    def names(self) -> Ids:
        return self._names
