"""Timed triples past the encoder."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FURTHEST_MS = 2**61  # from 1970, of a time that an element may have: with the widths of windows there is room for it


class Elements(NamedTuple):
    """A batch of stream elements, one row each: the time in milliseconds, and the ids of the triple's terms.

    An element that deletes its triple has the id of its predicate with a minus sign. Only streams that retract have
    such elements. Predicates are IRIs, so their ids are positive (`freshet.rdf.ids`).
    """

    times: NDArray[np.int64]
    subjects: NDArray[np.int64]
    predicates: NDArray[np.int64]
    objects: NDArray[np.int64]


class ElementsInGraphs(NamedTuple):
    """Elements, and the id of the graph that each is in, 0 for the default graph; None where graphs are not kept."""

    elements: Elements
    graphs: NDArray[np.int64] | None = None
