"""A live query: plain SPARQL whose answer follows the stored graphs from snapshot to snapshot.

    Δanswer = Q(graphs at snapshot n) - Q(graphs at snapshot m)        by the same operators as over windows

A snapshot is a moment. Moments of snapshots are later than every time that an element can have, so that a row of the
store begins with the snapshot that has it first, whatever its event time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple, Protocol

import numpy as np

from freshet.native.buffers.leaf_buffer import LeafPattern
from freshet.native.buffers.one_way_index import Ids
from freshet.native.buffers.stored_leaf import GraphStore, StoredLeaf
from freshet.native.change import Change, MomentBatch, Operator
from freshet.native.moments import FURTHEST_MS, instant_at
from freshet.native.plan.plan import Plan, PlanNode, PlanReevaluate, Source, Stored, children
from freshet.native.r2s.bags import as_rows, bag_difference
from freshet.oneshot.dataset import GraphReader
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.triples import DEFAULT_GRAPH, Triples
from freshet.store.compaction import PointsToRows
from freshet.store.dataset import DatasetSnapshot

_FIRST_MOMENT = instant_at(FURTHEST_MS) + 1


class SnapshotStore(GraphStore, Protocol):
    """The store, which publishes snapshots."""

    def named(self) -> DatasetSnapshot: ...
    def reader(self, triples: Triples) -> GraphReader: ...


class HeldSnapshot:
    """The store at one snapshot, until it is advanced: all operators of a query read the same."""

    def __init__(self, store: SnapshotStore) -> None:
        self._store = store
        self._snapshot = store.named()

    @property
    def number(self) -> int:
        return self._snapshot.number

    def go_on(self) -> None:
        """Read what is published now."""
        self._snapshot = self._store.named()

    def past(self, snapshot: DatasetSnapshot) -> PastSnapshot:
        """A snapshot of the same store."""
        return PastSnapshot(snapshot, self._store)

    def named(self) -> DatasetSnapshot:
        return self._snapshot

    def point_to_rows(self, pointing: PointsToRows, graph: int = DEFAULT_GRAPH) -> None:
        self._store.point_to_rows(pointing, graph)
        self.go_on()  # what came before it was pointed to may have another base

    def reader(self, triples: Triples) -> GraphReader:
        return self._store.reader(triples)


class PastSnapshot:
    """One snapshot for ever: what reads it points to nothing that changes."""

    def __init__(self, snapshot: DatasetSnapshot, store: SnapshotStore) -> None:
        self._snapshot = snapshot
        self._store = store

    def named(self) -> DatasetSnapshot:
        return self._snapshot

    def point_to_rows(self, pointing: PointsToRows, graph: int = DEFAULT_GRAPH) -> None:
        """Rows of a snapshot keep their numbers."""

    def reader(self, triples: Triples) -> GraphReader:
        return self._store.reader(triples)


class StoredLeaves:
    """The leaves of a live query, which read the store at its snapshot; equal patterns have one."""

    def __init__(self, held: HeldSnapshot | PastSnapshot, dictionary: Dictionary) -> None:
        self.held = held
        self._dictionary = dictionary
        self._leaves: dict[tuple[int, LeafPattern], StoredLeaf] = {}

    def leaf(self, source: Source, pattern: LeafPattern) -> StoredLeaf:
        assert isinstance(source, Stored), "a live query has no window"
        graph = DEFAULT_GRAPH if source.graph is None else self._dictionary.encode(source.graph)
        key = graph, replace(pattern, filters=())  # the join with the parameters selects
        if key not in self._leaves:
            self._leaves[key] = StoredLeaf(key[1], self.held, graph)
        return self._leaves[key]

    def copy_of(self, leaf: StoredLeaf) -> None:
        """It is asked where the store changes only, so that nothing is worth a copy."""

    def retire(self) -> None:
        """Nothing reads them any more."""
        for leaf in self._leaves.values():
            leaf.retire()

    def step(self, batch: MomentBatch) -> bool:
        """Bring all leaves to a batch; says whether any row begins in it."""
        changed = [leaf.step(batch) for leaf in self._leaves.values()]
        return any(changed)

    def deletions(self, snapshot: DatasetSnapshot) -> int:
        """How often triples were deleted that a leaf can have had, up to a snapshot."""
        read = ((graph, pattern.constants[1]) for graph, pattern in self._leaves)
        return sum(snapshot.deletions.get(key, 0) for key in read)


class Rows(NamedTuple):
    """The solutions that a snapshot has and the one before had not, and those that it has not any more, as bags."""

    added: Ids
    removed: Ids

    @property
    def is_empty(self) -> bool:
        return not len(self.added) and not len(self.removed)


class LiveQuery:
    """The operators of a live query. The first step gives the whole answer, in order where it has one.

    Operators over stored graphs keep nothing that says which rows go with a triple. So where triples that it reads are
    deleted, operators are made anew, for the snapshot before and for the one after, and their answers are compared.
    """

    def __init__(
        self, plan: Plan, held: HeldSnapshot, dictionary: Dictionary, build: Callable[[StoredLeaves], Operator]
    ) -> None:
        self.plan = plan
        self._held = held
        self._dictionary = dictionary
        self._build = build
        self._leaves = StoredLeaves(held, dictionary)
        self._root = build(self._leaves)
        self._number = 0  # of the last step
        self.first_seconds = 0.0  # that the first step took
        self._reads_any_graph = _reads_any_graph(plan.root)
        self._nothing = np.empty((0, len(plan.variables)), np.int64)

    @property
    def snapshot(self) -> int:
        """The number of the snapshot that it has come to."""
        return self._held.number

    def begin(self) -> Rows:
        """The first step."""
        began = perf_counter()
        rows = self.step()
        self.first_seconds = perf_counter() - began
        return rows

    def step(self, *, asked: bool = False) -> Rows:
        """Go on to the newest snapshot; gives what that changes.

        Where no leaf changes, operators are left alone unless they have to be `asked`.
        """
        before = self._held.named()
        self._held.go_on()
        self._number += 1
        if self._number > 1 and self._leaves.deletions(self._held.named()) != self._leaves.deletions(before):
            return self._step_over_deletions(before)
        batch = self._batch()
        is_changed = self._leaves.step(batch)
        if not (is_changed or asked or self._number == 1 or self._reads_any_graph):
            return Rows(self._nothing, self._nothing)
        return self._rows(self._root.changes(batch))

    def _step_over_deletions(self, before: DatasetSnapshot) -> Rows:
        old = self._answer(StoredLeaves(self._held.past(before), self._dictionary))
        self._leaves.retire()
        self._leaves = StoredLeaves(self._held, self._dictionary)
        new = self._answer(self._leaves)
        return Rows(bag_difference(new, old), bag_difference(old, new))

    def _answer(self, leaves: StoredLeaves) -> Ids:
        """The whole answer, by operators that are made for it and stay."""
        self._root = self._build(leaves)
        batch = self._batch()
        leaves.step(batch)
        return self._rows(self._root.changes(batch)).added

    def _batch(self) -> MomentBatch:
        moment = _FIRST_MOMENT + self._number
        return MomentBatch(self._number, moment, moment, np.array([moment]))

    def _rows(self, change: Change) -> Rows:
        variables = self.plan.variables
        came = as_rows(change.came, variables) if change.came.count else self._nothing
        went = as_rows(change.went, variables) if change.went.count else self._nothing
        return Rows(bag_difference(came, went), bag_difference(went, came))


def _reads_any_graph(node: PlanNode) -> bool:
    """Whether a part of a plan reads graphs that have no leaf: any that `GRAPH ?g` finds."""
    if isinstance(node, PlanReevaluate):
        return node.reads_all_named
    return any(map(_reads_any_graph, children(node)))
