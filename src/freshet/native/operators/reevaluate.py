"""What cannot be kept by increments: evaluated anew, but only when a graph that it reads has changed.

    ΔQ = Q(graphs + Δgraphs) - Q(graphs)        computed where Δgraphs is not empty

Property paths that repeat, GRAPH with a variable, DESCRIBE, and EXISTS in places where it is more than a join. Where
SERVICE or NOW stands in it, it is evaluated every time, from local views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

import numpy as np

from freshet.expressions.context import Context
from freshet.native.buffers.inputs import Buffer
from freshet.native.buffers.stored_leaf import StoredLeaf
from freshet.native.change import Change, MomentBatch, merge_changes
from freshet.native.plan.plan import PlanReevaluate
from freshet.native.r2s.bags import replacement
from freshet.oneshot import operators as operators  # evaluate knows the operators once they are imported
from freshet.oneshot.dataset import DEFAULT_GRAPH, Dataset, GraphReader
from freshet.oneshot.evaluate import evaluate
from freshet.oneshot.scope import NO_SERVICES, Scope, Services
from freshet.oneshot.table import Table
from freshet.oneshot.view import MergedGraph
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Iri
from freshet.rdf.triples import Ids, Triples

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_MOMENTS = np.empty(0, np.int64)


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

    def changed(self, number: int) -> Ids:
        """The moments of a batch at which a triple came or went."""
        moments: list[Ids] = []
        for at, buffer in enumerate(self._buffers):
            came, went = buffer.fresh(number), buffer.dead(number)
            if len(came) or len(went):
                self._readers[at] = None
                moments += (buffer.births(came), buffer.deaths(went))
        return np.concatenate((*moments, _NO_MOMENTS))

    def reader(self, number: int, moment: int) -> GraphReader:
        """The graph at a moment of the present batch."""
        readers = []
        for at, buffer in enumerate(self._buffers):
            known = self._readers[at]
            if known is None and isinstance(buffer, StoredLeaf):
                known = buffer.graph_at(moment)  # read where it is
            if known is None:
                rows = np.concatenate((buffer.live_rows(), buffer.dead(number)))
                rows = rows[(buffer.births(rows) <= moment) & (buffer.deaths(rows) > moment)]
                columns = (np.ascontiguousarray(buffer.values[rows, place]) for place in range(3))
                known = self._make(Triples(*columns))
                if buffer.lives(number).is_still:
                    self._readers[at] = known
            readers.append(known)
        return readers[0] if len(readers) == 1 else MergedGraph(readers)


class ReevaluateOp:
    """A part of a query that the one-shot evaluator answers."""

    def __init__(
        self,
        plan: PlanReevaluate,
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
        self._now = Table({}, 0)
        self._is_stale = True  # whether a graph has changed since it was evaluated last

    def changes(self, batch: MomentBatch) -> Change:
        due = batch.due
        moments = [graph.changed(batch.number) for graph in self._graphs.values()]
        places = np.unique(due.searchsorted(np.concatenate((*moments, _NO_MOMENTS))))
        if len(due) and (self._is_stale or self._named_changed()):
            places = np.union1d(places, 0)
        if self._plan.services or self._plan.asks_time:
            places = np.arange(len(due))
        self._is_stale = self._is_stale and not len(due)
        found = []
        for place in places.tolist():
            if place == len(due):
                self._is_stale = True
                break
            before, self._now = self._now, self._evaluate(batch.number, due.item(place))
            found.append(replacement(before, self._now, self._names, due.item(place)))
        return merge_changes(found)

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

    def _evaluate(self, number: int, moment: int) -> Table:
        dataset = _Graphs(
            {name: graph.reader(number, moment) for name, graph in self._graphs.items()},
            self._readers.named(),
            None if self._plan.named is None else {self._dictionary.encode(name) for name in self._plan.named},
        )
        scope = Scope(
            dataset=dataset,
            graph=dataset.graph(DEFAULT_GRAPH),
            dictionary=self._dictionary,
            context=Context(_EPOCH + timedelta(milliseconds=moment >> 1) if self._plan.asks_time else _EPOCH, None),
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
