"""Vector timestamps, and the numbers that snapshots go by (Wukong+S, section 4.3).

Every stream's batches are numbered from 1. Each shard has a local vector timestamp: the last batch of every stream that
it has in full. Their minimum is stable: what is in it can be read. The plan maps snapshot numbers to vector timestamps:
when a batch begins, the next number is announced with the timestamp that it will have; when all shards have the batch,
that number is the stable one. So a reader needs one number and no vector, and streams may come at any time.

The plan keeps two numbers: the one that is being inserted, and the newest stable one; or the two newest stable ones.
Older ones live as long as they have readers: the arrays that they read are theirs, and no writer waits for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from freshet.rdf.errors import InputError

VectorTimestamp = Mapping[str, int]  # the last batch of each stream

PLANNED = 2  # numbers that a plan keeps

_NO_BATCHES: VectorTimestamp = {}


class PlannedBatch(NamedTuple):
    """A stream's batch while it is inserted."""

    stream: str
    number: int
    snapshot: int


class SnapshotPlan:
    """Which snapshot has which batches. One batch at a time begins and ends; shards report theirs as they finish."""

    def __init__(self, shards: int = 1) -> None:
        self._local: list[dict[str, int]] = [{} for _ in range(shards)]
        self._planned: dict[int, VectorTimestamp] = {0: _NO_BATCHES}
        self.stable_number = 0

    def begin(self, stream: str) -> PlannedBatch:
        """A batch is about to be inserted: announce the snapshot that will have it."""
        before = self._planned[self.stable_number]
        number = before.get(stream, 0) + 1
        return PlannedBatch(stream, number, self._announce({**before, stream: number}))

    def finish_shard(self, shard: int, batch: PlannedBatch) -> None:
        """A shard has all of a batch that is its own."""
        self._local[shard][batch.stream] = batch.number

    def end(self, batch: PlannedBatch) -> None:
        """Let readers have the batch: all shards have it."""
        assert self.local_minimum(batch.stream) >= batch.number, "a batch is readable when every shard has it"
        self.stable_number = batch.snapshot

    def advance(self) -> None:
        """Something else than a batch came: the next number with the same batches."""
        self.stable_number = self._announce(self.stable())

    def restore(self, batches: VectorTimestamp) -> None:
        """Take up counting where a checkpoint stopped."""
        for local in self._local:
            local.update(batches)
        self.stable_number = self._announce(dict(batches))

    def stable(self) -> VectorTimestamp:
        """The batches that readers see."""
        return self._planned[self.stable_number]

    def local(self, shard: int) -> VectorTimestamp:
        """The batches that a shard has."""
        return dict(self._local[shard])

    def local_minimum(self, stream: str) -> int:
        """The last batch of a stream that all shards have."""
        return min(local.get(stream, 0) for local in self._local)

    def planned(self) -> Mapping[int, VectorTimestamp]:
        """The snapshot numbers that are kept, and what they have."""
        return dict(self._planned)

    def _announce(self, batches: VectorTimestamp) -> int:
        number = self.stable_number + 1
        kept = {old: planned for old, planned in self._planned.items() if number - PLANNED < old <= number - 1}
        self._planned = {**kept, number: batches}  # replaced, so that readers see one or the other
        return number


class Injectors:
    """One thread for each shard; with one shard, it is the absorbing thread."""

    def __init__(self, shards: int) -> None:
        if shards < 1 or shards & (shards - 1):
            raise InputError(f"the number of shards is {shards}: it must be a power of two")
        self.shards = shards
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def each(self, run: Callable[[int], None]) -> None:
        """Run something for every shard, and wait for all."""
        if self.shards == 1:
            run(0)
            return
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.shards, thread_name_prefix="injector")
        list(self._pool.map(run, range(self.shards)))

    def stop(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
