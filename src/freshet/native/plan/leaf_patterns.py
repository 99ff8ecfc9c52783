"""Triple patterns of a plan as leaf buffers know them."""

from __future__ import annotations

from collections.abc import Sequence

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import TriplePattern
from freshet.native.buffers.constant_filter import ConstantFilter
from freshet.native.buffers.leaf_buffer import LeafPattern
from freshet.native.plan.sharing import parameter_number
from freshet.rdf.dictionary import Dictionary


def leaf_pattern(
    pattern: TriplePattern, dictionary: Dictionary, constant_filters: Sequence[ConstantFilter] = ()
) -> tuple[LeafPattern, tuple[str, ...]]:
    """A pattern without names, and the names of its columns. Parameters match what is chosen for them."""
    places: dict[str, tuple[int, ...]] = {}
    constants = [0, 0, 0]
    filters: list[tuple[int, ConstantFilter]] = []
    for at, end in enumerate((pattern.subject, pattern.predicate, pattern.object)):
        if isinstance(end, Variable):
            places[end.name] = (*places.get(end.name, ()), at)
            number = parameter_number(end)
            if number is not None and constant_filters:
                filters.append((at, constant_filters[number]))
        else:
            constants[at] = dictionary.encode(end)
    subject, predicate, object_ = constants
    return LeafPattern((subject, predicate, object_), tuple(places.values()), tuple(filters)), tuple(places)
