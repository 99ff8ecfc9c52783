"""The stored graphs, with a record of what streams and updates have changed in them since the last checkpoint."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np

from freshet.rdf.elements import Elements
from freshet.rdf.reading import Quads
from freshet.rdf.triples import DEFAULT_GRAPH, Ids, Triples
from freshet.runtime.checkpoint_segments import GraphRows, NetRows
from freshet.store.changes import StoreChanges
from freshet.store.dataset import StoredDataset, rows_by_graph
from freshet.store.graph import BEFORE_ALL_TIME
from freshet.store.pending_changes import PendingChanges
from freshet.store.timed_change import TimedChange


class RecordedDataset(StoredDataset):
    """What is changed while an entry of the journal is done is remembered with its `sequence`.

    What is loaded is in segments already. It is remembered too where something was deleted before, as the deletion
    comes after all that was loaded.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sequence = -1
        self.pending: dict[int, PendingChanges] = {}  # before entries; the term collector finds it here
        self._changes: list[tuple[int, GraphRows, bool]] = []  # with True what was deleted
        self._recorded_deletions = 0  # of them
        self._seen = 0  # how many of them `changed_before` has gone through
        self._is_applying = False
        self._record_lock = threading.Lock()

    def absorb(self, elements: Elements, stream: str = "") -> None:
        super().absorb(elements, stream)
        self._record(GraphRows.of(elements), False)

    def load(self, subjects: Ids, predicates: Ids, objects: Ids, graph: int = DEFAULT_GRAPH) -> Elements:
        elements = super().load(subjects, predicates, objects, graph)
        if self._recorded_deletions or self._is_applying:
            self._record(GraphRows.of(elements, graph), False)
        return elements

    @property
    def entry(self) -> int:
        return self.sequence

    def change(self, change: TimedChange, entry: int = -1) -> None:
        """It is remembered with the entry that the elements came with, from which on they would come again."""
        with self.changing:
            now, self.sequence = self.sequence, entry
            try:
                super().change(change, entry)
            finally:
                self.sequence = now

    def take_out(self, triples: Triples) -> None:
        graphs = np.full(len(triples.subjects), DEFAULT_GRAPH, np.int64)
        self._record(_rows_of(Quads(*triples, graphs)), True)
        super().take_out(triples)

    def apply(self, changes: StoreChanges) -> tuple[int, int]:
        with self.changing:
            self._record(_rows_of(changes.deleted), True)
            self._is_applying = True
            try:
                return super().apply(changes)
            finally:
                self._is_applying = False

    def take_up(
        self, segments: Iterable[tuple[GraphRows, bool]], settled_ms: int, *, has_deletions: bool = False
    ) -> None:
        """Take up what a checkpoint has: loaded triples, and those that streams have left, with their times.

        Segments with True say what is deleted of those before, and of what is there. What came before `settled_ms` is
        loaded as well: nothing will be evaluated that does not see it.
        """
        unsettled = []
        with self.changing:
            if has_deletions:
                net = NetRows.of(list(segments))
                for graph, chosen in rows_by_graph(net.deleted.graphs):
                    subjects, predicates, objects = (column[chosen] for column in net.deleted[2:])
                    self.delete(subjects, predicates, objects, graph)
                segments = [(net.inserted, False)]
            is_mapped = self.base().is_mapped  # which stays on disk
            for rows, _ in segments:
                settled = rows.times == BEFORE_ALL_TIME if is_mapped else rows.times < settled_ms
                for graph, chosen in rows_by_graph(rows.graphs[settled]):
                    subjects, predicates, objects = (column[settled][chosen] for column in rows[2:])
                    self.load(subjects, predicates, objects, graph)
                unsettled.append(Elements(*(column[~settled] for column in rows[1:])))
            for elements in unsettled:
                if len(elements.times):
                    super().absorb(elements)

    def changed_before(self, sequence: int) -> NetRows | None:
        """What entries before one have changed, None where that is nothing."""
        with self._record_lock:
            self._seen = len(self._changes)
            parts = [(rows, deletes) for number, rows, deletes in self._changes if number < sequence]
        return NetRows.of(parts) if parts else None

    def forget_before(self, sequence: int) -> None:
        """Forget what was changed before, up to the first change of a later entry: what was done after that, for
        elements of earlier entries that come later in time, comes after it again."""
        with self._record_lock:
            later = (at for at, (number, _, _) in enumerate(self._changes) if number >= sequence)
            self._changes = self._changes[min(next(later, self._seen), self._seen) :]
            self._seen = 0
            self._recorded_deletions = sum(deletes for _, _, deletes in self._changes)

    def _record(self, rows: GraphRows, deletes: bool) -> None:
        if len(rows.times):
            with self._record_lock:
                self._changes.append((self.sequence, rows, deletes))
                self._recorded_deletions += deletes


def _rows_of(quads: Quads) -> GraphRows:
    return GraphRows(quads.graphs, np.full(len(quads.graphs), BEFORE_ALL_TIME), *quads[:3])
