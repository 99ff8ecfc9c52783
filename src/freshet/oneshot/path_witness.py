"""One way along a property path: the triples that lead from one node to another."""

from __future__ import annotations

import numpy as np

from freshet.algebra.nodes import Alternative, Inverse, Link, NegatedPropertySet, Path, Repeat, Sequence
from freshet.oneshot.constants import known_id
from freshet.oneshot.dataset import ANY, Triples
from freshet.oneshot.paths import Walker
from freshet.rdf.terms import Iri

Triple = tuple[int, int, int]


def path_witness(path: Path, start: int, end: int, walker: Walker) -> list[Triple] | None:
    """The triples of one way, the shortest for `*` and `+`; None where there is no way.

    A way of no steps has no triples, but its node must be in the graph: then one triple shows it.
    """
    match path:
        case Link(predicate):
            return _first(walker.graph.match(start, known_id(predicate, walker.dictionary) or -1, end))
        case Inverse(inner):
            return path_witness(inner, end, start, walker)
        case Alternative(left, right):
            found = path_witness(left, start, end, walker)
            return path_witness(right, start, end, walker) if found is None else found
        case Sequence(left, right):
            return _in_sequence(left, right, start, end, walker)
        case NegatedPropertySet(forward, backward):
            return _find_step_outside(forward, backward, start, end, walker)
        case Repeat(inner, least, once):
            if least == 0 and start == end:
                return _first(walker.graph.match(start, ANY, ANY)) or _first(walker.graph.match(ANY, ANY, start)) or []
            return path_witness(inner, start, end, walker) if once else _repeated(inner, start, end, walker)
    raise TypeError(f"no way is defined for {type(path).__name__}")


def _first(triples: Triples) -> list[Triple] | None:
    if not len(triples.subjects):
        return None
    return [(int(triples.subjects[0]), int(triples.predicates[0]), int(triples.objects[0]))]


def _in_sequence(left: Path, right: Path, start: int, end: int, walker: Walker) -> list[Triple] | None:
    reached = walker.walk(left, np.array([start], np.int64))[1]
    leading = walker.walk(right, np.array([end], np.int64), backward=True)[1]
    for middle in np.intersect1d(reached, leading).tolist():
        first, second = path_witness(left, start, middle, walker), path_witness(right, middle, end, walker)
        if first is not None and second is not None:
            return first + second
    return None


def _find_step_outside(
    forward: tuple[Iri, ...], backward: tuple[Iri, ...], start: int, end: int, walker: Walker
) -> list[Triple] | None:
    for avoided, subject, object_, counts in (
        (forward, start, end, bool(forward) or not backward),
        (backward, end, start, bool(backward)),
    ):
        found = walker.graph.match(subject, ANY, object_)
        known = [known_id(each, walker.dictionary) for each in avoided]
        kept = ~np.isin(found.predicates, known)
        if counts and kept.any():
            return _first(Triples(*(column[kept] for column in found)))
    return None


def _repeated(path: Path, start: int, end: int, walker: Walker) -> list[Triple] | None:
    """Breadth first, one step of the path after another."""
    came_from: dict[int, int] = {}
    frontier = [start]
    while frontier and end not in came_from:
        rows, reached = walker.walk(path, np.array(frontier, np.int64))
        fresh: dict[int, int] = {}
        for row, node in zip(rows.tolist(), reached.tolist(), strict=True):
            if node not in came_from and node not in fresh:
                fresh[node] = frontier[row]
        came_from |= fresh
        frontier = list(fresh)
    if end not in came_from:
        return None
    found: list[Triple] = []
    node = end
    while True:
        before = came_from[node]
        found = (path_witness(path, before, node, walker) or []) + found
        if before == start:
            return found
        node = before
