"""A town's observations written as they would arrive, at a pace, with event time on a compressed clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from freshet.demo.city import Town
from freshet.demo.observations import MORNING_MS, NO_FAULTS, STREAMS, Faults, Rates, SlotWriter, Written

_LOOK_SECONDS = 0.02


def write_live(
    folder: Path,
    town: Town,
    *,
    seconds: float,
    speed: float = 240.0,
    start_ms: int = MORNING_MS,
    rates: Rates | None = None,
    tick_seconds: float = 0.5,
    faults: Faults = NO_FAULTS,
    stopped: Callable[[], bool] = lambda: False,
    ahead: int = 0,
    ready: Callable[[], bool] = lambda: True,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, Written]:
    """Write one file a stream every `tick_seconds`, for `seconds`; each covers `tick_seconds * speed` of event time.

    What is written depends on the seed alone, not on how the clock runs: a slow machine only writes later.
    Files of a tick are written after its end, when everything in them has happened, one stream after the other over
    the length of a tick: feeds of three owners do not arrive in the same millisecond. The first ticks, as many as
    `ahead` says, are written at once; time begins to run when the reader is `ready`.
    """
    writer = SlotWriter(folder, town, rates or Rates.of(town), start_ms, tick_seconds * speed, faults)
    written = {stream: Written() for stream in STREAMS}
    began: float | None = None
    for tick in range(round(seconds / tick_seconds)):
        for turn, stream in enumerate(STREAMS):
            if tick >= ahead:
                while not ready() and not stopped():
                    sleep(_LOOK_SECONDS)
                began = clock() if began is None else began
                wait = began + (tick + 1 - ahead + turn / len(STREAMS)) * tick_seconds - clock()
                if wait > 0:
                    sleep(wait)
            if stopped():
                return written
            written[stream] += writer.write(stream, tick)
    return written
