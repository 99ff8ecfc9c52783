"""Checkpoints: a journal of changes, and snapshots of the state, made from time to time in the background.

Every change is an entry of the journal before it is acted on. A checkpoint is made for an entry that no window needs
anything before (the *cut*): the triples that streams left in the graph since the checkpoint before go to a new segment,
and a manifest says which segments there are and how everything else was at the cut. To recover is to take up the newest
manifest whose files are whole, and to replay what the journal has from its cut on, in the same order; so the windows
hold the same again. The journal is kept from the cut of the manifest before on, in case the newest is damaged.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from freshet.native.moments import BEFORE_ALL_TIME, close_at
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.terms import Iri
from freshet.runtime.checkpoint_manifest import Manifest, Manifests, Segment, State
from freshet.runtime.checkpoint_segments import (
    GraphRows,
    merge_segments,
    read_segment,
    to_merge,
    write_changes,
    write_segments,
)
from freshet.runtime.durable_files import DamagedError, FolderLock, make_folder
from freshet.runtime.join_snapshots import JoinSnapshots
from freshet.runtime.journal import Header, Journal, JournalEntry, Piece
from freshet.runtime.recorded_dataset import RecordedDataset
from freshet.store.dataset import rows_by_graph
from freshet.store.pending_changes import PendingChanges

if TYPE_CHECKING:
    from freshet.mapper.stream_join import StreamJoin
    from freshet.native.engine import Engine
    from freshet.native.timing import Counted

EVERY_SECONDS = 10.0
_MARK_SECONDS = 0.2
_MARK_ENTRIES = 100
_MOST_MARKS = 64


@dataclass(slots=True)
class _Mark:
    """How everything was just before an entry was done, and from when on elements mattered to what was to come.

    `latest_ms` is the largest time of an element in the entries from here to the next mark.
    """

    sequence: int
    state: State
    needed_ms: int
    passed: dict[str, int]  # for each query the moment up to which it had been reported
    counted: dict[str, Counted]  # and how many elements its windows had counted before that time
    reads: dict[str, frozenset[str]]  # for queries that read the answers of others the names of these
    needed: dict[str, int]  # for all of these queries from when on elements of what they read mattered to them
    latest_ms: int = BEFORE_ALL_TIME
    made_at: float = field(default_factory=time.monotonic)


class Checkpoint:
    """A checkpoint folder in use. First `recover`, then `entries` to be replayed, then `start`.

    One thread at a time does entries: it calls `mark` before one if that is due, `note_entry` for each, and sets
    `delivered` when the reports are where they should be. `describe` gives the state of everything but the graphs.
    `window_ms` is by stream how far back one-shot queries may look in the folder later.
    """

    def __init__(self, folder: Path, *, every_seconds: float = EVERY_SECONDS, sync: bool = True) -> None:
        make_folder(folder)
        if any((folder / "batches").glob("*.arrow")):
            raise InputError(
                "the checkpoint is of an earlier Freshet: choose a new checkpoint folder", file=str(folder)
            )
        self._lock_file = FolderLock(folder)
        self._graph_folder = folder / "graph"
        make_folder(self._graph_folder)
        self.dataset = RecordedDataset()
        self._journal_folder = folder / "journal"
        self.journal = Journal(self._journal_folder, sync=sync)
        self._manifests = Manifests(folder / "manifests", self._graph_folder)
        self._joins = JoinSnapshots(folder / "joins")
        self._every_seconds = every_seconds
        self._lock = threading.Lock()
        self._marks: list[_Mark] = []
        self._entries = 0  # since the last mark
        self._loads: list[tuple[int, tuple[Segment, ...]]] = []
        self._next_segment = 1 + max((int(file.name[:8]) for file in self._graph_folder.glob("*.parquet")), default=0)
        self.window_ms: dict[str, int] = {}
        self.delivered = -1  # all reports of entries up to here have been delivered
        self._passed: dict[str, int] = {}  # up to which moment each query had been delivered at the last checkpoint
        self.state: State = {}  # of the checkpoint that was recovered
        self.counted: dict[str, list[list[int | str]]] = {}  # likewise
        self.headers: list[tuple[int, Header]] = []  # of what is to be replayed
        self.was_new = True  # whether there was nothing in the folder
        self.problems: list[str] = []
        self.trouble = ""  # why the last checkpoint could not be made
        self._reported = ""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._making = threading.Lock()

    # ---- recovering

    def recover(self, dictionary: Dictionary, first: Callable[[State], None] = lambda state: None) -> State:
        """Take up the graphs of the newest checkpoint that is whole; gives its state, empty where there is none.

        `first` is done with the state before the segments are read.
        `problems` says, a line each, what was found to be damaged and what was used instead.
        """
        self._dictionary = dictionary
        damaged = self._manifests.recover()
        manifest = self._manifests.newest
        if manifest is None and damaged and not self._is_journal_enough():
            raise DamagedError(f"{damaged[-1].message}, and there is no checkpoint before it", file=damaged[-1].file)
        cut = 0 if manifest is None else manifest.cut
        self._manifests.set_damaged_aside()
        for error, used in zip(damaged, self._manifests.used_instead(), strict=True):
            self.problems.append(f"{error}; recovery uses {used}")
        self.headers, problem = self.journal.recover(cut)
        if problem:
            self.problems.append(f"{problem}; recovery ends with the entry before it")
        self._drop_damaged_loads()
        if manifest is not None and not problem and self.journal.next_sequence < manifest.end:
            ended = f"the journal ends before entry {self.journal.next_sequence}, but had {manifest.end} entries"
            self.problems.append(f"{self._journal_folder}: {ended}")
        if manifest is not None:
            self._passed = dict(manifest.passed)
            self.counted = manifest.counted
        for _, header in self.headers:
            for query, moment in header.get(
                "stopped_at", {}
            ).items():  # perhaps of a run that did not come so far again
                self._passed[query] = max(moment, self._passed.get(query, moment))
        first({} if manifest is None else manifest.state)
        if manifest is not None:
            with dictionary.pins:
                segments = (
                    (read_segment(self._graph_folder, each, dictionary), each.deletes) for each in manifest.segments
                )
                has_deletions = any(each.deletes for each in manifest.segments)
                self.dataset.take_up(segments, _settled_ms(manifest.state), has_deletions=has_deletions)
                self.dataset.pending[cut] = PendingChanges(
                    self._read_elements(manifest.waiting), self._read_elements(manifest.arrived)
                )
            self.dataset.restore(manifest.state.get("vector_timestamp", {}))
        self.delivered = max(
            [
                -1 if manifest is None else manifest.delivered,
                *(header.get("delivered", -1) for _, header in self.headers),
            ]
        )
        self.delivered = min(self.delivered, self.journal.next_sequence - 1)
        self.state = {} if manifest is None else manifest.state
        self.was_new = self.is_new
        return self.state

    @property
    def is_new(self) -> bool:
        """Whether there was nothing to recover."""
        return not self.headers and self._manifests.newest is None

    def entries(self) -> Iterator[JournalEntry]:
        """What is to be replayed, in order."""
        if self.headers:
            yield from self.journal.read(self.headers[0][0])

    def restore_joins(self, joins: Mapping[str, StreamJoin]) -> list[str]:
        """Take up what waits to be joined, and save it with every checkpoint from now on; gives a line for each join of
        which that is damaged."""
        return self._joins.restore(joins, self.journal.next_sequence)

    def read_loaded(self, sequence: int, segments: list[Segment]) -> GraphRows:
        """The triples of a load that is replayed."""
        with self._lock:
            self._loads.append((sequence, tuple(segments)))
        parts = [read_segment(self._graph_folder, segment, self._dictionary) for segment in segments]
        return GraphRows.concatenate(parts) if parts else GraphRows(*(np.empty(0, np.int64) for _ in range(5)))

    def restore_changes(self) -> None:
        """Have come what was to change the stored graph at the cut; before anything is replayed."""
        for pending in self.dataset.pending.values():
            self._engine.restore_changes(pending)

    def _read_elements(self, segments: Iterable[Segment]) -> list[tuple[str, Elements]]:
        """Elements by streams. The caller holds a pin on the dictionary."""
        found = []
        for segment in segments:
            rows = read_segment(self._graph_folder, segment, self._dictionary)
            for stream, chosen in rows_by_graph(rows.graphs):
                iri = self._dictionary.decode(stream)
                assert isinstance(iri, Iri)
                found.append((iri.value, Elements(*rows.select(chosen)[1:])))
        return found

    def _write_elements(self, elements: list[tuple[str, Elements]]) -> tuple[Segment, ...]:
        """Write elements by streams. The caller holds a pin on the dictionary."""
        if not elements:
            return ()
        parts = [GraphRows.of(some, self._dictionary.encode(Iri(stream))) for stream, some in elements]
        rows = GraphRows.concatenate(parts)
        return tuple(self._number(write_segments(self._graph_folder, self._next_segment, rows, self._dictionary)))

    def _number(self, segments: list[Segment]) -> list[Segment]:
        """Segments that were written, whose numbers are in use from now on."""
        self._next_segment += len(segments)
        return segments

    def _is_journal_enough(self) -> bool:
        """Whether all that ever happened is still in the journal."""
        if self.journal.first_sequence > 0:
            return False
        try:
            for entry in self.journal.read(0):
                self._check_load(entry.header)
        except DamagedError:
            return False
        return True

    def _check_load(self, header: Header) -> None:
        for segment in segments_of(header):
            for stored in segment.files:
                stored.check(self._graph_folder)

    def _drop_damaged_loads(self) -> None:
        """A load whose file is damaged ends the journal."""
        for at, (sequence, header) in enumerate(self.headers):
            try:
                self._check_load(header)
            except DamagedError as error:
                self.problems.append(f"{error}; recovery ends with the entry before it")
                self.journal.drop_from(sequence)
                del self.headers[at:]
                return

    # ---- running

    def start(self, describe: Callable[[], State], engine: Engine) -> None:
        """Say how the state is found out. Marks are made from now on; the background works after `run`."""
        self._describe = describe
        self._engine = engine

    def delivered_until(self, query: str) -> int:
        """The moment up to which a query's reports were delivered before the checkpoint that was recovered.

        Where the journal has lost something, what is sent again has other entries, but the same moments.
        """
        return self._passed.get(query, close_at(BEFORE_ALL_TIME))

    def is_gone(self, query: str) -> None:
        """Forget a query; another one of this name has nothing delivered yet."""
        self._passed.pop(query, None)

    def run(self) -> None:
        """Make checkpoints in the background from now on."""
        self.headers = []
        self._thread = threading.Thread(target=self._work, name="freshet-checkpoint", daemon=True)
        self._thread.start()

    def append(self, header: Header, *body: Piece) -> int:
        """Write an entry before it is done."""
        return self.journal.append(header, *body)

    def append_load(self, header: Header, rows: GraphRows, current: int | None = None) -> int:
        """Write triples that are to be loaded as segments, and an entry that names them.

        Where later entries may be in the journal already, the triples belong to the `current` one.
        """
        with self._making:
            written = write_segments(self._graph_folder, self._next_segment, rows, self._dictionary)
            segments = self._number(written)
            sequence = self.append({**header, "segments": segments})
            with self._lock:
                self._loads.append((sequence if current is None else current, tuple(segments)))
        return sequence

    def mark(self, sequence: int) -> None:
        """Remember how everything is before an entry is done, so that there can be a checkpoint of that."""
        state = {**self._describe(), "vector_timestamp": self.dataset.vector_timestamp()}
        engine, reads = self._engine, self._engine.derivations()
        needed = engine.needed_by({*reads, *frozenset().union(*reads.values())}) if reads else {}
        mark = _Mark(sequence, state, self._needed_from(), engine.passed(), engine.counted(), reads, needed)
        pending = engine.pending_changes()
        with self._lock:
            if self._marks and self._marks[-1].sequence == sequence:
                return
            self._marks.append(mark)
            self.dataset.pending[sequence] = pending
            if len(self._marks) > _MOST_MARKS:
                self._thin_out()
        self._entries = 0

    def _needed_from(self) -> int:
        """The earliest time of an element that registered queries need, or one-shot queries may ask for."""
        needed = [self._engine.needed_from()]
        for state in self._engine.streams.values():
            keep_ms = max(state.keep_ms, self.window_ms.get(state.iri, 0))
            if keep_ms and state.elements:
                needed.append(self._engine.common_watermark(state.iri) - keep_ms)
        return min(needed)

    def note_entry(self, sequence: int, latest_ms: int) -> None:
        """An entry is done, which gets no mark of its own."""
        self._entries += 1
        self.dataset.sequence = sequence
        mark = self._marks[-1]
        mark.latest_ms = max(mark.latest_ms, latest_ms)

    def is_mark_due(self) -> bool:
        """Whether the next entry that begins gets a mark."""
        marks = self._marks
        if not marks or self._entries >= _MARK_ENTRIES:
            return True
        return time.monotonic() - marks[-1].made_at >= min(_MARK_SECONDS, self._every_seconds)

    def close(self) -> None:
        """Make a last checkpoint, and release the folder."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self._try_to_make()
        self.journal.close()
        self.release()

    def release(self) -> None:
        """Let others have the folder."""
        self._lock_file.release()

    def _thin_out(self) -> None:
        """Drop every second mark."""
        kept = self._marks[:-1:2]
        for mark, dropped in zip(kept, self._marks[1:-1:2], strict=False):
            mark.latest_ms = max(mark.latest_ms, dropped.latest_ms)
        self._marks = [*kept, self._marks[-1]]
        self._forget_pending()

    # ---- making checkpoints

    def _work(self) -> None:
        while not self._stop.wait(self._every_seconds):
            self._try_to_make()

    def _try_to_make(self) -> None:
        """Where a checkpoint cannot be made, the journal has everything still; it is tried again later."""
        try:
            self.make()
            self.trouble = ""
        except FreshetError as error:
            self.trouble = str(error)
        except Exception as error:  # whatever it is, the next one may succeed
            self.trouble = f"a checkpoint could not be made: {type(error).__name__}: {error}"

    def new_trouble(self) -> str:
        """What is the trouble, if that is another than when this was called last; else ""."""
        before, self._reported = self._reported, self.trouble
        return "" if self._reported == before else self._reported

    def make(self) -> bool:
        """Make a checkpoint, if there is an entry to cut at since the last one; says whether there was."""
        with self._making, self._dictionary.pins:
            newest = self._manifests.newest
            with self._lock:
                mark, known = self._cut()
                last = 0 if newest is None else newest.cut
                if mark is None or known is None or mark.sequence <= last:
                    return False
                pending = self.dataset.pending[mark.sequence]  # the mark may be thinned out meanwhile
                loads = [each for sequence, some in self._loads if last <= sequence < mark.sequence for each in some]
            segments = [*(newest.segments if newest is not None else ()), *loads]
            net = self.dataset.changed_before(mark.sequence)
            if net is not None:
                segments += self._number(write_changes(self._graph_folder, self._next_segment, net, self._dictionary))
            if count := to_merge(tuple(segments)):
                are_all = count == len(segments) and not mark.state.get("opened")
                whole = merge_segments(
                    self._graph_folder, self._next_segment, segments[-count:], self._dictionary, are_all=are_all
                )
                segments[-count:] = self._number(whole)
            number = 0 if newest is None else newest.number + 1
            delivered, end = self.delivered, self.journal.next_sequence
            self.journal.sync()
            self._joins.save()
            counted = {name: [[*each] for each in some] for name, some in known.counted.items()}
            waiting, arrived = map(self._write_elements, pending)
            passed = known.passed
            self._manifests.write(
                Manifest(
                    number,
                    mark.sequence,
                    end,
                    delivered,
                    passed,
                    tuple(segments),
                    mark.state,
                    counted,
                    waiting,
                    arrived,
                )
            )
            self._forget_before(mark.sequence)
            return True

    def _cut(self) -> tuple[_Mark | None, _Mark | None]:
        """The newest mark that everything which is yet to be reported, or delivered, can be found again from; and the
        one up to which all has been delivered."""
        safe = [mark for mark in self._marks if mark.sequence <= self.delivered + 1]
        if not safe:
            return None, None
        needed_ms = min([safe[-1].needed_ms, *(_needed_through(safe, query) for query in safe[-1].reads)])
        return next((mark for mark in safe[:-1] if mark.latest_ms >= needed_ms), safe[-1]), safe[-1]

    def _forget_before(self, cut: int) -> None:
        self.dataset.forget_before(cut)
        oldest = self._manifests.kept[0].cut if len(self._manifests.kept) > 1 else 0
        with self._lock:
            self._marks = [mark for mark in self._marks if mark.sequence >= cut]
            self._forget_pending()
            self._loads = [each for each in self._loads if each[0] >= oldest]
        self.journal.rotate()
        self.journal.trim(oldest)
        if oldest:
            self._remove_unused()

    def _forget_pending(self) -> None:
        """Only marks need what was to come when they were made."""
        pending = self.dataset.pending
        self.dataset.pending = {mark.sequence: pending[mark.sequence] for mark in self._marks}

    def _remove_unused(self) -> None:
        """Delete the files of segments that neither a manifest nor the journal names."""
        with self._lock:
            named = [segment for _, some in self._loads for segment in some]
        named += [segment for manifest in self._manifests.kept for segment in manifest.all_segments]
        used = {stored.name for segment in named for stored in segment.files}
        for file in self._graph_folder.iterdir():
            if file.name not in used:
                file.unlink(missing_ok=True)


