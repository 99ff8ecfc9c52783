"""What one-shot evaluation sees of stored data: graphs at one moment, read-only. The store stands behind it."""

from __future__ import annotations

from typing import Protocol

from freshet.rdf.triples import ANY, DEFAULT_GRAPH, Ids, Triples

__all__ = ["ANY", "DEFAULT_GRAPH", "Dataset", "GraphReader", "Ids", "Triples"]


class GraphReader(Protocol):
    """One graph: a set of triples of ids."""

    def count(self, subject: int, predicate: int, object: int) -> int:
        """How many triples match a pattern; an id of ANY matches all terms."""

    def distinct(self, predicate: int, place: int) -> int:
        """About how many different terms stand at a place (0 subject, 2 object) of a predicate's triples.

        ANY as the predicate asks for all triples.
        """

    def match(self, subject: int, predicate: int, object: int) -> Triples:
        """The triples that match a pattern; an id of ANY matches all terms."""

    def probe(self, subjects: Ids | int, predicates: Ids | int, objects: Ids | int) -> tuple[Ids, Triples]:
        """Many patterns at once: each place has an id for all of them, ANY, or a column with an id for each.

        Gives every match with the number of the pattern that it matches, in the order of the patterns. Columns have
        one length, hold no ANY, and there is at least one.
        """


class Dataset(Protocol):
    """A default graph and named graphs."""

    def graph(self, name: int) -> GraphReader:
        """A graph by the id of its name, or the DEFAULT_GRAPH; an empty one where there is none of that name."""

    def names(self) -> Ids:
        """The ids of the named graphs."""
