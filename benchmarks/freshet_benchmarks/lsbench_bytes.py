"""What the stored graphs take in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.store.dataset import StoredDataset
from freshet_benchmarks.lsbench_play import Batches
from freshet_benchmarks.social_streams import TIMELESS


def stored_bytes(stored: object) -> dict[str, int]:
    """The bytes of a store by what they are for, as it says itself; or else those of all arrays it holds."""
    told = getattr(stored, "nbytes", None)
    if callable(told):
        return dict(told()._asdict())
    found = {id(array): array.nbytes for array in _arrays(stored, set())}
    return {"index": sum(found.values())}


class IndexedStreams(NamedTuple):
    """What the rows of some streams take in a store of their own, and what the index that finds their windows does."""

    rows: int
    row_bytes: int  # with what finds them in the graph
    index_bytes: int


def indexed_streams(batches: Batches) -> IndexedStreams:
    """Absorb batches of streams with all of their windows kept."""
    stored = StoredDataset()
    for stream in TIMELESS:
        stored.keep_windows(stream)
    for batch in batches:
        for stream in TIMELESS.intersection(batch):
            stored.absorb(batch[stream], stream)
    sizes = stored.nbytes()
    rows = len(stored.snapshot().graph(DEFAULT_GRAPH))
    return IndexedStreams(rows, sizes.appended + sizes.appended_index, sizes.stream_index)


def _arrays(thing: object, seen: set[int]) -> Iterator[NDArray[np.generic]]:
    """All arrays within a thing, each as large as what it is a part of."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing if thing.base is None or not isinstance(thing.base, np.ndarray) else thing.base
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from _arrays(part, seen)
    elif isinstance(thing, dict):
        for part in thing.values():
            yield from _arrays(part, seen)
    elif type(thing).__module__.startswith("freshet."):
        for part in vars(thing).values() if hasattr(thing, "__dict__") else ():
            yield from _arrays(part, seen)
