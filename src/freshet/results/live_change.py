"""What a live query reports: its whole answer first, then what is added to it and removed from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import orjson
from numpy.typing import NDArray

from freshet.algebra.nodes import StreamOperator
from freshet.results.answers import AnswerBatch
from freshet.results.sparql_json import write_bindings

if TYPE_CHECKING:
    from freshet.rdf.dictionary import Dictionary

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LiveChange:
    """How the answer to a live query changes with a snapshot. Several may hold it: do not change it.

    Attributes:
        snapshot: The number of the snapshot of the stored data.
        time_ms: The latest event time that had been absorbed by then, 0 where none had.
        is_answer: Whether it is the whole answer, which replaces what was reported before.
        variables: The names of the variables, without the question mark.
        added: A row for each solution that is added and a column of term ids for each variable, 0 where it is unbound.
        removed: The same for each solution that is removed.
    """

    snapshot: int
    time_ms: int
    is_answer: bool
    variables: tuple[str, ...]
    added: Ids
    removed: Ids
    dictionary: Dictionary

    def batches(self, query: str) -> Iterator[AnswerBatch]:
        """The same as reports: RSTREAM for the whole answer, else DSTREAM for what is removed and then ISTREAM."""
        if self.is_answer:
            yield self._batch(query, StreamOperator.RSTREAM, self.added)
            return
        for output, rows in ((StreamOperator.DSTREAM, self.removed), (StreamOperator.ISTREAM, self.added)):
            if len(rows):
                yield self._batch(query, output, rows)

    def _batch(self, query: str, output: StreamOperator, rows: Ids) -> AnswerBatch:
        moments, offsets = np.array([2 * self.time_ms + 1]), np.array([0, len(rows)])
        return AnswerBatch(query, output, self.variables, moments, offsets, rows, self.dictionary)

    @cached_property
    def event(self) -> bytes:
        """As a server-sent event, `answer` or `change`, made once for all who take it."""
        added = write_bindings(self.variables, self.added, self.dictionary)
        if self.is_answer:
            head = orjson.dumps({"vars": self.variables})
            kind, data = b"answer", b'{"time":%d,"head":%b,"results":{"bindings":%b}}' % (self.time_ms, head, added)
        else:
            removed = write_bindings(self.variables, self.removed, self.dictionary)
            kind, data = b"change", b'{"time":%d,"added":%b,"removed":%b}' % (self.time_ms, added, removed)
        return b"event: %b\nid: %d\ndata: %b\n\n" % (kind, self.snapshot, data)
