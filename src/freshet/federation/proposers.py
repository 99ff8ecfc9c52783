"""The proposers: which entries of a local view may be refreshed at an evaluation."""

from __future__ import annotations

import numpy as np

from freshet.federation.candidates import Candidates, Ids


def window_service_join(candidates: Candidates) -> Candidates:
    """WSJ: the entries that are compatible with the window. The others cannot change the answer."""
    return candidates


def propose_whole_view(candidates: Candidates, view_size: int) -> Candidates:
    """GNR: the whole view, independently of the window. What the window does not use has no life left, and no use."""
    lives, uses = np.zeros(view_size, np.int64), np.zeros(view_size, np.int64)
    lives[candidates.entries] = candidates.lives
    uses[candidates.entries] = candidates.uses
    everything: Ids = np.arange(view_size)
    return Candidates(candidates.time_ms, candidates.slide_ms, everything, lives, uses)