def _settled_ms(state: State) -> int:
    """Before what time everything that streams have left in the graph is seen by all that is yet to be evaluated."""
    streams = state.get("streams", ())
    if isinstance(streams, dict):  # of a pipeline of version 0.2.0, which says this elsewhere
        return BEFORE_ALL_TIME + 1
    watermarks = [stream["watermark_ms"] for stream in streams]
    return max(BEFORE_ALL_TIME + 1, min(watermarks, default=BEFORE_ALL_TIME))


def _needed_through(marks: list[_Mark], query: str) -> int:
    """From when on elements of streams matter to what a query is to report after the last of some marks, by way of the
    queries whose answers it reads.

    Answers are not kept: those that it needs must be found again. So its sources must be as they were before the first
    of these, for which the last mark before it says what they need.
    """
    if not marks:
        return BEFORE_ALL_TIME  # from the beginning of what there is
    mark = marks[-1]
    needed_ms = mark.needed.get(query, BEFORE_ALL_TIME)
    found = [needed_ms]
    for source in mark.reads.get(query, ()):
        first = close_at(needed_ms)
        found.append(_needed_through([each for each in marks if each.passed.get(source, first) < first], source))
    return min(found)


def needs_everything(query: str) -> str:
    """The note about a query that keeps the journal from ever being cut."""
    window = "a window [ALL] or [RANGE ... @predicate]"
    return f"the query {query} has {window}, which needs all that ever came: so the checkpoint keeps it all"


def segments_of(header: Header) -> list[Segment]:
    """The segments that an entry names."""
    return [Segment.of(fields) for fields in header.get("segments", ())]
