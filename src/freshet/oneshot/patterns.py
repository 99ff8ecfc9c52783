"""Triple patterns with ids for their terms, and what the graph's counts promise of them."""

from __future__ import annotations

from collections.abc import Container

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import PatternTerm, TriplePattern
from freshet.oneshot.constants import known_id
from freshet.oneshot.dataset import ANY, GraphReader
from freshet.rdf.dictionary import Dictionary

Place = int | str  # the id of a term, or the name of a variable

_PREDICATES = 8.0  # a bound predicate is assumed to be one of this number


class Pattern:
    """One triple pattern in a graph: its places, and what a scan of it asks the graph for."""

    __slots__ = ("_growths", "count", "names", "places", "possible", "scan")

    def __init__(self, pattern: TriplePattern, dictionary: Dictionary) -> None:
        subject = _place(pattern.subject, dictionary)
        predicate = _place(pattern.predicate, dictionary)
        object_ = _place(pattern.object, dictionary)
        self.places = (subject, predicate, object_)
        self.names = [place for place in self.places if type(place) is str]
        self.possible = ANY not in self.places  # a term that the dictionary does not have is in no graph
        self.scan = (
            subject if type(subject) is int else ANY,
            predicate if type(predicate) is int else ANY,
            object_ if type(object_) is int else ANY,
        )
        self.count = -1
        self._growths: dict[tuple[bool, bool, bool], float] = {}

    def count_matches(self, graph: GraphReader) -> int:
        """How many triples match what is bound."""
        if self.count < 0:
            self.count = graph.count(*self.scan) if self.possible else 0
        return self.count

    def is_connected(self, bound: Container[object]) -> bool:
        """Whether one of the variables is bound."""
        for name in self.names:  # noqa: SIM110  any() takes thrice as long
            if name in bound:
                return True
        return False

    def growth(self, bound: Container[object], graph: GraphReader) -> float:
        """How many triples are expected to match a row in which some variables are bound."""
        subject, predicate, object_ = self.places
        which = (subject in bound, predicate in bound, object_ in bound)
        found = self._growths.get(which)
        if found is None:
            found = float(self.count_matches(graph))
            if which[0]:
                found /= max(1, graph.distinct(self.scan[1], 0))
            if which[1]:
                found /= _PREDICATES
            if which[2]:
                found /= max(1, graph.distinct(self.scan[1], 2))
            self._growths[which] = found
        return found


def _place(term: PatternTerm, dictionary: Dictionary) -> Place:
    return term.name if isinstance(term, Variable) else known_id(term, dictionary)
