"""Streams through the state of a windowed join, without Spark, in short ticks of event time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.rml import window_state
from freshet.rml.join_clock import NEVER, Times
from freshet.rml.window_state import Step, WindowState, empty_state, take
from freshet.rml.windows import JoinWindow
from freshet_benchmarks.ndw_streams import KEY, START_MS, Ids, Streams


class Tick(NamedTuple):
    """What waits after a tick, and what it gave."""

    state: WindowState
    step: Step


class Blocks:
    """Cold records in this process."""

    def __init__(self) -> None:
        self.tables: dict[tuple[int, int], pa.Table] = {}

    def get(self, side: int, block: int) -> pa.Table:
        return self.tables[side, block]

    def put(self, side: int, block: int, records: pa.Table) -> None:
        self.tables[side, block] = records

    def remove(self, side: int, block: int) -> None:
        del self.tables[side, block]


def keyed(topic: pa.Table) -> pa.Table:
    """The records of a topic as windows take them."""
    own = {
        window_state.KEY: pc.binary_join_element_wise(*(topic[column] for column in KEY), " "),
        window_state.TIME: topic["time"],
        window_state.TIE: topic["number"],
    }
    return pa.table({**own, "number": topic["number"]})


def tick_cuts(times: Sequence[Ids], tick_ms: int, start_ms: int = START_MS) -> list[Ids]:
    """Where the records of each tick begin and end, for each topic's times."""
    count = int(max(each[-1] for each in times) - start_ms) // tick_ms + 1
    return [np.searchsorted(each, start_ms + tick_ms * np.arange(count + 1)) for each in times]


def ticks(
    streams: Streams, window: JoinWindow, tick_ms: int, state: WindowState | None = None, start_ms: int = START_MS
) -> Iterator[Tick]:
    """The streams in ticks, one after the other, going on from a state."""
    flow, speed = keyed(streams.flow), keyed(streams.speed)
    times = [topic[window_state.TIME].to_numpy() for topic in (flow, speed)]
    flow_cuts, speed_cuts = (cuts.tolist() for cuts in tick_cuts(times, tick_ms, start_ms))
    state = empty_state(flow.schema, speed.schema, window) if state is None else state
    blocks = Blocks()
    for number in range(len(flow_cuts) - 1):
        flow_first, flow_last = flow_cuts[number : number + 2]
        speed_first, speed_last = speed_cuts[number : number + 2]
        parts = flow.slice(flow_first, flow_last - flow_first), speed.slice(speed_first, speed_last - speed_first)
        newest = Times(*(int(part[window_state.TIME][-1].as_py()) if len(part) else NEVER for part in parts))
        state, step = take(state, parts[0], parts[1], newest, window, 0, blocks)
        yield Tick(state, step)


class Waiting(NamedTuple):
    """How many records wait after each tick, and how many of them are at hand, not cold."""

    records: Ids
    at_hand: Ids


def waiting_records(streams: Streams, window: JoinWindow, tick_ms: int = 100) -> Waiting:
    """What waits, tick by tick."""
    counts = [(tick.state.records, tick.state.cold_records) for tick in ticks(streams, window, tick_ms)]
    records, cold = np.array(counts).T
    return Waiting(records, records - cold)
