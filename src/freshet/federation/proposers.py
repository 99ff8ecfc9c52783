"""The proposers: which entries of a local view may be refreshed at an evaluation."""

from __future__ import annotations

import numpy as np

from freshet.federation.moment import Ids, Moment


def window_service_join(moment: Moment) -> Moment:
    """WSJ: the entries that are compatible with the window. The others cannot change the answer."""
    return moment


def general(moment: Moment, view_size: int) -> Moment:
    """GNR: the whole view, whatever the window holds. What the window does not use has no life left, and no use."""
    lives, uses = np.zeros(view_size, np.int64), np.zeros(view_size, np.int64)
    lives[moment.entries] = moment.lives
    uses[moment.entries] = moment.uses
    everything: Ids = np.arange(view_size)
    return Moment(moment.time_ms, moment.slide_ms, everything, lives, uses)
