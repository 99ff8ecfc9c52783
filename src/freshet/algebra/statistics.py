"""What the order of joins is chosen by: how many triples match a pattern, and how many terms stand in a place."""

from __future__ import annotations

from typing import Literal, Protocol

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import PatternTerm, TriplePattern
from freshet.rdf.terms import RDF_TYPE

Place = Literal["subject", "predicate", "object"]


class Statistics(Protocol):
    """Estimates over the graph that a query will be asked of; rough ones are fine, quick ones are needed."""

    def count(self, pattern: TriplePattern) -> float:
        """How many triples match the constants of a pattern; its variables match everything."""
        ...

    def distinct(self, predicate: PatternTerm, place: Place) -> float:
        """How many different terms stand in a place of the triples with this predicate; a variable is any predicate."""
        ...


class BoundPlaces:
    """No graph is known: a pattern is the rarer the more of its places are bound, subjects before objects.

    >>> from freshet.rdf.terms import Iri
    >>> pattern = TriplePattern(Variable("s"), Iri("p"), Iri("o"))
    >>> BoundPlaces().count(pattern)
    100.0
    """

    def count(self, pattern: TriplePattern) -> float:
        """A million triples, a thousand with a predicate's subject or object."""
        estimate = 1_000_000.0
        if not isinstance(pattern.predicate, Variable):
            estimate /= 10
        if not isinstance(pattern.object, Variable):
            estimate /= 10 if pattern.predicate == RDF_TYPE else 1_000  # a class has many members
        if not isinstance(pattern.subject, Variable):
            estimate /= 10_000
        return estimate

    def distinct(self, predicate: PatternTerm, place: Place) -> float:
        """The factors that `count` divides by."""
        if place == "object":
            return 10.0 if predicate == RDF_TYPE else 1_000.0
        return 10_000.0 if place == "subject" else 10.0
