"""What the stored graphs take in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def stored_bytes(stored: object) -> dict[str, int]:
    """The bytes of a store by what they are for, as it says itself; or else those of all arrays it holds."""
    told = getattr(stored, "nbytes", None)
    if callable(told):
        return dict(told()._asdict())
    found = {id(array): array.nbytes for array in _arrays(stored, set())}
    return {"index": sum(found.values())}


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
