"""Appended rows become part of the base: in a thread, while batches come and readers read.

Appended rows cost about twice the memory of sorted ones, and a look-up in both parts of a graph costs more than one in
the base alone. So once the appended rows are a fraction of the base, the settled ones are merged with it into a new
base. A row is settled when everything that will be evaluated from now on sees it: a row of the base has no time.
Rows that have ended are left out then. Readers of the graph as it was keep what they have.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from freshet.rdf.triples import Triples
from freshet.store.appended import Appended
from freshet.store.graph import StoredGraph
from freshet.store.graph_snapshot import GraphSnapshot
from freshet.store.triple_index import TripleIndex

LEAST_ROWS = 1 << 16  # fewer are not worth a thread
_FRACTION = 4  # of the base; so a row is moved about as often as the base grows by a quarter
_AGAIN = 8  # after so much more, where too few rows were settled


class PointsToRows(Protocol):
    """What has numbers of a graph's rows, such as the leaf of a pattern."""

    def settled_rows(self, reader: GraphSnapshot) -> int | None:
        """How many of the appended rows are older than all that it will be asked; None: it is concerned by none."""
        ...

    def has_seen_ends(self, reader: GraphSnapshot) -> bool:
        """Whether it points to none of the rows that have ended."""
        ...


class Compaction:
    """Compacts one graph. `replace` lets readers have the result."""

    def __init__(self, graph: StoredGraph, replace: Callable[[Compacted], None]) -> None:
        self._graph = graph
        self._replace = replace
        self._checked_at = 0  # rows that have ever been appended
        self._busy = threading.Lock()
        self._thread: threading.Thread | None = None

    def start_if_due(
        self,
        settled_ms: Callable[[], int],
        pointing: Callable[[], Iterable[PointsToRows]],
        kept_from: Callable[[], int],
    ) -> None:
        """Begin where the rows that came before `settled_ms` are many enough.

        Windows of streams read the rows from `kept_from` on by their numbers.
        """
        reader = self._graph.reader
        if not isinstance(reader, GraphSnapshot) or self._busy.locked():
            return
        base, view = reader.base, reader.appended
        if view.rows + view.compacted + (reader.ended.total if reader.ended else 0) < self._checked_at:
            return
        wanted = max(LEAST_ROWS, len(base) // _FRACTION)
        ended = 0 if reader.ended is None else reader.ended.total
        due = view.rows + ended
        self._checked_at = view.compacted + max(wanted, due + wanted // _AGAIN)
        if due < wanted or base.is_mapped:  # what is on disk is not read into memory
            return
        pointing_now = list(pointing())
        if not all(each.has_seen_ends(reader) for each in pointing_now):
            return
        rows = settled_rows(reader, settled_ms(), pointing_now, kept_from())
        if rows + ended >= wanted:
            self._thread = threading.Thread(target=self.run, args=(base, rows), name="freshet-compaction", daemon=True)
            self._thread.start()

    def run(self, base: TripleIndex, rows: int) -> None:
        """Make the first rows that are appended to a base, which must be settled, part of it; once."""
        with self._busy:
            reader = self._graph.reader
            if isinstance(reader, GraphSnapshot) and (rows or reader.ended) and reader.base is base:
                self._replace(Compacted(self._graph, reader, rows))

    @property
    def is_running(self) -> bool:
        return self._busy.locked()

    def wait(self) -> None:
        """Until what has begun is done."""
        if self._thread is not None:
            self._thread.join()


class Compacted:
    """A graph whose first appended rows are in the base; made beside the graph as it is."""

    def __init__(self, graph: StoredGraph, reader: GraphSnapshot, rows: int) -> None:
        self.rows = rows
        self.swept = reader.ended
        base, settled = reader.base, reader.appended.triples(0, rows)
        if reader.ended is not None:
            base = reader.ended.without_ended(base)
            live = reader.ended.live_appended(0, rows)
            settled = Triples(*(column[live] for column in settled))
        self.base = base.merged_with(settled)
        self.appended = Appended(self.base)
        self.appended.take_over(reader.appended, rows)


def settled_rows(reader: GraphSnapshot, settled_ms: int, pointing: Iterable[PointsToRows], kept_from: int) -> int:
    """How many of the appended rows, from the first, everything that is evaluated from now on sees."""
    view = reader.appended
    unsettled = view.times() >= settled_ms
    rows = int(unsettled.argmax()) if unsettled.any() else view.rows
    settled = (each.settled_rows(reader) for each in pointing)
    return min(rows, kept_from, *(each for each in settled if each is not None))
