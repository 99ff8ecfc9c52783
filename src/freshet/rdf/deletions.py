"""Deletions among elements: which additions stand after them.

An element that deletes its triple has the id of its predicate with a minus sign (`freshet.rdf.elements`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.joins import number_rows
from freshet.rdf.arrow import read_only
from freshet.rdf.triples import Ids


class Standing(NamedTuple):
    """Of elements in order of time: the additions with no deletion of their triple after them, and the last deletions
    of triples with no addition after them."""

    additions: NDArray[np.bool_]
    deletions: NDArray[np.bool_]


def standing(subjects: Ids, predicates: Ids, objects: Ids) -> Standing:
    """What stands of elements in order of time.

    >>> import numpy as np
    >>> a, p, one = np.array([7, 7, 7, 7, 7]), np.array([3, -3, 3, 3, -3]), np.array([1, 1, 1, 2, 2])
    >>> [column.tolist() for column in standing(a, p, one)]
    [[False, False, True, False, False], [False, False, False, False, True]]
    """
    deletes = predicates < 0
    if not deletes.any():
        return Standing(~deletes, deletes)
    rows = np.arange(len(predicates))
    triples, firsts = number_rows(read_only(np.column_stack((subjects, np.abs(predicates), objects))))
    last_deletion = np.full(len(firsts), -1)
    last_deletion[triples[deletes]] = rows[deletes]  # of several the last
    additions = ~deletes & (rows > last_deletion[triples])
    has_additions = np.zeros(len(firsts), np.bool_)
    has_additions[triples[additions]] = True
    return Standing(additions, (rows == last_deletion[triples]) & ~has_additions[triples])
