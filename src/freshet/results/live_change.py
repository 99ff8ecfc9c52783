"""What a live query reports: its whole answer first, then what is added to it and removed from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import orjson
from numpy.typing import NDArray

from freshet.algebra.nodes import QueryForm, StreamOperator
from freshet.rdf.terms import XSD, Iri, Literal
from freshet.results.answers import AnswerBatch
from freshet.results.graphs import write_ntriples
from freshet.results.report import GraphAnswer
from freshet.results.sparql_json import write_bindings

if TYPE_CHECKING:
    from freshet.rdf.dictionary import Dictionary

Ids = NDArray[np.int64]
_TRUE = Literal("true", Iri(XSD + "boolean"))


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
        form: The form of the query. With CONSTRUCT and DESCRIBE the rows are triples; with ASK there is one row, whose
            column `ask` is the boolean.
    """

    snapshot: int
    time_ms: int
    is_answer: bool
    variables: tuple[str, ...]
    added: Ids
    removed: Ids
    dictionary: Dictionary
    form: QueryForm = QueryForm.SELECT

    @property
    def is_graph(self) -> bool:
        """Whether the rows are triples."""
        return self.form in (QueryForm.CONSTRUCT, QueryForm.DESCRIBE)

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
        batch = AnswerBatch(query, output, self.variables, moments, offsets, rows, self.dictionary)
        if self.is_graph:
            batch.triples, batch.triple_offsets = rows, offsets
        return batch

    @cached_property
    def event(self) -> bytes:
        """As a server-sent event, `answer` or `change`, made once for all who take it."""
        kind = b"answer" if self.is_answer else b"change"
        return b'event: %b\nid: %d\ndata: {"time":%d,%b}\n\n' % (kind, self.snapshot, self.time_ms, self._content())

    def _content(self) -> bytes:
        """What is in the object of the event beside the time."""
        if self.form is QueryForm.ASK:
            is_true = self.dictionary.decode(int(self.added[0, 0])) == _TRUE
            head = b'"head":{},' if self.is_answer else b""
            return b'%b"boolean":%b' % (head, b"true" if is_true else b"false")
        added = self._write_rows(self.added)
        if not self.is_answer:
            return b'"added":%b,"removed":%b' % (added, self._write_rows(self.removed))
        if self.is_graph:
            return b'"triples":%b' % added
        return b'"head":%b,"results":{"bindings":%b}' % (orjson.dumps({"vars": self.variables}), added)

    def _write_rows(self, rows: Ids) -> bytes:
        """Rows as SPARQL JSON bindings, or as a string of N-Triples."""
        if not self.is_graph:
            return write_bindings(self.variables, rows, self.dictionary)
        return orjson.dumps(write_ntriples(GraphAnswer.of_rows(rows), self.dictionary).decode())
