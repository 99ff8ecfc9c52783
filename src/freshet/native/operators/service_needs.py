"""What an evaluation needs of a local view: which keys, for how many evaluations each, and by how many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from freshet.federation.local_view import Needed
from freshet.kernels.joins import number_rows
from freshet.native.buffers.inputs import Buffer
from freshet.native.buffers.one_way_index import Rows
from freshet.rdf.arrow import read_only


@dataclass(frozen=True, slots=True)
class WindowExtent:
    """How long rows live: the slide of the query's windows, and how many slides they are wide."""

    slide_ms: int
    steps: int


def all_needed(extent: WindowExtent, rows: int = 1) -> Needed:
    """The one entry of a view without keys."""
    one = np.ones(1, np.int64)
    return Needed(np.empty((1, 0), np.int64), one * extent.steps, one * rows, extent.slide_ms)


def needed_by(buffer: Buffer, rows: Rows, columns: Sequence[int], extent: WindowExtent, moment: int) -> Needed:
    """The keys that some rows have in these columns; those that leave one unbound have none."""
    if not columns:
        return all_needed(extent, max(1, len(rows)))
    keys = np.ascontiguousarray(buffer.values[rows][:, columns])
    bound = (keys != 0).all(axis=1)
    keys, rows = keys[bound], rows[bound]
    numbers, firsts = number_rows(read_only(keys))
    left = np.zeros(len(firsts), np.int64)
    passed = (moment - buffer.births(rows)) // (2 * extent.slide_ms)
    np.maximum.at(left, numbers, np.maximum(1, extent.steps - passed))
    return Needed(keys[firsts], left, np.bincount(numbers, minlength=len(firsts)), extent.slide_ms)
