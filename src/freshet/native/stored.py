"""What continuous queries need of the stored graphs: an immutable base to look into, and what has been added to it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.one_way_index import Ids, Rows
from freshet.rdf.elements import Elements
from freshet.rdf.triples import DEFAULT_GRAPH, Triples


class StoredRows(Protocol):
    """The triples of one predicate of a base, as rows with numbers below `2 * count`."""

    @property
    def count(self) -> int: ...

    def columns(self, place: int) -> tuple[Ids, Ids]:
        """What stands at a place (0 subject, 2 object) of the rows below `count`, and of those from there on."""

    def find(self, place: int, keys: Ids) -> tuple[Ids, Rows]:
        """The rows that have keys at a place: the number of the key, and the row."""

    def find_pairs(self, subjects: Ids, objects: Ids) -> tuple[Ids, Rows]:
        """The rows that have both, likewise."""


class StoredBase(Protocol):
    """A set of triples that does not change. An id of ANY matches all terms."""

    def count(self, subject: int, predicate: int, object: int) -> int: ...
    def distinct(self, predicate: int, place: int) -> int: ...
    def match(self, subject: int, predicate: int, object: int) -> Triples: ...
    def rows_of(self, predicate: int) -> StoredRows: ...


class StoredGraphs(Protocol):
    """The stored graphs by the ids of their names. A triple may be in the base and among what was added, too."""

    def base(self, graph: int = DEFAULT_GRAPH) -> StoredBase: ...

    def added_matching(self, triple: tuple[int, int, int], graph: int = DEFAULT_GRAPH) -> Elements:
        """What matches a pattern and is not in the base, in order of time."""


def matches(graphs: StoredGraphs, graph: int, triple: tuple[int, int, int]) -> Elements:
    """The elements of a graph that match three places, in order of time; 0 matches all terms."""
    found = graphs.base(graph).match(*triple)
    added = graphs.added_matching(triple, graph)
    times = np.full(len(found.subjects), BEFORE_ALL_TIME, np.int64)
    return Elements(*(np.concatenate(parts) for parts in zip((times, *found), added, strict=True)))
