"""An evaluation as the maintenance of a local view sees it: which entries the window needs, how long, how often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The candidates of one evaluation, entry by entry.

    `lives` is the remaining life time L: how many evaluations from this one on the entry is certainly part of.
    `uses` says how many solutions of the window join with the entry, which is what a stale one spoils.
    """

    time_ms: int
    slide_ms: int
    entries: Ids
    lives: Ids
    uses: Ids


def remaining_lives(entered_ms: Ids, time_ms: int, width_ms: int, slide_ms: int) -> Ids:
    """Equation 3: L = ceil((t_i + width - t) / slide), where the compatible element entered the window at t_i.

    >>> remaining_lives(np.array([3, 7, 7]), 8, 6, 2).tolist()
    [1, 3, 3]
    """
    return np.maximum(0, -((time_ms - width_ms - entered_ms) // slide_ms))


def one_to_one(time_ms: int, slide_ms: int, entries: Ids, lives: Ids) -> Candidates:
    """Candidates of a join in which each entry serves one solution."""
    return Candidates(time_ms, slide_ms, entries, lives, np.ones(len(entries), np.int64))
