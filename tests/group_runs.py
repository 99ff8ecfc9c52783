"""GROUP BY fed with terms: the aggregates that are tested, and rows of a key and a value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import HealthCheck, settings

from freshet.algebra.expressions import Aggregate, Variable
from freshet.native.buffers.one_way_index import Ids
from freshet.native.change import Change, MomentBatch
from freshet.native.operators.group_by import GroupByOp
from freshet.native.plan.plan import PlanGroup, PlanValues
from freshet.oneshot.table import Table
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
Event = tuple[int, Row]  # the moment, and the row that comes or goes at it


class Given:
    """A child that gives what it was told to."""

    def __init__(self) -> None:
        self.change: Change | None = None

    def changes(self, batch: MomentBatch) -> Change:
        assert self.change is not None
        return self.change


class Run:
    """GROUP BY ?k, or without keys, fed with rows of ?k and ?v. It follows what comes and goes."""

    def __init__(self, aggregates: Sequence[Aggregate], keys: tuple[str, ...] = ("k",)) -> None:
        self.dictionary = Dictionary()
        self.child = Given()
        names = [(f"x{at}", aggregate) for at, aggregate in enumerate(aggregates)]
        rows, given = frozenset({"k", "v"}), frozenset(keys)
        child = PlanValues(rows, rows, ("k", "v"), ())
        plan = PlanGroup(given | {name for name, _ in names}, given, child, keys, tuple(names), ("k", "v"))
        self.op = GroupByOp(self.child, plan, self.dictionary)
        self.keyless = not keys
        self.names = [name for name, _ in names]
        self.next = 1
        self.number = 0
        self.reported: dict[int, Groups] = {}  # by moments: what holds from there on, as far as it has changed
        self.now: Groups = {}
        self.now_ids: dict[int, list[int]] = {}

    def update(self, rows: list[Row], sign: int) -> None:
        """All rows come (sign 1) or go (-1) at the next moment."""
        events = [(self.next, row) for row in rows]
        self.batch(events if sign > 0 else [], [] if sign > 0 else events, self.next, [self.next])

    def batch(self, came: list[Event], went: list[Event], last: int, due: list[int]) -> None:
        """All moments up to the last."""
        self.number += 1
        first, self.next = self.next, last + 1
        self.child.change = Change(*self._rows(came), *self._rows(went))
        change = self.op.changes(MomentBatch(self.number, first, last, np.array(due, np.int64)))
        self._follow(change, first, last)

    def groups(self) -> Groups:
        return self.now

    def _rows(self, events: list[Event]) -> tuple[Table, Ids]:
        rows = [[self.dictionary.encode(term) if term else 0 for term in row] for _, row in events]
        ids = np.array(rows, np.int64).reshape(-1, 2)
        moments = np.array([moment for moment, _ in events], np.int64)
        return Table({"k": ids[:, 0], "v": ids[:, 1]}, len(events)), moments

    def _follow(self, change: Change, first: int, last: int) -> None:
        """What goes has been there; what comes was not; nothing comes that goes at the same moment."""
        for moments in (change.came_at, change.went_at):
            assert (np.diff(moments) >= 0).all()
            assert ((first <= moments) & (moments <= last)).all()
        came, went = self._by_moment(change.came, change.came_at), self._by_moment(change.went, change.went_at)
        for moment in sorted(came.keys() | went.keys()):
            for key, row in went.get(moment, {}).items():
                assert self.now_ids.pop(key) == row
                assert came.get(moment, {}).get(key) != row
            assert not self.now_ids.keys() & came.get(moment, {}).keys()
            self.now_ids |= came.get(moment, {})
            self.now = self._decoded(self.now_ids)
            self.reported[moment] = self.now

    def _by_moment(self, table: Table, moments: Ids) -> dict[int, dict[int, list[int]]]:
        assert table.count == len(moments)
        found: dict[int, dict[int, list[int]]] = {}
        columns = [table.column(name).tolist() for name in self.names]
        keys = [0] * table.count if self.keyless else table.column("k").tolist()
        for at, moment in enumerate(moments.tolist()):
            rows = found.setdefault(moment, {})
            assert keys[at] not in rows
            rows[keys[at]] = [column[at] for column in columns]
        return found

    def _decoded(self, ids: dict[int, list[int]]) -> Groups:
        keys = self.dictionary.decode_many(np.array(list(ids), np.int64))
        rows = [self.dictionary.decode_many(np.array(row, np.int64)) for row in ids.values()]
        return dict(zip(keys, rows, strict=True))


def one_group(*texts: str) -> Run:
    return Run([AGGREGATES[text] for text in texts])


def rows_of(*terms: Term | None) -> list[Row]:
    return [(None, term) for term in terms]


def integer(number: int) -> Literal:
    return typed("integer", str(number))


def double(text: str) -> Literal:
    return typed("double", text)
