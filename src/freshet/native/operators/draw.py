"""Draw: a variable more, whose value is drawn when a row comes, and is the same when the row goes.

    Δ(draw R) = what came in ΔR with new values, what went with those that it came with

RAND, UUID, STRUUID and BNODE give another value at each call, so the values of the rows that are here are kept. An
operator that takes the place of another has its values for the rows that still hold.
"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from freshet.algebra.expressions import Call
from freshet.expressions.context import Context
from freshet.expressions.evaluate import evaluate
from freshet.kernels.joins import number_rows
from freshet.native.buffers.accumulators import longer
from freshet.native.buffers.one_way_index import Ids, Rows
from freshet.native.buffers.row_buffer import RowBuffer
from freshet.native.change import Change, MomentBatch, Operator
from freshet.oneshot.table import Table
from freshet.rdf.arrow import read_only
from freshet.rdf.dictionary import Dictionary


class DrawOp:
    """The rows of its child with a value each. It needs all columns: rows that differ in any are different ones."""

    def __init__(
        self,
        child: Operator,
        names: tuple[str, ...],
        variable: str,
        call: Call,
        dictionary: Dictionary,
        before: DrawOp | None = None,
    ) -> None:
        self._buffer = RowBuffer(child, names)
        self._variable = variable
        self._call = call
        self._dictionary = dictionary
        self._before = before  # until all that held with it has come
        self._drawn = np.zeros(self._buffer.row_capacity, np.int64)

    def changes(self, batch: MomentBatch) -> Change:
        buffer = self._buffer
        buffer.follow(batch)
        came, went = buffer.fresh(batch.number), buffer.dead(batch.number)
        if len(came):
            self._drawn = longer(self._drawn, buffer.row_capacity)
            context = Context(datetime.now(UTC))
            self._drawn[came] = evaluate(self._call, {}, len(came), self._dictionary, context)
            if self._before is not None:
                self._take_over(self._before, came)
        if len(batch.due):
            self._before = None
        return Change(self._table(came), buffer.births(came), self._table(went), buffer.deaths(went))

    def _take_over(self, before: DrawOp, came: Rows) -> None:
        """Rows that are equal to some that another operator had get the values of these."""
        held = before._buffer.live_rows()
        numbers, _ = number_rows(read_only(np.concatenate((before._buffer.values[held], self._buffer.values[came]))))
        _, old, new = np.intersect1d(
            _with_ranks(numbers[: len(held)]),
            _with_ranks(numbers[len(held) :]),
            assume_unique=True,
            return_indices=True,
        )
        self._drawn[came[new]] = before._drawn[held[old]]

    def _table(self, rows: Rows) -> Table:
        columns = {name: self._buffer.values[rows, at] for at, name in enumerate(self._buffer.names)}
        return Table({**columns, self._variable: self._drawn[rows]}, len(rows))


def _with_ranks(numbers: Ids) -> Ids:
    """Numbers that differ: of equal ones the first, the second, and so on."""
    order = np.argsort(numbers, kind="stable")
    firsts = numbers[order].searchsorted(numbers[order])
    ranked = np.empty(len(numbers), np.int64)
    ranked[order] = (numbers[order] << 32) + np.arange(len(numbers)) - firsts
    return ranked
