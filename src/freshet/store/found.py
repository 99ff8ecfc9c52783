"""What is asked of the parts of a graph, and what they find, put together."""

from __future__ import annotations

import numpy as np

from freshet.kernels.adjacency_reading import merge_found
from freshet.rdf.triples import Ids, Triples

Column = Ids | int  # a place of many patterns: a term for each, or one for all
Found = tuple[Ids, Triples]  # for each triple the number of the pattern that it matches, in the order of these

NO_IDS = np.empty(0, np.int64)
NO_TRIPLES = Triples(NO_IDS, NO_IDS, NO_IDS)
NOTHING_FOUND: Found = (NO_IDS, NO_TRIPLES)


def combine_found(found: Found, more: Found) -> Found:
    """What two parts have found that have no triple in common; of a pattern that of the first before the rest."""
    if not more[0].size:
        return found
    if not found[0].size:
        return more
    numbers, *columns = merge_found(found[0], *found[1], more[0], *more[1])
    return numbers, Triples(*columns)
