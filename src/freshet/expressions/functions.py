"""Every function over columns by its name: SPARQL's built-in ones (17.4) and the casts (17.5),
mathematics and some of Jena's by their IRIs.

A function takes the batch and a column for each argument. One that is not here is refused.
"""

from __future__ import annotations

from collections.abc import Callable

from freshet.expressions import (
    casts,
    forms,
    hashes,
    jena,
    mathematics,
    nodes,
    numbers,
    patterns,
    strings,
    times,
    triple_terms,
)
from freshet.expressions.columns import Column

Function = Callable[..., Column]

FUNCTIONS: dict[str, Function] = {
    name: function
    for family in (forms, nodes, triple_terms, strings, patterns, numbers, mathematics, times, hashes, casts, jena)
    for name, function in family.FUNCTIONS.items()
}

# These give something else for the same arguments, and so need a query that runs once.
VOLATILE = frozenset({"NOW", "RAND", "UUID", "STRUUID", "BNODE"})
