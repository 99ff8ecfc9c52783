"""A dataset as it is after changes that have not been made: what the next operation of an update reads."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from freshet.rdf.triples import Ids, Triples
from freshet.store.changes import GraphChange, StoreChanges
from freshet.store.found import Column, Found, combine_found
from freshet.store.graph import Reader
from freshet.store.triple_index import TripleIndex


class Graphs(Protocol):
    """A default graph and named graphs."""

    def graph(self, name: int) -> Reader: ...
    def names(self) -> Ids: ...


class ChangedDataset:
    """Graphs, and what is deleted from them and inserted into them."""

    def __init__(self, dataset: Graphs, changes: StoreChanges) -> None:
        self._dataset = dataset
        self._changed = {name: ChangedGraph(dataset.graph(name), change) for name, change in changes.by_graph().items()}
        made, dropped = (
            [name for name, is_there in changes.exists.items() if is_there is kind] for kind in (True, False)
        )
        self._names = np.union1d(np.setdiff1d(dataset.names(), dropped), np.array(made, np.int64))

    def graph(self, name: int) -> Reader | ChangedGraph:
        """A graph by the id of its name, or the default graph; an empty one where there is none of that name."""
        return self._changed.get(name) or self._dataset.graph(name)

    def names(self) -> Ids:
        """The ids of the named graphs."""
        return self._names


class ChangedGraph:
    """A graph without what is deleted, with what is inserted. Counts are upper bounds."""

    def __init__(self, reader: Reader, change: GraphChange) -> None:
        self._reader = reader
        self._deleted = TripleIndex(change.deleted) if len(change.deleted.subjects) else None
        inserted = change.inserted
        if len(inserted.subjects):  # what is there already is inserted in name only
            known, _ = reader.probe(*inserted)
            fresh = np.ones(len(inserted.subjects), np.bool_)
            fresh[known] = False
            inserted = Triples(*(column[fresh] for column in inserted))
        self._inserted = TripleIndex(inserted)

    def count(self, subject: int, predicate: int, object: int) -> int:
        """How many triples match a pattern, or more."""
        return self._reader.count(subject, predicate, object) + self._inserted.count(subject, predicate, object)

    def distinct(self, predicate: int, place: int) -> int:
        """At most how many different terms stand at a place of a predicate's triples, or of all."""
        return self._reader.distinct(predicate, place) + self._inserted.distinct(predicate, place)

    def match(self, subject: int, predicate: int, object: int) -> Triples:
        """The triples that match a pattern."""
        _, left = self._without_deleted((np.empty(0, np.int64), self._reader.match(subject, predicate, object)))
        more = self._inserted.match(subject, predicate, object)
        return Triples(*(np.concatenate(columns) for columns in zip(left, more, strict=True)))

    def probe(self, subjects: Column, predicates: Column, objects: Column) -> Found:
        """Every match of many patterns, with the number of the pattern, in the order of the patterns."""
        left = self._without_deleted(self._reader.probe(subjects, predicates, objects))
        return combine_found(left, self._inserted.probe(subjects, predicates, objects))

    def _without_deleted(self, found: Found) -> Found:
        numbers, triples = found
        if self._deleted is None or not len(triples.subjects):
            return found
        left = np.ones(len(triples.subjects), np.bool_)
        left[self._deleted.probe(*map(np.ascontiguousarray, triples))[0]] = False
        return numbers[left] if len(numbers) else numbers, Triples(*(column[left] for column in triples))
