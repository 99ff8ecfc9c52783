"""Basic graph patterns: `BGP(P1, ..., Pn) = Join(P1, Join(..., Pn))`, in the order that promises the fewest rows.

The first pattern is scanned. Each further one shares a variable with those before it where it can: the rows so far are
looked up in the graph, or, where there are more of them than the pattern has triples, joined with a scan.

| rows so far (?x) | pattern     | graph              | rows (?x, ?y)  |
| ---------------- | ----------- | ------------------ | -------------- |
| a, b             | ?x :p ?y    | a :p 1, a :p 2     | (a, 1), (a, 2) |
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import BGP, TriplePattern
from freshet.oneshot.constants import known_id
from freshet.oneshot.dataset import ANY, GraphReader, Ids, Triples
from freshet.oneshot.evaluate import evaluate
from freshet.oneshot.joining import PAIRS_AT_ONCE, join
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import UNIT, Table, empty, stacked

Place = int | str  # the id of a term, or the name of a variable
Places = tuple[Place, Place, Place]

_FIRST_SLICE = 1 << 10  # rows, where only some solutions are wanted
_PREDICATES = 8.0  # a bound predicate is taken to be one of so many


@evaluate.register
def _(node: BGP, scope: Scope) -> Table:
    return match(node, scope)


def match(node: BGP, scope: Scope, limit: int | None = None) -> Table:
    """The solutions of a basic graph pattern; at least `limit` where there are so many, perhaps not all."""
    patterns = [_places(pattern, scope) for pattern in node.patterns]
    names = dict.fromkeys(place for places in patterns for place in places if isinstance(place, str))
    if any(place == ANY for places in patterns for place in places):  # a term that no graph holds
        return empty(names)
    counts = {places: scope.graph.count(*_scan(places)) for places in patterns} if len(patterns) > 1 else {}
    if any(count == 0 for count in counts.values()):
        return empty(names)
    remaining = dict.fromkeys(patterns)  # a pattern that stands twice says nothing new
    table = _seed(remaining, counts, names, scope)
    while remaining:
        scope.deadline.check()
        growth, places = _next(remaining, counts, table, scope.graph)
        del remaining[places]
        table = _with_pattern(table, places, growth, scope, None if remaining else limit)
        if table.count == 0:
            return empty(names)
    return table


def _places(pattern: TriplePattern, scope: Scope) -> Places:
    subject, predicate, object_ = (
        term.name if isinstance(term, Variable) else known_id(term, scope.dictionary)
        for term in (pattern.subject, pattern.predicate, pattern.object)
    )
    return subject, predicate, object_


def _scan(places: Places) -> tuple[int, int, int]:
    """What a scan of a pattern asks for, whatever is bound."""
    subject, predicate, object_ = (ANY if isinstance(place, str) else place for place in places)
    return subject, predicate, object_


def _seed(patterns: dict[Places, None], counts: dict[Places, int], names: dict[str, None], scope: Scope) -> Table:
    """The table to begin with: what the surroundings know, where that is less than any pattern has."""
    if scope.hint is None or not patterns:
        return UNIT
    hint = scope.hint.only(names)
    if not hint.columns:
        return UNIT
    fewest = min(counts.values()) if counts else scope.graph.count(*_scan(next(iter(patterns))))
    return hint.distinct() if hint.count <= fewest else UNIT


def _next(
    patterns: dict[Places, None], counts: dict[Places, int], table: Table, graph: GraphReader
) -> tuple[float, Places]:
    """The pattern to go on with, and how many rows each row so far is expected to become."""
    if len(patterns) == 1:
        only = next(iter(patterns))
        if not table.columns:
            return 1.0, only
        return _growth(only, counts.get(only) or graph.count(*_scan(only)), table, graph), only
    connected = [places for places in patterns if any(place in table.columns for place in places)]
    if not connected:
        return min(((float(counts[places]), places) for places in patterns), key=lambda each: each[0])
    return min(
        ((_growth(places, counts[places], table, graph), places) for places in connected), key=lambda each: each[0]
    )


def _growth(places: Places, count: int, table: Table, graph: GraphReader) -> float:
    subject, predicate, object_ = places
    known = predicate if isinstance(predicate, int) else ANY
    growth = float(count)
    if subject in table.columns:
        growth /= max(1, graph.distinct(known, 0))
    if object_ in table.columns:
        growth /= max(1, graph.distinct(known, 2))
    if predicate in table.columns:
        growth /= _PREDICATES
    return growth


def _with_pattern(table: Table, places: Places, growth: float, scope: Scope, limit: int | None) -> Table:
    bound = any(place in table.columns for place in places)
    if not bound or table.count > scope.graph.count(*_scan(places)):
        triples = scope.graph.match(*_scan(places))
        return join(table, _bind(triples, places), scope.deadline)
    return stacked(list(_probe(table, places, growth, scope, limit)))


def _probe(table: Table, places: Places, growth: float, scope: Scope, limit: int | None) -> Iterator[Table]:
    """The rows of the table with the triples that match them, some at a time."""
    step = max(_FIRST_SLICE, int(PAIRS_AT_ONCE / max(1.0, growth))) if limit is None else _FIRST_SLICE
    first = found = 0
    while first < table.count:
        some = table if table.count <= step else _slice(table, first, first + step)
        subject, predicate, object_ = (_probed(some, place) for place in places)
        rows, triples = scope.graph.probe(subject, predicate, object_)
        yield _bind(triples, places, some, rows)
        first, found = first + step, found + len(rows)
        if limit is not None and found >= limit:
            return
        scope.deadline.check()
        step = step if limit is None else min(2 * step, PAIRS_AT_ONCE)


def _slice(table: Table, first: int, last: int) -> Table:
    columns = {name: ids[first:last] for name, ids in table.columns.items()}
    return Table(columns, min(last, table.count) - first)


def _probed(table: Table, place: Place) -> Ids | int:
    return place if isinstance(place, int) else table.columns.get(place, ANY)


def _bind(triples: Triples, places: Places, table: Table = UNIT, rows: Ids | None = None) -> Table:
    """The solutions that triples are of a pattern, each together with a row of a table."""
    count = len(triples.subjects)
    columns = {} if rows is None else {name: ids[rows] for name, ids in table.columns.items()}
    same = None
    for place, ids in zip(places, triples, strict=True):
        if not isinstance(place, str) or place in table.columns:
            continue
        if place in columns:  # a variable that stands twice
            equal = columns[place] == ids
            same = equal if same is None else same & equal
        else:
            columns[place] = ids
    result = Table(columns, count)
    return result if same is None else result.take(np.flatnonzero(same))
