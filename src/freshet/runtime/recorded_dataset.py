"""The stored graphs, with a record of what streams have left in them since the last checkpoint."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np

from freshet.rdf.elements import Elements
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.runtime.checkpoint_segments import GraphRows
from freshet.store.dataset import StoredDataset, rows_by_graph
from freshet.store.graph import BEFORE_ALL_TIME


class RecordedDataset(StoredDataset):
    """What is absorbed while an entry of the journal is done is remembered with its `sequence`."""

    def __init__(self) -> None:
        super().__init__()
        self.sequence = -1
        self._absorbed: list[tuple[int, Elements]] = []
        self._record_lock = threading.Lock()

    def absorb(self, elements: Elements, stream: str = "") -> None:
        super().absorb(elements, stream)
        with self._record_lock:
            self._absorbed.append((self.sequence, elements))

    def take_up(self, segments: Iterable[GraphRows], settled_ms: int) -> None:
        """Take up what a checkpoint has: loaded triples, and those that streams have left, with their times.

        What came before `settled_ms` is loaded as well: nothing will be evaluated that does not see it.
        """
        unsettled = []
        with self.changing:
            is_mapped = self.base().is_mapped  # which stays on disk
            for rows in segments:
                settled = rows.times == BEFORE_ALL_TIME if is_mapped else rows.times < settled_ms
                for graph, chosen in rows_by_graph(rows.graphs[settled]):
                    subjects, predicates, objects = (column[settled][chosen] for column in rows[2:])
                    self.load(subjects, predicates, objects, graph)
                unsettled.append(Elements(*(column[~settled] for column in rows[1:])))
            for elements in unsettled:
                if len(elements.times):
                    super().absorb(elements)

    def absorbed_before(self, sequence: int) -> GraphRows | None:
        """What was absorbed by entries before one, None where that is nothing."""
        with self._record_lock:
            parts = [elements for number, elements in self._absorbed if number < sequence]
        if not parts:
            return None
        whole = Elements(*map(np.concatenate, zip(*parts, strict=True)))
        return GraphRows.of(whole, DEFAULT_GRAPH).once()

    def forget_before(self, sequence: int) -> None:
        with self._record_lock:
            self._absorbed = [each for each in self._absorbed if each[0] >= sequence]
