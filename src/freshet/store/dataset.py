"""The stored default graph and named graphs, and what a one-shot query sees of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import TracebackType
from weakref import WeakSet, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.rdf.triples import ANY, DEFAULT_GRAPH, Ids, Triples
from freshet.store.appended import Appended
from freshet.store.appended_view import NOTHING_APPENDED
from freshet.store.changes import StoreChanges
from freshet.store.compaction import Compacted, Compaction, PointsToRows, settled_rows
from freshet.store.graph import Reader, StoredGraph
from freshet.store.graph_snapshot import GraphSnapshot
from freshet.store.history import History, reader_before
from freshet.store.snapshots import PLANNED, SnapshotPlan, VectorTimestamp
from freshet.store.store_bytes import StoreBytes, bytes_of
from freshet.store.stream_index import NO_ROW
from freshet.store.stream_windows import DEFAULT_BUDGET_BYTES, KeptElements, StreamWindows
from freshet.store.timed_change import TimedChange
from freshet.store.triple_index import TripleIndex
from freshet.store.window_reader import WindowReader

_EMPTY = TripleIndex()
_NO_NAMES = np.empty(0, np.int64)
_NO_GRAPH = StoredGraph()
_NO_DELETIONS: Mapping[tuple[int, int], int] = {}


class DatasetSnapshot:
    """All graphs at one moment. It holds what it reads, so that nothing that comes later shows, or has to wait."""

    __slots__ = (
        "__weakref__", "_default", "_graphs", "_kept", "_names", "_origin", "deletions", "number", "vector_timestamp"
    )  # fmt: skip

    def __init__(
        self,
        graphs: Mapping[int, Reader],
        default: Reader | None = None,
        names: Ids | None = None,
        number: int = 0,
        batches: VectorTimestamp | None = None,
        kept: Mapping[str, KeptElements] | None = None,
        deletions: Mapping[tuple[int, int], int] = _NO_DELETIONS,
    ) -> None:
        """Graphs by name; the default graph may be among them. Names are those of the graphs where they are at hand.

        `deletions` says how often triples of a graph and a predicate were deleted; ANY for those of any predicate.
        """
        self._graphs = graphs
        self._default = graphs.get(DEFAULT_GRAPH, _EMPTY) if default is None else default
        self._names = np.array([name for name in graphs if name != DEFAULT_GRAPH], np.int64) if names is None else names
        self.number = number
        self.deletions = deletions
        self._kept = kept or {}
        self.vector_timestamp: VectorTimestamp = batches or {}  # the last batch of each stream that is in it
        self._origin: DatasetSnapshot | None = None  # the published one, alive as long as it has readers

    def graph(self, name: int) -> Reader:
        """A graph by the id of its name, or the default graph; an empty one where there is none of that name."""
        return self._default if name == DEFAULT_GRAPH else self._graphs.get(name, _EMPTY)

    def names(self) -> Ids:
        """The ids of the named graphs."""
        return self._names

    def named(self) -> tuple[Mapping[int, Reader], Ids]:
        """The named graphs, and their names."""
        return self._graphs, self._names

    def kept(self, stream: str) -> KeptElements:
        """What windows of a stream read."""
        if stream not in self._kept:
            raise InputError(f"no windows are kept of the stream <{stream}>")
        return self._kept[stream]

    def window_reader(self, stream: str, from_ms: int, to_ms: int) -> WindowReader:
        """The window from_ms <= time < to_ms of a stream, as a graph: absorbed rows and timing data."""
        default = self._default
        appended = default.appended if isinstance(default, GraphSnapshot) else NOTHING_APPENDED
        return self.kept(stream).reader(appended, from_ms, to_ms)

    def for_another_reader(self) -> DatasetSnapshot:
        """The same for another reader."""
        again = DatasetSnapshot(
            self._graphs,
            self._default,
            self._names,
            self.number,
            self.vector_timestamp,
            self._kept,
            self.deletions,
        )
        again._origin = self
        return again

    def apart(self) -> DatasetSnapshot:
        """The same, which does not count as read."""
        return DatasetSnapshot(
            self._graphs, self._default, self._names, self.number, self.vector_timestamp, self._kept, self.deletions
        )

    def at(self, time_ms: int) -> DatasetSnapshot:
        """The same without what was absorbed at a time or later."""
        default = reader_before(self._default, time_ms)
        return DatasetSnapshot(self._graphs, default, self._names, self.number, deletions=self.deletions)

    def __enter__(self) -> DatasetSnapshot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # keeping the snapshot keeps nothing of the store
        self._graphs, self._default, self._names, self._kept, self._origin = {}, _EMPTY, _NO_NAMES, {}, None


class _Changing:
    """Held while the store is changed; what belongs together is changed under it and becomes visible at its end."""

    def __init__(self, publish: partial[None]) -> None:
        self._lock = threading.RLock()
        self._publish = publish
        self._depth = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._depth == 1:
                self._publish()
        finally:
            self._depth -= 1
            self._lock.release()


class StoredDataset:
    """The graphs that are stored. What is appended becomes part of the base in time, and what is deleted is left out.

    Writers (absorb, load, delete) hold `changing`. Readers take the snapshot that was published last, and never wait.
    Where as many snapshots are read as may be (`most_snapshots`, with those of the plan), a reader shares the newest of
    them instead.
    """

    def __init__(self, *, most_snapshots: int = 16) -> None:
        if most_snapshots <= PLANNED:
            raise InputError(
                f"most_snapshots is {most_snapshots}: one is inserted, one is the newest and one is read, so at least 3"
            )
        self.history: History[DatasetSnapshot] = History()
        self._loss_ms: int | None = None  # up to when what is being changed loses what there was
        self._appended_before: tuple[Appended, ...] = ()
        self._plan = SnapshotPlan()
        self._most_read = most_snapshots - PLANNED
        self.default = StoredGraph()
        self._named: dict[int, StoredGraph] = {}
        self._named_changed = False
        self._deletions: Mapping[tuple[int, int], int] = {}  # replaced by another one where triples are deleted
        self._dropped: set[int] = set()  # named graphs that are not there, but that something points to
        self._windows: dict[str, StreamWindows] = {}
        self._pointed_to: dict[int, WeakSet[PointsToRows]] = {}
        self._compaction = Compaction(self.default, self._replace_base)
        self._published = DatasetSnapshot({}, self.default.reader)
        self._read: WeakValueDictionary[int, DatasetSnapshot] = WeakValueDictionary()  # as published, by number
        self._counting = threading.Lock()  # held while a reader is registered, never for longer
        self.changing = _Changing(partial(self._publish))

    def load(self, subjects: Ids, predicates: Ids, objects: Ids, graph: int = DEFAULT_GRAPH) -> Elements:
        """Add triples to a graph, which is there then, if only empty."""
        with self.changing:
            self._note_loss()
            keep_base = bool(self._pointed_to.get(graph))
            return self._graph(graph).load(subjects, predicates, objects, keep_base=keep_base)

    def delete(self, subjects: Ids, predicates: Ids, objects: Ids, graph: int = DEFAULT_GRAPH) -> NDArray[np.bool_]:
        """Take triples out of a graph; says which of them were there. Readers of older snapshots still see them."""
        with self.changing:
            self._note_loss()
            return self._delete(subjects, predicates, objects, graph)

    def _delete(self, subjects: Ids, predicates: Ids, objects: Ids, graph: int) -> NDArray[np.bool_]:
        with self.changing:
            if graph != DEFAULT_GRAPH and graph not in self._named:
                return np.zeros(len(subjects), np.bool_)
            stored = self._graph(graph)
            were_there = stored.delete(Triples(subjects, predicates, objects))
            if were_there.any() and (graph == DEFAULT_GRAPH or self._pointed_to.get(graph)):
                self._count_deletion(graph, predicates[were_there])
            if graph != DEFAULT_GRAPH and not self._pointed_to.get(graph):
                stored.sweep()
            return were_there

    def apply(self, changes: StoreChanges) -> tuple[int, int]:
        """Make changes, of which readers see all or nothing; gives how many triples came that were not there, and how
        many went that were. What is inserted and was there keeps its time."""
        came = went = 0
        with self.changing:
            self._free_dropped()
            for graph, (deleted, inserted) in changes.by_graph().items():
                if len(deleted.subjects):
                    went += int(np.count_nonzero(self.delete(*deleted, graph)))
                new = np.ones(len(inserted.subjects), np.bool_)
                new[self._known_graph(graph).reader.probe(*inserted)[0]] = False
                if new.any():
                    before = len(self._known_graph(graph).reader)
                    self.load(*Triples(*(column[new] for column in inserted)), graph)
                    came += len(self._known_graph(graph).reader) - before
            for graph, exists in changes.exists.items():
                (self.create if exists else self.drop)(graph)
        return came, went

    def create(self, graph: int) -> None:
        """Have a named graph, if only an empty one."""
        with self.changing:
            self._note_loss()
            self._graph(graph)

    def drop(self, graph: int) -> None:
        """Have a named graph no more."""
        with self.changing:
            self._free_dropped()
            stored = None if graph in self._dropped else self._named.get(graph)
            if stored is None:
                return
            self._note_loss()
            if self._pointed_to.get(graph):  # what points to it must see its rows end
                self.delete(*stored.reader.match(ANY, ANY, ANY), graph)
                self._dropped.add(graph)
            else:
                del self._named[graph]
            self._named_changed = True

    def point_to_rows(self, pointing: PointsToRows, graph: int = DEFAULT_GRAPH) -> None:
        """Let rows of a graph keep their numbers as long as `pointing` exists, until they are compacted."""
        with self.changing:
            self._pointed_to.setdefault(graph, WeakSet()).add(pointing)

    def mount(self, index: TripleIndex, graph: int = DEFAULT_GRAPH) -> None:
        """Make what is sorted already, perhaps mapped from files, a graph that has nothing yet."""
        with self.changing:
            self._note_loss()
            self._graph(graph).mount(index)

    def absorb(self, elements: Elements, stream: str = "") -> None:
        """Add what a batch of a stream leaves behind to the default graph. Readers see all of it or nothing."""
        with self.changing:
            batch = self._plan.begin(stream)
            rows = self.default.absorb(elements)
            windows = self._windows.get(stream)
            if windows is not None:
                windows.record_absorbed(elements, rows, self.default.appended() or NOTHING_APPENDED)
            self._plan.end(batch)

    @property
    def entry(self) -> int:
        """The entry of a journal that is being done; there is none."""
        return -1

    @property
    def keeps_history(self) -> bool:
        """Whether the past can be asked for, also where something was lost."""
        return self.history.keep_ms > 0

    def change(self, change: TimedChange, entry: int = -1) -> None:
        """Change the default graph as elements of a stream do, which came with an entry of a journal."""
        reader, taken = self.default.reader, []
        with self.changing:
            if change.replaces:
                numbers, found = reader.probe(change.keys.subjects, change.keys.predicates, ANY)
                others = found.objects != change.keys.objects[numbers]
                taken.append(Triples(*(column[others] for column in found)))
            if len(change.deleted.subjects):
                there = np.unique(reader.probe(*change.deleted)[0])
                taken.append(Triples(*(column[there] for column in change.deleted)))
            gone = [each for each in taken if len(each.subjects)]
            if gone:
                self._note_loss(change.time_ms)
                rows = np.unique(np.concatenate([np.stack(each) for each in gone], axis=1), axis=1)
                self.take_out(gone[0] if len(gone) == 1 else Triples(*np.ascontiguousarray(rows)))
            self.absorb(change.values)

    def take_out(self, triples: Triples) -> None:
        """Take triples that are there out of the default graph."""
        self._delete(*triples, DEFAULT_GRAPH)

    def compact_if_due(self, settled_ms: Callable[[], int]) -> None:
        """Make appended rows part of the base in a thread, if they are many.

        Whatever is evaluated from now on sees all rows with a time before `settled_ms`, but for what points to rows:
        that is asked. A pattern that is read for the first time for a moment before that sees them too.
        """
        self._compaction.start_if_due(settled_ms, self._pointing, self._kept_from)

    def compact(self, settled_ms: int) -> int:
        """The same at once, however many they are; gives how many rows were compacted."""
        self._compaction.wait()
        reader = self.default.reader
        if not isinstance(reader, GraphSnapshot):
            return 0
        if not all(each.has_seen_ends(reader) for each in self._pointing()):
            return 0
        rows = settled_rows(reader, settled_ms, self._pointing(), self._kept_from())
        self._compaction.run(reader.base, rows)
        return rows

    @property
    def is_compacting(self) -> bool:
        """Whether appended rows are being made part of the base."""
        return self._compaction.is_running

    def wait_for_compaction(self) -> None:
        """Until a compaction that has begun is done."""
        self._compaction.wait()

    def keep_windows(
        self, stream: str, budget_bytes: int = DEFAULT_BUDGET_BYTES, needed_from: Callable[[], int] | None = None
    ) -> None:
        """Keep what windows of a stream read, from the next batch on: where absorbed rows are, and timing data.

        Timing data may take `budget_bytes`; `needed_from` says from what time on windows need them. It is asked when
        they are full. `close_windows` frees both.
        """
        with self.changing:
            self._windows.setdefault(stream, StreamWindows(budget_bytes, needed_from))

    def push_timing(self, elements: Elements, stream: str) -> None:
        """Keep a batch of what a stream does not leave in the graph; a BufferFullError says that there is no room."""
        self._windows_of(stream).slices.push(elements)

    def check_timing_room(self, elements: Elements, stream: str) -> None:
        """Raise the BufferFullError that `push_timing` would raise."""
        self._windows_of(stream).slices.check_room(elements)

    def close_windows(self, stream: str, closed_ms: int, needed_from_ms: int | None = None) -> None:
        """All elements of a stream before a time have come: readers can see windows up to there.

        With `needed_from_ms`, what windows read is freed where it has no element from there on.
        """
        with self.changing:
            self._windows_of(stream).close(closed_ms, needed_from_ms)

    def timing_refused(self, stream: str) -> int:
        """How many batches of a stream's timing data found no room."""
        return self._windows_of(stream).slices.refused

    def snapshot_at(self, time_ms: int) -> DatasetSnapshot:
        """All graphs as they were after what was absorbed before a time; an InputError says that this is not known."""
        with self.changing:
            return self.history.snapshot_at(time_ms, self._published).at(time_ms)

    def snapshot(self) -> DatasetSnapshot:
        """All graphs as they are now: the newest stable snapshot, or the newest that is read, where too many are."""
        with self._counting:
            newest = self._published
            read = dict(self._read.items())  # one of them may die meanwhile, which dict(mapping) does not expect
            read.pop(newest.number, None)  # it is alive anyway
            if len(read) >= self._most_read:
                newest = read[max(read)]
            self._read[newest.number] = newest
            return newest.for_another_reader()

    def alive(self) -> set[int]:
        """The numbers of the snapshots that the plan keeps or that have readers."""
        with self._counting:
            return {*self._plan.planned(), *self._read}

    def named(self) -> DatasetSnapshot:
        """The named graphs as they are now."""
        return self._published

    def reader(self, triples: Triples) -> TripleIndex:
        """Triples made ready to be read."""
        return TripleIndex(triples)

    def base(self, graph: int = DEFAULT_GRAPH) -> TripleIndex:
        """The part of a graph that never changes, as it is now."""
        return self._known_graph(graph).base

    def added(self, graph: int = DEFAULT_GRAPH) -> Elements:
        """What is not in the base, in order of time."""
        return self._known_graph(graph).added()

    def added_matching(self, triple: tuple[int, int, int], graph: int = DEFAULT_GRAPH) -> Elements:
        """Those of it that match a pattern, likewise."""
        return self._known_graph(graph).added_matching(*triple)

    def elements(self, graph: int = DEFAULT_GRAPH) -> Elements:
        """The timed triples of a graph, in order of time; none where there is no such graph."""
        return self._known_graph(graph).elements()

    def vector_timestamp(self) -> dict[str, int]:
        """The last batch of each stream that readers see."""
        return dict(self._published.vector_timestamp)

    def restore(self, batches: VectorTimestamp) -> None:
        """Go on counting batches from those that a checkpoint had."""
        with self.changing:
            self._plan.restore(batches)

    def nbytes(self) -> StoreBytes:
        """How much memory everything takes."""
        windows = list(self._windows.values())
        return bytes_of(
            [self.default, *self._named.values()],
            sum(each.index.nbytes for each in windows),
            sum(each.slices.nbytes for each in windows),
        )

    def _free_dropped(self) -> None:
        """Free graphs that are not there, where nothing points to their rows any more, or only to where they were."""
        for name in list(self._dropped):
            stored, pointing = self._named[name], list(self._pointed_to.get(name, ()))
            if not pointing:
                del self._named[name]
                self._dropped.discard(name)
                self._pointed_to.pop(name, None)
            elif stored.ended() is None:
                continue
            elif isinstance(reader := stored.reader, GraphSnapshot) and all(
                each.has_seen_ends(reader) for each in pointing
            ):
                self._named[name] = StoredGraph()
                # What reads it begins anew with the empty graph.
                counts = self._deletions.items()
                self._deletions = {key: count + (key[0] == name) for key, count in counts}
            else:
                continue
            self._named_changed = True

    def _note_loss(self, time_ms: int | None = None) -> None:
        """What is done now loses what the graphs were up to a time, or until now."""
        time_ms = self.history.now_ms() if time_ms is None else time_ms
        if self._loss_ms is None:
            graphs = [self.default, *self._named.values()]
            self._appended_before = tuple(each.appending for each in graphs if each.appending is not None)
        self._loss_ms = time_ms if self._loss_ms is None else max(self._loss_ms, time_ms)

    def _count_deletion(self, graph: int, predicates: Ids) -> None:
        counts = dict(self._deletions)
        for predicate in (ANY, *np.unique(predicates).tolist()):
            counts[graph, predicate] = counts.get((graph, predicate), 0) + 1
        self._deletions = counts

    def _pointing(self) -> list[PointsToRows]:
        return list(self._pointed_to.get(DEFAULT_GRAPH, ()))

    def _kept_from(self) -> int:
        """The first row that windows of streams read."""
        return min((each.index.first_row for each in self._windows.values()), default=NO_ROW)

    def _replace_base(self, compacted: Compacted) -> None:
        """Let readers have a graph that is compacted."""
        with self.changing:
            before = self.default.appended() or NOTHING_APPENDED
            if compacted.rows:
                self._note_loss(int(before.times()[: compacted.rows].max()))
            if self.default.replace_base(compacted.base, compacted.swept, compacted.appended, compacted.rows):
                for windows in self._windows.values():
                    windows.index.compact(compacted.rows, before)

    def _publish(self) -> None:
        """Let readers have what there is now."""
        before = self._published
        if self._loss_ms is not None:
            self.history.note_loss(self._loss_ms, before.apart(), self._appended_before)
            self._loss_ms, self._appended_before = None, ()
        graphs, names = before.named()
        if self._named_changed:
            graphs = {name: graph.reader for name, graph in self._named.items()}
            names = np.array([name for name in graphs if name not in self._dropped], np.int64)
            self._named_changed = False
        if self._plan.stable_number == before.number:
            self._plan.advance()
        self._published = DatasetSnapshot(
            graphs,
            self.default.reader,
            names,
            self._plan.stable_number,
            self._plan.stable(),
            {stream: windows.kept() for stream, windows in self._windows.items()},
            self._deletions,
        )

    def _windows_of(self, stream: str) -> StreamWindows:
        if stream not in self._windows:
            raise InputError(f"no windows are kept of the stream <{stream}>")
        return self._windows[stream]

    def _graph(self, name: int) -> StoredGraph:
        if name == DEFAULT_GRAPH:
            return self.default
        self._named_changed = True
        self._dropped.discard(name)
        if name not in self._named:
            self._named[name] = StoredGraph()
        return self._named[name]

    def _known_graph(self, name: int) -> StoredGraph:
        return self.default if name == DEFAULT_GRAPH else self._named.get(name, _NO_GRAPH)


def rows_by_graph(graphs: Ids, *names: int) -> Iterator[tuple[int, Ids]]:
    """The rows of each graph that occurs in a column of graphs; of the names given, none if need be."""
    order = np.argsort(graphs, kind="stable")
    found, starts = np.unique(graphs[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, starts[1:]), strict=False)
    for name in names:
        if name not in found:
            yield name, order[:0]
