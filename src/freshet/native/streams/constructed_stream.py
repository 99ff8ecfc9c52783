"""Answers that are a stream again: the triples of a registered CONSTRUCT, each at the time of its report."""

from __future__ import annotations

import numpy as np

from freshet.native.streams.stream import StreamState, concatenate_elements
from freshet.rdf.elements import Elements
from freshet.results.answers import AnswerBatch


class ConstructedStream:
    """The stream of a query that is a CONSTRUCT, by the query's name.

    What the query reports waits here until the evaluations of the moment are done. Then it is passed on, and the
    watermark follows the query, also where it had nothing to report.
    """

    def __init__(self, query: str) -> None:
        self.state = StreamState(query, held=True)
        self.is_read = False
        self._waiting: list[Elements] = []

    def put(self, batch: AnswerBatch) -> None:
        """Take in the triples of reports; where no query reads them, they are only counted.

        A graph has no order, and windows that count elements need one that is the same after a restart.
        """
        _, triples, offsets = batch.shown
        first, end = int(offsets[0]), int(offsets[-1])
        if not self.is_read:
            self.state.elements += end - first
        elif end > first:
            places = np.repeat(np.arange(len(batch)), np.diff(offsets))
            columns = triples[first:end, :3].T  # streams do not keep the names of graphs
            rows = np.vstack((places, columns))
            rows = rows[:, np.lexsort((*columns[::-1], places))]
            if triples.shape[1] > len(columns):  # a triple may be in several graphs
                rows = rows[:, np.concatenate(([True], np.any(rows[:, 1:] != rows[:, :-1], axis=0)))]
            self._waiting.append(Elements(batch.times[rows[0]], *np.ascontiguousarray(rows[1:])))

    def release(self, watermark_ms: int) -> Elements | None:
        """What has come since the last call, None where that is nothing; the query has got as far as a watermark."""
        waiting, self._waiting = self._waiting, []
        elements = self.state.accept(concatenate_elements(waiting)) if waiting else None
        self.state.watermark_ms = max(self.state.watermark_ms, watermark_ms)
        return elements
