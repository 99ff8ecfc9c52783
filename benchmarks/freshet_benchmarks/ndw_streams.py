"""Two streams of the shape of NDW's flow and speed, with the workloads of the Dynamic Windows thesis (section 7.5).

A lane of a measuring point gives both a flow and a speed of the same second; they are joined by lane, place and second.
Points have two lanes, every ninth has three, as in the published files. At the constant rate 400 records come a second.
In bursts, the flows and the speeds of 19,000 lanes come on top of that, each topic within 175 ms; the next burst begins
ten seconds after the last has ended. The thesis does not say how far apart the two records of a pair are. Here it is
anything up to a second, either topic first, the same for all of a burst: so much that a tumbling window of two seconds
finds three quarters of the pairs, as it did there (0.749 and 0.780). Event time is the time of publishing, and records
come in its order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

LANES_A_SECOND = 200
BURST_LANES = 19_000
BURST_MS = 175
BURST_EVERY_MS = 10_000
APART_MS = 1_000
START_MS = 1_617_292_800_000  # 2021-04-01 16:00:00, on a boundary of every window

Ids = NDArray[np.int64]
KEY = ("internalId", "lat", "long", "timestamp")


class Streams(NamedTuple):
    """Records of both topics, each in the order of its `time`. `number` tells the records of a topic apart."""

    flow: pa.Table
    speed: pa.Table


class _Measured(NamedTuple):
    """Pairs: of which lane, when the first of the two came, when the second."""

    lanes: Ids
    flow_ms: Ids
    speed_ms: Ids


def constant_streams(seconds: int, seed: int = 1, start_ms: int = START_MS) -> Streams:
    """400 records a second."""
    random = np.random.default_rng(seed)
    return _streams(_steady(seconds, start_ms, random), random)


def burst_streams(seconds: int, seed: int = 1, start_ms: int = START_MS) -> Streams:
    """38,000 records every ten seconds, and 400 a second between."""
    random = np.random.default_rng(seed)
    parts = [_steady(seconds, start_ms, random)]
    begins = np.arange(start_ms, start_ms + 1_000 * seconds - APART_MS - BURST_MS, BURST_EVERY_MS + BURST_MS)
    # As many bursts have little between their topics as have much: a few dozen drawn at random would be uneven.
    apart = (random.permutation(len(begins)) + random.random(len(begins))) * APART_MS // len(begins)
    for number, begin in enumerate(begins.tolist()):
        lanes = random.permutation(BURST_LANES)
        within = np.sort(random.integers(0, BURST_MS, BURST_LANES))
        same = np.ones(BURST_LANES, np.int64)
        parts.append(_apart(lanes, begin + within, int(apart[number]) * same, number % 2 * same))
    return _streams(_Measured(*map(np.concatenate, zip(*parts, strict=True))), random)


def _steady(seconds: int, start_ms: int, random: np.random.Generator) -> _Measured:
    count = LANES_A_SECOND * seconds
    moments = start_ms + np.arange(count) * 1_000 // LANES_A_SECOND
    lanes = np.arange(count) % BURST_LANES
    return _apart(lanes, moments, random.integers(0, APART_MS, count), random.integers(0, 2, count))


def _apart(lanes: Ids, moments: Ids, apart: Ids, speed_first: Ids) -> _Measured:
    later = moments + apart
    return _Measured(lanes, np.where(speed_first, later, moments), np.where(speed_first, moments, later))


def _streams(pairs: _Measured, random: np.random.Generator) -> Streams:
    stamps = np.minimum(pairs.flow_ms, pairs.speed_ms) // 1_000 * 1_000
    flows, speeds = random.integers(0, 40, len(stamps)) * 60, random.integers(40, 131, len(stamps))
    period = pa.array(np.full(len(stamps), 60)).cast(pa.string())
    return Streams(
        _topic(pairs.lanes, pairs.flow_ms, stamps, {"flow": pa.array(flows).cast(pa.string()), "period": period}),
        _topic(pairs.lanes, pairs.speed_ms, stamps, {"speed": pa.array(speeds).cast(pa.string())}),
    )


def _topic(lanes: Ids, moments: Ids, stamps: Ids, values: dict[str, pa.Array]) -> pa.Table:
    group, place = np.divmod(lanes, 19)  # nine points: eight with two lanes, one with three
    point, lane = 9 * group + np.minimum(place // 2, 8), np.where(place == 18, 3, place % 2 + 1)
    texts = {
        "internalId": _decimal("lane", lane),
        "lat": _decimal("51.", 10_000 + point),
        "long": _decimal("5.", 20_000 + 7 * point),
        "timestamp": pc.strftime(pa.array(stamps, pa.timestamp("ms")), "%Y-%m-%d %H:%M:%S"),
        "accuracy": pa.array(["100"] * len(lanes)),
        "num_lanes": pa.array(np.where(point % 9 == 8, 3, 2)).cast(pa.string()),
    }
    table = pa.table({**texts, **values, "time": moments, "number": np.arange(len(lanes))})
    return table.take(pa.array(np.argsort(moments, kind="stable")))


def _decimal(before: str, numbers: Ids) -> pa.Array:
    return pc.binary_join_element_wise(before, pa.array(numbers).cast(pa.string()), "")


def pair_numbers(flow: pa.ChunkedArray, speed: pa.ChunkedArray) -> Ids:
    """One number for each pair of records' numbers."""
    return np.sort(flow.to_numpy().astype(np.int64) << 32 | speed.to_numpy().astype(np.int64))


def bounded_pairs(streams: Streams) -> Ids:
    """The pairs of a join of everything with everything."""
    joined = streams.flow.select([*KEY, "number"]).join(
        streams.speed.select([*KEY, "number"]), list(KEY), join_type="inner", right_suffix=" of speed"
    )
    return pair_numbers(joined["number"], joined["number of speed"])
