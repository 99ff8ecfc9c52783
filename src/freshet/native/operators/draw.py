"""Draw: a variable more, whose value is drawn when a row comes, and is the same when the row goes.

    Δ(draw R) = what came in ΔR with new values, what went with those that it came with

RAND, UUID, STRUUID and BNODE give another value at each call, so the values of the rows that are here are kept.
"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from freshet.algebra.expressions import Call
from freshet.expressions.context import Context
from freshet.expressions.evaluate import evaluate
from freshet.native.buffers.accumulators import longer
from freshet.native.buffers.one_way_index import Rows
from freshet.native.buffers.row_buffer import RowBuffer
from freshet.native.change import Change, MomentBatch, Operator
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary


class DrawOp:
    """The rows of its child with a value each. It needs all columns: rows that differ in any are different ones."""

    def __init__(
        self, child: Operator, names: tuple[str, ...], variable: str, call: Call, dictionary: Dictionary
    ) -> None:
        self._buffer = RowBuffer(child, names)
        self._variable = variable
        self._call = call
        self._dictionary = dictionary
        self._drawn = np.zeros(self._buffer.row_capacity, np.int64)

    def changes(self, batch: MomentBatch) -> Change:
        buffer = self._buffer
        buffer.follow(batch)
        came, went = buffer.fresh(batch.number), buffer.dead(batch.number)
        if len(came):
            self._drawn = longer(self._drawn, buffer.row_capacity)
            context = Context(datetime.now(UTC))
            self._drawn[came] = evaluate(self._call, {}, len(came), self._dictionary, context)
        return Change(self._table(came), buffer.births(came), self._table(went), buffer.deaths(went))

    def _table(self, rows: Rows) -> Table:
        columns = {name: self._buffer.values[rows, at] for at, name in enumerate(self._buffer.names)}
        return Table({**columns, self._variable: self._drawn[rows]}, len(rows))
