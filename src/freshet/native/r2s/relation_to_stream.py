"""What reports say (R2S): all of the answer at each evaluation, what is new in it, or what is gone from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, cast

import numpy as np

from freshet.algebra.nodes import StreamOperator
from freshet.native.buffers.one_way_index import Ids, Mask
from freshet.native.buffers.row_log import LogRows, RowLog
from freshet.native.change import NOTHING, OPEN, Change, MomentBatch, Operator, RowsAtHand, merge_changes
from freshet.native.operators.multiway_join import MultiwayJoinOp, Results
from freshet.native.operators.ordered import OrderedOp
from freshet.native.plan.plan import Plan, PlanOrdered
from freshet.native.plan.plan_reads import asks_time, can_be_asked_again
from freshet.native.r2s.bags import as_columns, as_rows, bag_difference
from freshet.native.r2s.columns import goes_out_of_order, has_rows_at_hand
from freshet.native.r2s.exact import Exactness
from freshet.native.r2s.grounded import is_grounded
from freshet.oneshot.table import Table

_NO_MOMENTS = np.empty(0, np.int64)
_ONE_ROW = np.array([0, 1])
_FIRST_PLACE = np.zeros(1, np.int64)


_Timed = tuple[Table, Ids]  # rows with their moments


class Answers(NamedTuple):
    """What the evaluations of a batch report: rows, and for each the place of its evaluation among them, in order.

    Where the rows are `kept` as they are, all are of one evaluation, the only place.
    """

    places: Ids
    rows: Ids
    kept: LogRows | None = None

    @property
    def place_of_each(self) -> Ids:
        """For each row the place of its evaluation."""
        return self.places if self.kept is None else np.repeat(self.places, len(self.rows))

    def reports(self) -> tuple[Ids, Ids]:
        """The evaluations that have rows, by their places, and where the rows of each begin; see `reports_in`."""
        if self.kept is None:
            return reports_in(self.places)
        return self.places, np.array([0, len(self.rows)])


def reports_in(places: Ids) -> tuple[Ids, Ids]:
    """The evaluations that have rows, by their places, and where the rows of each begin, with the end of the last."""
    if len(places) == 1:
        return places, _ONE_ROW
    if places.item(0) == places.item(-1):
        return places[:1], np.array([0, len(places)])
    starts = np.flatnonzero(places[1:] != places[:-1]) + 1
    offsets = np.concatenate(([0], starts, [len(places)]))
    return places[offsets[:-1]], offsets


def relation_to_stream(
    root: Operator, plan: Plan, columns: tuple[str, ...], *, exact: Exactness, is_measured: bool = False
) -> R2S:
    """The R2S operator of a query, whose variables have these columns of `root`.

    With `exact` no row comes that is equal to one that goes at the same evaluation.
    """
    is_whole = plan.output is StreamOperator.RSTREAM
    if isinstance(plan.root, PlanOrdered) and (is_whole or not is_grounded(plan.root)):
        return SequenceR2S(cast(OrderedOp, root), plan)
    is_at_hand = has_rows_at_hand(plan.root) or (isinstance(root, MultiwayJoinOp) and goes_out_of_order(plan))
    if is_whole and is_at_hand and not is_measured:
        return StateR2S(cast(RowsAtHand, root), columns)
    return IncrementalR2S(root, plan, columns, exact=exact)


class R2S(Protocol):
    """Reports what the output of a query asks for."""

    @property
    def rests(self) -> bool:
        """Whether a batch in which nothing comes or goes would make no difference."""

    def step(self, batch: MomentBatch, held: Ids) -> Answers:
        """Take a batch in. `held` is how many elements the windows have at each evaluation."""

    def end_all(self, moment: int, rows_before: Callable[[int], Table]) -> None:
        """All rows go at a moment, since operators are made anew. `rows_before` gives what held until then."""

    def use(self, root: Operator) -> None:
        """Follow another operator, which gives everything when it is asked for the first time."""


class IncrementalR2S:
    """R2S by what comes and goes between two evaluations (equations 4 to 6).

        ISTREAM = what came and is not equal to what went       DSTREAM = the other way round

    Where all windows are empty the answer is empty, whatever the stored graph has: there, as for RSTREAM, all rows that
    hold are kept.
    """

    def __init__(self, root: Operator, plan: Plan, columns: tuple[str, ...], *, exact: Exactness) -> None:
        self._root = root
        self._variables = columns
        self._output = plan.output
        self._join = self._join_of(root)
        self._exactness = exact
        self._is_grounded = is_grounded(plan.root)
        needs_all = plan.output is StreamOperator.RSTREAM or not self._is_grounded or not can_be_asked_again(plan)
        self._all = RowLog(columns) if needs_all else None
        self._asks_time = asks_time(plan)
        self._is_as_join = True  # whether the log and the results that the join keeps are in the same order
        self._rest = NOTHING  # what has changed since the last evaluation
        self._last = _NO_MOMENTS  # the last evaluation
        self._was_empty = True  # then, by the rule of empty windows, or since there was none
        self._nothing = Answers(_NO_MOMENTS, np.empty((0, len(plan.variables)), np.int64))

    @property
    def rests(self) -> bool:
        """Whether a batch in which nothing comes or goes makes no difference, while windows hold anything in it."""
        is_whole = self._output is StreamOperator.RSTREAM or (not self._is_grounded and self._was_empty)
        return not is_whole and (self._rest is NOTHING or self._rest.is_empty) and not self._asks_time

    def step(self, batch: MomentBatch, held: Ids) -> Answers:
        """Take a batch in. `held` is how many elements the windows have at each evaluation."""
        due = batch.due
        if self._join is None:
            change = self._root.changes(batch)
        else:
            results = self._join.pointer_changes(batch)
            if len(due) and self._follow_in_order(self._join, results, due.item(-1)):
                return self._all_at(due, _places_held(held))
            self._is_as_join = self._is_as_join and not self._join.has_brief(results)
            change = self._join.change_of(results)
        if self._rest is not NOTHING:
            change, self._rest = merge_changes([self._rest, change]), NOTHING
        last_due = due.item(-1) if len(due) else -OPEN
        if _last_moment(change) > last_due:
            change, self._rest = _cut(change, last_due)
        if self._all is not None:
            self._all.step(change)
            self._is_as_join |= self._all.is_empty and self._rest is NOTHING
        if not len(due):
            return self._nothing
        if self._output is StreamOperator.RSTREAM:
            return self._all_at(due, _places_held(held))
        came, went = (change.came, change.came_at), (change.went, change.went_at)
        if self._output is StreamOperator.DSTREAM:
            came, went = went, came
        if self._is_grounded:
            return self._difference(batch, came, went)
        if len(held) == 1 and not self._was_empty and held.item() > 0:  # as it mostly is
            self._last = due
            return self._difference(batch, came, went)
        return self._with_empty_windows(batch, held > 0, came, went)

    def _follow_in_order(self, join: MultiwayJoinOp, results: Results, last_due: int) -> bool:
        """Keep all results that hold, if those go that came first: they need not be looked for. Says whether it is so.

        The results of a join stand in the log in the order in which they came, unless one of them came and went in one
        batch: of rows that are equal to it the log lets the first go, the join none of those that it keeps.
        """
        assert self._all is not None
        if self._rest is not NOTHING or not self._is_as_join or not join.go_oldest_first(results):
            return False
        if _last_of(results.came_at, results.went_at) > last_due:
            return False
        self._all.step_in_order(join.table(results.came), results.came_at, results.went_at)
        return True

    def end_all(self, moment: int, rows_before: Callable[[int], Table]) -> None:
        rest = self._rest
        if self._all is None:
            went = as_rows(rows_before(moment), self._variables)
            came = went[:0]
        else:
            came = as_rows(rest.went, self._variables)
            went = np.concatenate((self._all.held(), as_rows(rest.came, self._variables)))
        self._rest = merge_changes([rest, Change(*self._at(came, moment), *self._at(went, moment))])

    def use(self, root: Operator) -> None:
        self._root = root
        self._join = self._join_of(root)
        self._is_as_join = False
        self._exactness = Exactness.NEVER  # what comes may be equal to what goes

    def _join_of(self, root: Operator) -> MultiwayJoinOp | None:
        """The join whose results are all reported."""
        is_whole = self._output is StreamOperator.RSTREAM
        return root if is_whole and isinstance(root, MultiwayJoinOp) else None

    def _at(self, rows: Ids, moment: int) -> _Timed:
        columns = {name: rows[:, at].copy() for at, name in enumerate(self._variables)}
        return Table(columns, len(rows)), np.full(len(rows), moment)

    def _difference(self, batch: MomentBatch, came: _Timed, went: _Timed) -> Answers:
        if not len(came[1]):
            return self._nothing
        rows = as_rows(came[0], self._variables)
        if len(batch.due) == 1:
            if not self._is_exact_at(batch.due.item(0), came[1], went[1]):
                rows = bag_difference(rows, as_rows(went[0], self._variables))
            return Answers(_FIRST_PLACE if len(rows) == 1 else np.zeros(len(rows), np.int64), rows)
        places = batch.due.searchsorted(came[1])
        if self._is_exact(batch.due, places, came[1], went[1]):
            return Answers(places, rows)
        placed = np.column_stack((places, rows))
        others = np.column_stack((batch.due.searchsorted(went[1]), as_rows(went[0], self._variables)))
        left = bag_difference(placed, others)
        return Answers(left[:, 0], left[:, 1:])

    def _is_exact_at(self, due: int, came_at: Ids, went_at: Ids) -> bool:
        """The same as `_is_exact` where there is one evaluation, none of which anything is later than."""
        if self._exactness is Exactness.ALWAYS or not len(went_at):
            return True
        return self._exactness is not Exactness.NEVER and came_at.item(0) == due == went_at.item(0)

    def _is_exact(self, due: Ids, places: Ids, came_at: Ids, went_at: Ids) -> bool:
        """Whether none of what came is equal to any that went at the same evaluation."""
        if self._exactness is Exactness.ALWAYS or not len(went_at):
            return True
        if self._exactness is Exactness.NEVER or (due[places] != came_at).any():
            return False
        return bool((due[due.searchsorted(went_at)] == went_at).all())

    def _with_empty_windows(self, batch: MomentBatch, holds: Mask, came: _Timed, went: _Timed) -> Answers:
        """The same, where the answer begins anew when windows are no longer empty, and ends when they are."""
        due, last = batch.due, self._last
        self._last = due[-1:]
        found = self._difference(batch, came, went)
        if not self._was_empty and holds.all():
            return found
        before = np.concatenate(([not self._was_empty], holds[:-1]))
        self._was_empty = not holds[-1]
        kept = (holds & before)[found.places]
        found = Answers(found.places[kept], found.rows[kept])
        if self._output is StreamOperator.ISTREAM:
            turning = np.flatnonzero(holds & ~before)
            whole = self._all_at(due, turning)
        else:
            turning = np.flatnonzero(~holds & before)
            whole = self._all_at(np.concatenate((last, due)) if len(last) else due, turning - (0 if len(last) else 1))
            whole = whole._replace(places=whole.places + (0 if len(last) else 1))
        if not len(whole.places):
            return found
        places = np.concatenate((found.places, whole.place_of_each))
        rows = np.concatenate((found.rows, whole.rows))
        order = np.argsort(places, kind="stable")
        return Answers(places[order], rows[order])

    def _all_at(self, due: Ids, places: Ids) -> Answers:
        """The whole answer at some evaluations."""
        assert self._all is not None
        if not len(places):
            return self._nothing
        if len(places) == 1 and (kept := self._all.all_at(due.item(places.item(0)))) is not None:
            return Answers(places, kept.rows, kept) if kept.end > kept.first else self._nothing
        at, rows = self._all.living_at(due[places])
        return Answers(places[at], rows)


class StateR2S:
    """RSTREAM of rows that the operator has at hand: nothing is kept beside them.

    What holds after a batch is what its last evaluation reports, if nothing changes behind that. Else all that held
    before the batch is taken, with what comes and goes in it.
    """

    rests = False  # every evaluation reports

    def __init__(self, root: RowsAtHand, columns: tuple[str, ...]) -> None:
        self._root = root
        self._columns = columns
        self._nothing = Answers(_NO_MOMENTS, np.empty((0, len(columns)), np.int64))

    def end_all(self, moment: int, rows_before: Callable[[int], Table]) -> None:
        """The other operator has all rows."""

    def use(self, root: Operator) -> None:
        self._root = cast(RowsAtHand, root)

    def step(self, batch: MomentBatch, held: Ids) -> Answers:
        due, places = batch.due, _places_held(held)
        if not len(places):
            self._root.changes(batch)
            return self._nothing
        is_single = len(due) == 1
        before = None if is_single and due.item(0) == batch.last else self._root.rows()
        change = self._root.changes(batch)
        if before is not None and not (is_single and _last_moment(change) <= due.item(0)):
            log = RowLog(self._columns)
            log.step(Change(before, np.full(before.count, batch.first - 1), NOTHING.went, NOTHING.went_at))
            log.step(change)
            at, rows = log.living_at(due[places])
            return Answers(places[at], rows)
        rows = as_columns(self._root.rows(), self._columns).T
        return Answers(np.zeros(len(rows), np.int64), rows)


class SequenceR2S:
    """R2S where the answer is a sequence that is wanted as a whole at some evaluations.

    It is asked for at all of them; the one before is kept to find what is new.
    """

    rests = False  # its operator is asked for the sequence at every evaluation

    def __init__(self, root: OrderedOp, plan: Plan) -> None:
        self._root = root
        self._variables = plan.variables
        self._output = plan.output
        self._before = np.empty((0, len(plan.variables)), np.int64)

    def end_all(self, moment: int, rows_before: Callable[[int], Table]) -> None:
        """The sequence of the last evaluation is known."""

    def use(self, root: Operator) -> None:
        self._root = cast(OrderedOp, root)

    def step(self, batch: MomentBatch, held: Ids) -> Answers:
        """Take a batch in. `held` is how many elements the windows have at each evaluation."""
        table, places = self._root.slices(batch)
        rows = as_rows(table, self._variables)
        if len(held) and not held.all():
            kept = (held > 0)[places]
            places, rows = places[kept], rows[kept]
        if self._output is StreamOperator.RSTREAM or not len(batch.due):
            return Answers(places, rows)
        now = np.column_stack((places, rows))
        before = np.column_stack((np.zeros(len(self._before), np.int64), self._before))
        before = np.concatenate((before, np.column_stack((places + 1, rows))))
        last = len(batch.due) - 1
        self._before = rows[places == last]
        before = before[before[:, 0] <= last]
        found = bag_difference(now, before) if self._output is StreamOperator.ISTREAM else bag_difference(before, now)
        return Answers(found[:, 0], found[:, 1:])


def _places_held(held: Ids) -> Ids:
    """The evaluations at which windows hold anything."""
    if len(held) == 1:
        return _FIRST_PLACE if held.item() > 0 else _NO_MOMENTS
    return np.flatnonzero(held > 0)


def _last_moment(change: Change) -> int:
    return _last_of(change.came_at, change.went_at)


def _last_of(came_at: Ids, went_at: Ids) -> int:
    last_came = came_at.item(-1) if len(came_at) else -OPEN
    return max(last_came, went_at.item(-1)) if len(went_at) else last_came


def _cut(change: Change, last: int) -> tuple[Change, Change]:
    """What of a change is up to a moment, and what is after it."""
    came, came_later = _cut_at(change.came, change.came_at, last)
    went, went_later = _cut_at(change.went, change.went_at, last)
    return Change(*came, *went), Change(*came_later, *went_later)


def _cut_at(table: Table, moments: Ids, last: int) -> tuple[_Timed, _Timed]:
    rows, cut = np.arange(len(moments)), int(moments.searchsorted(last, side="right"))
    return (table.take(rows[:cut]), moments[:cut]), (table.take(rows[cut:]), moments[cut:])
