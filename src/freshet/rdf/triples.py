"""Columns of triples, as stored data hands them to the evaluators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]

ANY = 0  # in a pattern: any term
DEFAULT_GRAPH = 0


class Triples(NamedTuple):
    """Triples as columns, in no order that means anything. No triple stands in them twice."""

    subjects: Ids
    predicates: Ids
    objects: Ids


def rename_ids(column: Ids, names: Ids) -> Ids:
    """A column with other ids in place of some: `names` has two rows, what is replaced, in order, and by what."""
    old, new = names
    if not old.size:
        return column
    at = np.minimum(np.searchsorted(old, column), old.size - 1)
    return np.where(old[at] == column, new[at], column)
