"""Batches wait before the journal while windows have no room for them: back-pressure on their sources.

A batch of a stream that is ahead waits until the streams that hold its windows back have come further. Where it does
not fit as a whole, as much of it as fits goes in, cut at a time, and the rest waits. A stream that is not held back
goes on to the time of what waits, so that windows release what is older. If that makes no room, and every other one
waits for later times or has ended, windows need more than they may have: the run ends, saying so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.native.memory.window_budget import WindowRoom
from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME
from freshet.rdf.batch import Layout
from freshet.rdf.errors import BudgetError, FreshetError

_LOOK_SECONDS = 0.25
_SHARE = 4  # a stream that is not held back may fill a fourth of the room with what is ahead of others
_PIECES = 8  # less than an eighth of a batch is not worth a piece, while it may all fit soon


class Admitted(Protocol):
    """A stream, or a sub-stream, as it asks for room."""

    @property
    def sub_stream_id(self) -> str: ...
    @property
    def iri(self) -> str: ...
    @property
    def layout(self) -> Layout: ...


class Piece(NamedTuple):
    """Records that may go in now. All of the batch before `until_ms` have gone in with them; None: all of it has."""

    table: pa.Table
    until_ms: int | None
    promised_bytes: int


class _Asked(NamedTuple):
    """What a batch asks for."""

    records: int
    elements_each: float

    def count_fitting(self, room: WindowRoom, promised_bytes: int) -> int:
        """How many of its records fit, at most all."""
        elements = room.elements(promised_bytes)
        if elements < 0 or elements >= self.records * self.elements_each:
            return self.records
        return int(elements / self.elements_each)


class Admission:
    """Each stream's batches come from their own thread and wait here; `note_taken` and `is_doing` let them look again.

    `room_for` counts what windows hold. `go_on` has the streams that have ended, or wait with nothing older, come to a
    time, later, in the order of batches; `note_taken` is called when that is done.
    """

    def __init__(self, room_for: Callable[[str], WindowRoom], go_on: Callable[[int], None]) -> None:
        self._room_for = room_for
        self._go_on = go_on
        self._changed = threading.Condition()
        self._names: dict[str, str] = {}  # ids of sub-streams, with the IRIs of their streams
        self._rooms: dict[str, WindowRoom] = {}  # as last counted, by the IRI of a stream
        self._held_bytes = 0  # likewise
        self._promised_bytes = 0
        self._taken = 0  # how often something has come to the engine
        self._taken_bytes = 0  # what was promised to all that has
        self._on_the_way = 0  # batches and advances that have been let in and are not with the engine yet
        self._first_ms: dict[str, int] = {}  # of what waits
        self._doing: dict[str, str] = {}
        self._reached_ms: dict[str, int] = {}  # of what was let in
        self._gone_on_ms: dict[str, int] = {}  # to what time a stream had all go on, since a batch was let in
        self._ended: FreshetError | None = None

    def open(self, streams: Mapping[str, Admitted]) -> None:
        """Say what streams there are."""
        self._names = {name: stream.iri for name, stream in streams.items()}
        for stream in streams.values():
            self.count(stream.iri)

    def waiting(self) -> dict[str, int]:
        """The names of the streams that wait for room, with the earliest time of what waits."""
        with self._changed:
            return dict(self._first_ms)

    def has_ended(self, name: str) -> bool:
        """Whether nothing more comes of a stream."""
        return self._doing.get(name) == "ended"

    def pieces(self, stream: Admitted, table: pa.Table, on_wait: Callable[[], None]) -> Iterator[Piece]:
        """A batch as it finds room: as a rule in one piece. `on_wait` is called, once, if it has to wait."""
        waited = False

        def note_wait() -> None:
            nonlocal waited
            if not waited:
                waited = True
                on_wait()

        while True:
            count, promised_bytes = self._admit(stream, table, note_wait)
            if count == len(table):
                yield Piece(table, None, promised_bytes)
                return
            times = table.column("time").to_numpy()
            until_ms = int(np.partition(times, count)[count])
            yield Piece(table.filter(pa.array(times < until_ms)), until_ms, promised_bytes)
            table = table.filter(pa.array(times >= until_ms))

    def note_taken(self, promised_bytes: int = 0) -> None:
        """Something that was let in is with the engine."""
        with self._changed:
            self._promised_bytes -= promised_bytes
            self._taken_bytes += promised_bytes
            self._on_the_way -= 1
            self._taken += 1
            self._changed.notify_all()

    def count(self, iri: str) -> WindowRoom:
        """Count what windows hold, and remember it."""
        room = self._rooms[iri] = self._room_for(iri)
        self._held_bytes = room.held_bytes
        return room

    def is_doing(self, name: str, doing: str) -> None:
        """Note what a stream does: it has `ended`, or something else."""
        if self._doing.get(name) != doing:
            with self._changed:
                self._doing[name] = doing
                self._changed.notify_all()

    def end_waits(self, error: FreshetError) -> None:
        """End all waiting with this error."""
        with self._changed:
            self._ended = self._ended or error
            self._changed.notify_all()

    def _admit(self, stream: Admitted, table: pa.Table, on_wait: Callable[[], None]) -> tuple[int, int]:
        """Wait until there is room for some records of a batch; says how many, and what was promised to them."""
        asked = _Asked(len(table), elements_in(table, stream.layout) / max(1, len(table)))
        with self._changed:  # as it was after the last batch: so that no batch waits for the engine to be counted
            known = self._rooms[stream.iri].as_ahead()._replace(held_bytes=self._held_bytes)
            if asked.count_fitting(known, self._promised_bytes) == asked.records:
                return self._promise(stream.sub_stream_id, table, asked, asked.records, known)
        times = np.sort(table.column("time").to_numpy())
        first_ms = int(times[0])
        while True:
            with self._changed:
                taken, taken_bytes = self._taken, self._taken_bytes
            room = self._room_for(stream.iri)  # for this look only: what the engine's thread has counted may be newer
            with self._changed:
                if self._ended is not None:
                    raise self._ended
                self._first_ms[stream.sub_stream_id] = first_ms
                others = times.searchsorted(self._others_ms(stream, room), side="right")  # up to where others have come
                # What came to the engine meanwhile may be in the count or not.
                promised_bytes = self._promised_bytes + self._taken_bytes - taken_bytes
                fitting = asked.count_fitting(room.as_ahead(), promised_bytes)
                if others:  # it is for this stream to move windows on: half of the room is not for those ahead
                    whole = asked.count_fitting(room.as_whole(), promised_bytes)
                    fitting = max(fitting, min(whole, int(others)), whole // _SHARE)
                if fitting < asked.records and times[fitting] == first_ms:
                    fitting = 0
                if fitting == asked.records or _PIECES * fitting >= asked.records or (fitting and others):
                    del self._first_ms[stream.sub_stream_id]
                    return self._promise(stream.sub_stream_id, table, asked, fitting, room)
                if taken != self._taken:
                    continue  # there may be more room than was counted
                if others and not fitting and not self._on_the_way:
                    self._move_on(stream, room, first_ms)
                on_wait()
                self._changed.wait(_LOOK_SECONDS)

    def _promise(self, name: str, table: pa.Table, asked: _Asked, records: int, room: WindowRoom) -> tuple[int, int]:
        if records == asked.records and records:
            self._reached_ms[name] = pc.max(table.column("time")).as_py()
        promised = int(records * asked.elements_each * room.element_bytes)
        self._promised_bytes += promised
        self._on_the_way += 1
        self._gone_on_ms.clear()
        return records, promised

    def _others_ms(self, stream: Admitted, room: WindowRoom) -> int:
        """How far those have come, at least, that hold this one's windows back where they are behind."""
        return min(
            (
                self._first_ms.get(name, self._reached_ms.get(name, BEFORE_ALL_TIME))
                for name, iri in self._names.items()
                if name != stream.sub_stream_id
                and not self.has_ended(name)
                and (iri == stream.iri or iri in room.partners)
            ),
            default=AFTER_ALL_TIME,
        )

    def _is_last_way_out(self, name: str) -> bool:
        """Whether nothing is on the way, no other stream can bring anything, and none waits with earlier times."""
        if self._on_the_way or any(other not in self._first_ms and not self.has_ended(other) for other in self._names):
            return False
        return (self._first_ms[name], name) == min((first_ms, other) for other, first_ms in self._first_ms.items())

    def _move_on(self, stream: Admitted, room: WindowRoom, first_ms: int) -> None:
        """Have windows release what is older than what waits; once for the same, and then it was the last way out."""
        if self._gone_on_ms.get(stream.sub_stream_id) == first_ms:
            if not self._is_last_way_out(stream.sub_stream_id):
                return
            self._ended = BudgetError(
                f"the stream {stream.sub_stream_id} cannot go on: windows hold {room.held_bytes} of {room.whole_bytes}"
                " bytes, and no other stream can move them on",
                hint="'window_memory' says how much they may hold",
            )
            self._first_ms.clear()
            self._changed.notify_all()
            raise self._ended
        self._gone_on_ms[stream.sub_stream_id] = first_ms
        self._on_the_way += 1
        self._go_on(first_ms)


def elements_in(table: pa.Table, layout: Layout) -> int:
    """How many triples a batch makes at most."""
    lengths = {
        slot: pc.fill_null(pc.list_value_length(table.column(f"text_{slot}")), 0).to_numpy()
        for slot in range(len(layout.frames))
        if pa.types.is_list(table.schema.field(f"text_{slot}").type)
    }
    total = 0
    for triple in layout.triples:
        several = [lengths[slot] for slot in triple if isinstance(slot, int) and slot in lengths]
        total += int(np.multiply.reduce(several).sum()) if several else len(table)
    return total
