"""Who works with ids that nothing holds, and when a sweep that began beside them may end.

A sweep beside readers has two steps. The first marks what is reachable, and from then on notes every id that is given
out. The second drops the rest, once all pins of the first step are gone: later ones can have got only what was
reachable at the first step, or was given out after it. So readers that overlap for ever put no sweep off for ever.
"""

from __future__ import annotations

from itertools import count
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from freshet.kernels import dictionary as kernels
from freshet.rdf.arrow import read_only

Ids = NDArray[np.int64]

_MOST_NOTED = 1 << 17  # ids, before they are marked
_END = 2**63 - 1  # after every record
_EVERY_ID = np.full(1, -1, np.int64).view(np.uint64)  # a filter that all ids pass


class Pins:
    """The pins of a dictionary that are held now, by number. Each step is a single one for all threads."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._held: dict[int, None] = {}

    def add(self) -> int:
        number = next(self._numbers)
        self._held[number] = None
        return number

    def remove(self, number: int) -> None:
        del self._held[number]

    def __len__(self) -> int:
        return len(self._held)

    def held(self) -> frozenset[int]:
        """The numbers of those that are held."""
        return frozenset(self._held.copy())


class Pin:
    """Held while ids are in use that nothing else holds yet: `with dictionary.pins:`. They keep their terms."""

    __slots__ = ("_number", "_pins")

    def __init__(self, pins: Pins) -> None:
        self._pins = pins
        self._number = 0

    def __enter__(self) -> None:
        self._number = self._pins.add()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pins.remove(self._number)


class BegunSweep:
    """The first step of a sweep: what was there, what of it was reachable, and who may have the rest.

    Callers hold the dictionary's lock, and give its arrays as they are then.
    """

    def __init__(self, arrays: kernels.DictionaryArrays, hash_mask: np.int64) -> None:
        self._hash_mask = hash_mask
        self._slots = arrays.slots
        self._keep = np.zeros(arrays.slots.size // 2, np.uint8)
        self._filter = np.zeros(arrays.slots.size // 16, np.uint64)  # of the ids that are there: eight bits a slot
        kernels.fill_filter(arrays.slots, self._filter)
        self._heap_bytes = int(arrays.sizes[1])
        self._noted: list[Ids] = []
        self._noted_size = 0
        self.pinned: frozenset[int] = frozenset()

    def note(self, arrays: kernels.DictionaryArrays, ids: Ids) -> None:
        """Ids that are given out, or enter what others hold."""
        self._noted.append(ids.copy())  # the caller may put others in their place
        self._noted_size += ids.size
        if self._noted_size > _MOST_NOTED:
            self._mark_noted(arrays)

    def mark(self, arrays: kernels.DictionaryArrays, ids: Ids) -> None:
        """Keep the terms of ids. Those that have come since the first step are kept anyway."""
        self._mark(arrays, ids, self._heap_bytes)

    def _mark(self, arrays: kernels.DictionaryArrays, ids: Ids, end: int) -> None:
        """Keep those whose records are before `end`."""
        if arrays.slots is not self._slots:
            kept = self._slots[2 * np.flatnonzero(self._keep)]
            self._slots, self._keep = arrays.slots, np.zeros(arrays.slots.size // 2, np.uint8)
            kernels.mark(arrays, read_only(kept), self._hash_mask, self._keep, _END, _EVERY_ID)
        ids_before = self._filter if end < _END else _EVERY_ID
        kernels.mark(arrays, read_only(ids.reshape(-1)), self._hash_mask, self._keep, end, ids_before)

    def kept_slots(self, arrays: kernels.DictionaryArrays) -> Ids:
        """The slots of what stays: all that is marked, and all that has come since the first step."""
        self._mark_noted(arrays)
        is_new = (arrays.slots[::2] != 0) & (arrays.slots[1::2] >= self._heap_bytes)
        self._mark(arrays, arrays.slots[2 * np.flatnonzero(is_new)], _END)
        return 2 * np.flatnonzero(self._keep)

    def _mark_noted(self, arrays: kernels.DictionaryArrays) -> None:
        noted, self._noted, self._noted_size = self._noted, [], 0
        for ids in noted:
            self.mark(arrays, ids)
