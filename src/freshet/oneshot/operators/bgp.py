"""Basic graph patterns: `BGP(P1, ..., Pn) = Join(P1, Join(..., Pn))`, in the order that promises the fewest rows.

The first pattern is scanned. Each further one shares a variable with those before it where it can: the rows so far are
looked up in the graph, or, where there are more of them than the pattern has triples, joined with a scan.

| rows so far (?x) | pattern     | graph              | rows (?x, ?y)  |
| ---------------- | ----------- | ------------------ | -------------- |
| a, b             | ?x :p ?y    | a :p 1, a :p 2     | (a, 1), (a, 2) |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from freshet.algebra.nodes import BGP
from freshet.oneshot.dataset import ANY, Ids, Triples
from freshet.oneshot.evaluate import operator
from freshet.oneshot.joining import PAIRS_AT_ONCE, join
from freshet.oneshot.patterns import Pattern, Place
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import UNIT, Table, empty, stack_tables
from freshet.rdf.deadline import current

_SLICE = 1 << 10  # rows at a time at least


@operator.register
def _(node: BGP, scope: Scope) -> Table:
    return match(node, scope)


def match(node: BGP, scope: Scope, limit: int | None = None) -> Table:
    """The solutions of a basic graph pattern; at least `limit` if there are, perhaps not all."""
    remaining = [Pattern(pattern, scope.dictionary) for pattern in node.patterns]
    names = {name: None for pattern in remaining for name in pattern.names}
    if len(remaining) > 1:
        for pattern in remaining:
            if pattern.count_matches(scope.graph) == 0:
                return empty(names)
    elif remaining and not remaining[0].possible:
        return empty(names)
    return _extend(_seed(remaining, names, scope), remaining, names, scope, limit)


def _extend(table: Table, patterns: list[Pattern], names: dict[str, None], scope: Scope, limit: int | None) -> Table:
    """The table joined with patterns."""
    remaining = list(patterns)
    while remaining:
        current().check()
        if limit is not None and table.count > max(_SLICE, limit):
            return stack_tables(list(_extend_in_slices(table, remaining, names, scope, limit)))
        pattern = _next(remaining, table, scope)
        remaining.remove(pattern)
        with current().step():
            table = _with_pattern(table, pattern, scope)
        current().reserve(table.nbytes)
        if table.count == 0:
            return empty(names)
    return table


def _extend_in_slices(
    table: Table, patterns: list[Pattern], names: dict[str, None], scope: Scope, limit: int
) -> Iterator[Table]:
    """As `_extend`, for some rows after others, until there are enough solutions."""
    first, found, step = 0, 0, max(_SLICE, limit)
    while first < table.count and found < limit:
        part = _extend(_slice(table, first, step), patterns, names, scope, limit)
        yield part
        first, found = first + step, found + part.count


def _seed(patterns: list[Pattern], names: dict[str, None], scope: Scope) -> Table:
    """The table to begin with: what the surroundings know, where that is less than any pattern has."""
    if scope.hint is None or not patterns:
        return UNIT
    hint = scope.hint.select(names)
    if not hint.columns or hint.count > min(pattern.count_matches(scope.graph) for pattern in patterns):
        return UNIT
    return hint.distinct()


def _next(patterns: list[Pattern], table: Table, scope: Scope) -> Pattern:
    """The pattern to go on with: the fewest matches for each row so far, of those that share a variable with it."""
    if len(patterns) == 1:
        return patterns[0]
    connected = [pattern for pattern in patterns if pattern.is_connected(table.columns)]
    if len(connected) == 1:
        return connected[0]
    return min(connected or patterns, key=lambda pattern: pattern.growth(table.columns, scope.graph))


def _with_pattern(table: Table, pattern: Pattern, scope: Scope) -> Table:
    # a scan where nothing is bound, and where it is less work than as many look-ups
    if not pattern.is_connected(table.columns) or table.count > pattern.count_matches(scope.graph):
        return join(table, _bind(scope.graph.match(*pattern.scan), pattern))
    if table.count <= _SLICE:
        return _probe(table, pattern, scope)
    parts, first, step = [], 0, _SLICE
    while first < table.count:
        current().check()
        parts.append(_probe(_slice(table, first, step), pattern, scope))
        current().reserve(parts[-1].nbytes)
        first += step
        growth = sum(part.count for part in parts) / first  # what is found so far says how many can be taken at once
        step = max(1, min(PAIRS_AT_ONCE, int(PAIRS_AT_ONCE / max(1.0, growth))))
    return stack_tables(parts)


def _slice(table: Table, first: int, step: int) -> Table:
    columns = {name: ids[first : first + step] for name, ids in table.columns.items()}
    return Table(columns, min(step, table.count - first))


def _probe(table: Table, pattern: Pattern, scope: Scope) -> Table:
    """The rows of the table, each with the triples that match it."""
    subject, predicate, object_ = pattern.places
    columns = table.columns
    rows, triples = scope.graph.probe(
        _probe_column(columns, subject), _probe_column(columns, predicate), _probe_column(columns, object_)
    )
    return _bind(triples, pattern, table, rows)


def _probe_column(columns: Mapping[str, Ids], place: Place) -> Ids | int:
    return columns.get(place, ANY) if isinstance(place, str) else place


def _bind(triples: Triples, pattern: Pattern, table: Table = UNIT, rows: Ids | None = None) -> Table:
    """The solutions that triples are of a pattern, each together with a row of a table."""
    columns = {} if rows is None else {name: ids[rows] for name, ids in table.columns.items()}
    same = None
    for place, ids in zip(pattern.places, triples, strict=True):
        if type(place) is not str or place in table.columns:
            continue
        if place in columns:  # a variable that stands twice
            equal = columns[place] == ids
            same = equal if same is None else same & equal
        else:
            columns[place] = ids
    result = Table(columns, len(triples.subjects))
    return result if same is None else result.take(np.flatnonzero(same))
