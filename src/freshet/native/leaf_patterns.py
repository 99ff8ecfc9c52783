"""Triple patterns of a plan as leaf buffers know them."""

from __future__ import annotations

from collections.abc import Sequence

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import TriplePattern
from freshet.native.choice import Choice
from freshet.native.leaf_buffer import LeafPattern
from freshet.native.sharing import parameter_number
from freshet.rdf.dictionary import Dictionary


def leaf_pattern(
    pattern: TriplePattern, dictionary: Dictionary, choices: Sequence[Choice] = ()
) -> tuple[LeafPattern, tuple[str, ...]]:
    """A pattern without names, and the names of its columns. Parameters match what is chosen for them."""
    places: dict[str, tuple[int, ...]] = {}
    constants = [0, 0, 0]
    chosen: list[tuple[int, Choice]] = []
    for at, end in enumerate((pattern.subject, pattern.predicate, pattern.object)):
        if isinstance(end, Variable):
            places[end.name] = (*places.get(end.name, ()), at)
            number = parameter_number(end)
            if number is not None and choices:
                chosen.append((at, choices[number]))
        else:
            constants[at] = dictionary.encode(end)
    subject, predicate, object_ = constants
    return LeafPattern((subject, predicate, object_), tuple(places.values()), tuple(chosen)), tuple(places)
