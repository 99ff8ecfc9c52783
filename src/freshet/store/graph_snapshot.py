"""A graph at one moment: its base, and the appended triples that were there by then, as one."""

from __future__ import annotations

import numpy as np

from freshet.kernels.adjacency_reading import merge_found
from freshet.rdf.triples import Ids, Triples
from freshet.store.appended_view import AppendedView
from freshet.store.triple_index import TripleIndex

Column = Ids | int


class GraphSnapshot:
    """What one-shot evaluation reads. A triple is in the base or appended, never both. Counts are upper bounds."""

    __slots__ = ("__weakref__", "appended", "base")

    def __init__(self, base: TripleIndex, appended: AppendedView) -> None:
        self.base = base
        self.appended = appended

    def __len__(self) -> int:
        return len(self.base) + self.appended.rows

    def count(self, subject: int, predicate: int, object: int) -> int:
        """How many triples match a pattern; at most some more, which have come since."""
        return self.base.count(subject, predicate, object) + self.appended.count(subject, predicate, object)

    def distinct(self, predicate: int, place: int) -> int:
        """At most how many different terms stand at a place (0, 2) of a predicate's triples, or of all."""
        return self.base.distinct(predicate, place) + self.appended.distinct(predicate, place)

    def match(self, subject: int, predicate: int, object: int) -> Triples:
        """The triples that match a pattern. The columns may be views of the index: nobody may write to them."""
        more = self.appended.match(subject, predicate, object)
        found = self.base.match(subject, predicate, object)
        if not more.subjects.size:
            return found
        return Triples(*(np.concatenate(columns) for columns in zip(found, more, strict=True)))

    def probe(self, subjects: Column, predicates: Column, objects: Column) -> tuple[Ids, Triples]:
        """Every match of many patterns, with the number of the pattern, in the order of the patterns."""
        found = self.base.probe(subjects, predicates, objects)
        more = self.appended.probe(subjects, predicates, objects)
        if not more[0].size:
            return found
        if not found[0].size:
            return more
        numbers, *columns = merge_found(found[0], *found[1], more[0], *more[1])
        return numbers, Triples(*columns)
