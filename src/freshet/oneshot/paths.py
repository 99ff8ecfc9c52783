"""Walking property paths (SPARQL 1.1, 9 and 18.4) from many nodes at once.

`*`, `+` and `?` give every pair of ends once, all other paths a pair for each way. For `*` and `+`, all nodes that can
be reached from any start are found first, with the edges between them; a kernel then walks from each start by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.nodes import Alternative, Inverse, Link, NegatedPropertySet, Path, Repeat, Sequence
from freshet.kernels.joins import reach
from freshet.oneshot.constants import known_id
from freshet.oneshot.dataset import ANY, GraphReader, Ids, Triples
from freshet.oneshot.joining import PAIRS_AT_ONCE
from freshet.oneshot.table import Rows, Table
from freshet.rdf.deadline import current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.row_numbers import ROWS_AT_ONCE
from freshet.rdf.terms import Iri

Steps = tuple[Rows, Ids]  # numbers of the nodes walked from, and the nodes walked to
Ends = tuple[Ids, Ids]

_FEW_NODES = 1 << 10
_EDGES_AT_ONCE = 1 << 26  # that are walked over between two looks at the deadline


@dataclass(frozen=True, slots=True, eq=False)
class Walker:
    """Paths in one graph."""

    graph: GraphReader
    dictionary: Dictionary

    def walk(self, path: Path, nodes: Ids, backward: bool = False) -> Steps:
        """Where a path leads from each of some nodes, or, backward, from where it leads to them."""
        current().check()
        match path:
            case Link(predicate):
                return self._follow(nodes, known_id(predicate, self.dictionary), backward)
            case Inverse(inner):
                return self.walk(inner, nodes, not backward)
            case Sequence(left, right):
                first, second = (right, left) if backward else (left, right)
                rows, middle = self.walk(first, nodes, backward)
                more, reached = self.walk(second, middle, backward)
                return rows[more], reached
            case Alternative(left, right):
                return _concatenate_ends(self.walk(left, nodes, backward), self.walk(right, nodes, backward))
            case NegatedPropertySet():
                return self._avoid(path, nodes, backward)
            case Repeat(inner, least, True):
                steps = self.walk(inner, nodes, backward)
                return _distinct(steps if least else _concatenate_ends((np.arange(len(nodes)), nodes), steps))
            case Repeat(inner, least, False):
                return self._repeat(inner, least, nodes, backward)
        raise TypeError(f"no walk is defined for {type(path).__name__}")

    def ends(self, path: Path) -> Ends:
        """All pairs of nodes of the graph that a path leads from and to."""
        match path:
            case Link(predicate):
                known = known_id(predicate, self.dictionary)
                subjects, _, objects = self.graph.match(ANY, known, ANY) if known else _no_triples()
                return subjects, objects
            case Inverse(inner):
                starts, ends = self.ends(inner)
                return ends, starts
            case Alternative(left, right):
                return _concatenate_ends(self.ends(left), self.ends(right))
            case Sequence(left, right) if isinstance(left, Repeat) and not isinstance(right, Repeat):
                middle, ends = self.ends(right)
                rows, starts = self.walk(left, middle, backward=True)
                return starts, ends[rows]
            case Sequence(left, right):
                starts, middle = self.ends(left)
                rows, ends = self.walk(right, middle)
                return starts[rows], ends
            case _:
                nodes = self.nodes()
                rows, ends = self.walk(path, nodes)
                return nodes[rows], ends

    def nodes(self) -> Ids:
        """All nodes of the graph, in order."""
        triples = self.graph.match(ANY, ANY, ANY)
        return np.union1d(triples.subjects, triples.objects)

    def present(self, nodes: Ids) -> NDArray[np.bool_]:
        """Which of some nodes are in the graph."""
        if len(nodes) > _FEW_NODES:
            return np.isin(nodes, self.nodes())
        count = self.graph.count
        return np.array([count(node, ANY, ANY) + count(ANY, ANY, node) > 0 for node in nodes.tolist()], np.bool_)

    def _probe(self, nodes: Ids, predicate: int, backward: bool) -> tuple[Rows, Triples]:
        if len(nodes) == 0:
            return np.empty(0, np.int64), _no_triples()
        parts = []
        for first in range(0, len(nodes), ROWS_AT_ONCE):
            some = nodes[first : first + ROWS_AT_ONCE]
            asked = (ANY, predicate, some) if backward else (some, predicate, ANY)
            rows, triples = self.graph.probe(*asked)
            current().reserve(4 * rows.nbytes)
            parts.append((rows + first if first else rows, triples))
        if len(parts) == 1:
            return parts[0]
        current().reserve(sum(4 * rows.nbytes for rows, _ in parts))
        columns = zip(*((rows, *triples) for rows, triples in parts), strict=True)
        rows, *ends = (np.concatenate(column) for column in columns)
        return rows, Triples(*ends)

    def _follow(self, nodes: Ids, predicate: int, backward: bool) -> Steps:
        if not predicate:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows, triples = self._probe(nodes, predicate, backward)
        return rows, triples.subjects if backward else triples.objects

    def _avoid(self, path: NegatedPropertySet, nodes: Ids, backward: bool) -> Steps:
        parts: list[Steps] = []
        if path.forward or not path.backward:
            parts.append(self._others(path.forward, nodes, backward))
        if path.backward:
            parts.append(self._others(path.backward, nodes, not backward))
        return parts[0] if len(parts) == 1 else _concatenate_ends(*parts)

    def _others(self, avoided: tuple[Iri, ...], nodes: Ids, backward: bool) -> Steps:
        """Steps over any predicate but some."""
        rows, triples = self._probe(nodes, ANY, backward)
        ids = np.array([known_id(iri, self.dictionary) for iri in avoided], np.int64)
        kept = np.flatnonzero(~np.isin(triples.predicates, ids))
        return rows[kept], (triples.subjects if backward else triples.objects)[kept]

    def _repeat(self, path: Path, least: int, nodes: Ids, backward: bool) -> Steps:
        starts, places = np.unique(nodes, return_inverse=True)
        edges_from, edges_to, reachable = self._explore(path, starts, backward)
        dense_from, dense_to = np.searchsorted(reachable, edges_from), np.searchsorted(reachable, edges_to)
        current().reserve(4 * dense_from.nbytes)
        order = np.argsort(dense_from, kind="stable")
        current().check()
        offsets = np.searchsorted(dense_from[order], np.arange(len(reachable) + 1))
        found = self._reach(offsets, dense_to[order], np.searchsorted(reachable, starts), least == 0)
        start_numbers, reached = found[0], reachable[found[1]]
        if len(starts) == len(nodes) and np.array_equal(places, np.arange(len(nodes))):
            return start_numbers, reached
        return _spread(start_numbers, reached, places, len(starts))

    def _explore(self, path: Path, starts: Ids, backward: bool) -> tuple[Ids, Ids, Ids]:
        """The edges that a path makes between all nodes that it leads to from some, and these nodes in order."""
        seen = frontier = starts
        froms: list[Ids] = []
        tos: list[Ids] = []
        while len(frontier):
            rows, reached = self.walk(path, frontier, backward)
            current().reserve(4 * reached.nbytes)
            froms.append(frontier[rows])
            tos.append(reached)
            frontier = np.setdiff1d(reached, seen)
            seen = np.union1d(seen, frontier)
        if not froms:
            return seen, seen, seen
        return np.concatenate(froms), np.concatenate(tos), seen

    def _reach(self, offsets: Ids, targets: Ids, starts: Ids, with_start: bool) -> tuple[Rows, Rows]:
        size = len(offsets) - 1
        stamps, queue = np.zeros(size, np.int64), np.empty(size, np.int64)
        chunks: list[tuple[Rows, Rows]] = []
        first, step = 0, max(1, _EDGES_AT_ONCE // (len(targets) + 1))
        numbers, nodes = np.empty(max(PAIRS_AT_ONCE, size), np.int64), np.empty(max(PAIRS_AT_ONCE, size), np.int64)
        while first < len(starts):
            some = starts[: first + step]
            filled, first = reach(offsets, targets, some, first, with_start, stamps, queue, numbers, nodes)
            current().reserve(2 * 16 * filled)  # once here, and once where they are put together
            chunks.append((numbers[:filled].copy(), nodes[:filled].copy()))
        if not chunks:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate([chunk[0] for chunk in chunks]), np.concatenate([chunk[1] for chunk in chunks])


def can_be_empty(path: Path) -> bool:
    """Whether a path has a way of no steps, which leads from every term to itself."""
    match path:
        case Repeat(inner, least):
            return least == 0 or can_be_empty(inner)
        case Inverse(inner):
            return can_be_empty(inner)
        case Sequence(left, right):
            return can_be_empty(left) and can_be_empty(right)
        case Alternative(left, right):
            return can_be_empty(left) or can_be_empty(right)
    return False


def _no_triples() -> Triples:
    nothing = np.empty(0, np.int64)
    return Triples(nothing, nothing, nothing)


def _concatenate_ends(left: Ends, right: Ends) -> Ends:
    return np.concatenate([left[0], right[0]]), np.concatenate([left[1], right[1]])


def _distinct(steps: Steps) -> Steps:
    table = Table({"row": steps[0], "node": steps[1]}, len(steps[0])).distinct()
    return table.columns["row"], table.columns["node"]


def _spread(start_numbers: Rows, reached: Ids, places: Rows, count: int) -> Steps:
    """From each distinct start to every node that is it: places[i] is the start of node i; starts stand in order."""
    firsts = np.searchsorted(start_numbers, np.arange(count + 1))
    lengths = np.diff(firsts)[places]
    rows = np.repeat(np.arange(len(places)), lengths)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return rows, reached[firsts[places][rows] + within]
