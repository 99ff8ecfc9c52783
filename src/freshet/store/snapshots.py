"""Vector timestamps, and the numbers that snapshots go by (Wukong+S, section 4.3).

Every stream's batches are numbered from 1. A vector timestamp has the last batch of every stream. The plan maps
snapshot numbers to vector timestamps: when a batch begins, the next number is announced with the timestamp that it will
have; when all of the batch is inserted, that number is the stable one, which can be read. So a reader needs one number
and no vector, and streams may come at any time.

The plan keeps two numbers: the one that is being inserted, and the newest stable one; or the two newest stable ones.
Older ones live as long as they have readers: the arrays that they read are theirs, and no writer waits for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

VectorTimestamp = Mapping[str, int]  # the last batch of each stream

PLANNED = 2  # numbers that a plan keeps

_NO_BATCHES: VectorTimestamp = {}


class PlannedBatch(NamedTuple):
    """A stream's batch while it is inserted."""

    stream: str
    number: int
    snapshot: int


class SnapshotPlan:
    """Which snapshot has which batches. One batch at a time begins and ends."""

    def __init__(self) -> None:
        self._planned: dict[int, VectorTimestamp] = {0: _NO_BATCHES}
        self.stable_number = 0

    def begin(self, stream: str) -> PlannedBatch:
        """A batch is about to be inserted: announce the snapshot that will have it."""
        before = self._planned[self.stable_number]
        number = before.get(stream, 0) + 1
        return PlannedBatch(stream, number, self._announce({**before, stream: number}))

    def end(self, batch: PlannedBatch) -> None:
        """Let readers have the batch: all of it is inserted."""
        self.stable_number = batch.snapshot

    def advance(self) -> None:
        """Something else than a batch came: the next number with the same batches."""
        self.stable_number = self._announce(self.stable())

    def restore(self, batches: VectorTimestamp) -> None:
        """Take up counting where a checkpoint stopped."""
        self.stable_number = self._announce(dict(batches))

    def stable(self) -> VectorTimestamp:
        """The batches that readers see."""
        return self._planned[self.stable_number]

    def planned(self) -> Mapping[int, VectorTimestamp]:
        """The snapshot numbers that are kept, and what they have."""
        return dict(self._planned)

    def _announce(self, batches: VectorTimestamp) -> int:
        number = self.stable_number + 1
        kept = {old: planned for old, planned in self._planned.items() if number - PLANNED < old <= number - 1}
        self._planned = {**kept, number: batches}  # replaced, so that readers see one or the other
        return number
