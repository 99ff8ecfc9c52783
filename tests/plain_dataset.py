"""A dataset as plain as can be: sets of triples in arrays that every question goes through from end to end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyoxigraph as ox

from freshet.oneshot.dataset import ANY, Ids, Triples
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.oxigraph import parsed_key
from freshet.rdf.terms import term_from_key

Row = tuple[int, int, int]


class PlainGraph:
    """One graph."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._triples = np.array(sorted(set(rows)), np.int64).reshape(-1, 3)

    def count(self, subject: int, predicate: int, object: int) -> int:
        return len(self.match(subject, predicate, object).subjects)

    def distinct(self, predicate: int, place: int) -> int:
        return len(np.unique(self.match(ANY, predicate, ANY)[place]))

    def match(self, subject: int, predicate: int, object: int) -> Triples:
        kept = np.full(len(self._triples), True)
        for place, wanted in enumerate((subject, predicate, object)):
            if wanted != ANY:
                kept &= self._triples[:, place] == wanted
        found = self._triples[kept]
        return Triples(*(np.ascontiguousarray(found[:, place]) for place in range(3)))

    def probe(self, subjects: Ids | int, predicates: Ids | int, objects: Ids | int) -> tuple[Ids, Triples]:
        places = (subjects, predicates, objects)
        (length,) = {len(place) for place in places if not isinstance(place, int)}
        columns = [np.full(length, place) if isinstance(place, int) else place for place in places]
        rows: list[int] = []
        found: list[np.ndarray] = []
        for row, pattern in enumerate(zip(*columns, strict=True)):
            triples = np.stack(self.match(*map(int, pattern)), axis=1)
            rows += [row] * len(triples)
            found.append(triples)
        together = np.concatenate([np.empty((0, 3), np.int64), *found])
        return np.array(rows, np.int64), Triples(*(np.ascontiguousarray(together[:, place]) for place in range(3)))


class PlainDataset:
    """Graphs by the ids of their names."""

    def __init__(self, default: PlainGraph, named: Mapping[int, PlainGraph] | None = None) -> None:
        self._default = default
        self._named = dict(named or {})

    def graph(self, name: int) -> PlainGraph:
        return self._named.get(name, PlainGraph()) if name else self._default

    def names(self) -> Ids:
        return np.array(list(self._named), np.int64)


def dataset_of(quads: Iterable[ox.Quad], dictionary: Dictionary) -> PlainDataset:
    """The dataset that quads make, with blank nodes as they are labelled."""
    graphs: dict[int, list[Row]] = {0: []}
    for quad in quads:
        subject, predicate, object_ = (
            dictionary.encode(term_from_key(parsed_key(term, "")))
            for term in (quad.subject, quad.predicate, quad.object)
        )
        default = isinstance(quad.graph_name, ox.DefaultGraph)
        name = 0 if default else dictionary.encode(term_from_key(parsed_key(quad.graph_name, "")))
        graphs.setdefault(name, []).append((subject, predicate, object_))
    return PlainDataset(PlainGraph(graphs.pop(0)), {name: PlainGraph(rows) for name, rows in graphs.items()})
