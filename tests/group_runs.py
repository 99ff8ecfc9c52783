"""GroupOp fed with terms: the aggregates that are tested, and rows of a key and a value."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, settings

from freshet.algebra.expressions import Aggregate, Variable
from freshet.native.one_way_index import Ids
from freshet.native.operators.group import GroupOp
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Literal, Term
from oxigraph_expressions import typed

PROPERTY = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
V = Variable("v")
AGGREGATES = {
    "COUNT(*)": Aggregate("COUNT", None),
    "COUNT(?v)": Aggregate("COUNT", V),
    "COUNT(DISTINCT ?v)": Aggregate("COUNT", V, distinct=True),
    "SUM(?v)": Aggregate("SUM", V),
    "SUM(DISTINCT ?v)": Aggregate("SUM", V, distinct=True),
    "AVG(?v)": Aggregate("AVG", V),
    "AVG(DISTINCT ?v)": Aggregate("AVG", V, distinct=True),
    "MIN(?v)": Aggregate("MIN", V),
    "MAX(?v)": Aggregate("MAX", V),
    "MIN(DISTINCT ?v)": Aggregate("MIN", V, distinct=True),
    "SAMPLE(?v)": Aggregate("SAMPLE", V),
}
# Those that are held against the one-shot evaluator, which has no COUNT(DISTINCT *) of its own.
MORE = {
    **AGGREGATES,
    "GROUP_CONCAT(?v)": Aggregate("GROUP_CONCAT", V),
    "GROUP_CONCAT(?v; separator)": Aggregate("GROUP_CONCAT", V, separator=", "),
    "GROUP_CONCAT(DISTINCT ?v)": Aggregate("GROUP_CONCAT", V, distinct=True),
    "COUNT(DISTINCT *)": Aggregate("COUNT", None, distinct=True),
}

Row = tuple[Term | None, Term | None]
Groups = dict[Term | None, list[Term | None]]


class Run:
    """A GroupOp fed with terms."""

    def __init__(self, aggregates: list[Aggregate]) -> None:
        self.dictionary = Dictionary()
        self.aggregates = aggregates
        self.op = GroupOp(1, aggregates, self.dictionary)

    def update(self, rows: list[Row], sign: int) -> None:
        ids = np.array(
            [[self.dictionary.encode(term) if term else 0 for term in row] for row in rows], np.int64
        ).reshape(len(rows), 2)
        self.op.update(ids[:, :1].copy(), [self._argument(aggregate, ids) for aggregate in self.aggregates], sign)

    def _argument(self, aggregate: Aggregate, ids: Ids) -> Ids | None:
        if aggregate.operand is None:
            return ids if aggregate.distinct else None
        return ids[:, 1].copy()

    def groups(self) -> Groups:
        return self._decoded(*self.op.rows())

    def changed(self) -> tuple[Groups, Groups]:
        went_keys, went, came_keys, came = self.op.changed()
        return self._decoded(went_keys, went), self._decoded(came_keys, came)

    def _decoded(self, keys: Ids, values: Ids) -> Groups:
        groups = {
            key: self.dictionary.decode_many(row)
            for key, row in zip(self.dictionary.decode_many(keys[:, 0]), values, strict=True)
        }
        assert len(groups) == len(keys)
        return groups


def one_group(*texts: str) -> Run:
    return Run([AGGREGATES[text] for text in texts])


def rows_of(*terms: Term | None) -> list[Row]:
    return [(None, term) for term in terms]


def integer(number: int) -> Literal:
    return typed("integer", str(number))


def double(text: str) -> Literal:
    return typed("double", text)
