"""A query that begins in the past goes through what is kept of its streams, as if it had been there.

Elements come to a group that nothing else reads, in the order of time and some thousand at a time, so that little waits
in it. Then the group is as one that was there all the time, and is connected with the streams.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from freshet.native.query_group import QueryGroup
from freshet.native.streams.element_log import HeldElements
from freshet.rdf.elements import Elements

_STEP = 1 << 16  # elements


def catch_up(
    group: QueryGroup, streams: Mapping[str, HeldElements], until_ms: int, is_wanted: Callable[[], bool]
) -> None:
    """Push all elements of streams to a group, and take it as far as `until_ms`; ends early where it is not wanted."""
    times = np.sort(np.concatenate([held.times for held in streams.values()]))
    cuts = np.unique(times[_STEP::_STEP])
    placed = dict.fromkeys(streams, 0)
    for cut_ms in [*cuts[cuts < until_ms].tolist(), None]:
        for stream, held in streams.items():
            first = placed[stream]
            end = len(held.times) if cut_ms is None else int(held.times.searchsorted(cut_ms))
            columns = (held.times, held.subjects, held.predicates, held.objects)
            reached_ms = until_ms if cut_ms is None else cut_ms
            group.push(stream, Elements(*(column[first:end] for column in columns)), reached_ms)
            placed[stream] = end
        group.advance(until_ms if cut_ms is None else cut_ms)
        if not is_wanted():
            return
