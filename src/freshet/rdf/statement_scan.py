"""Scans statements into ids, piece by piece: a kernel for what it is sure of, pyoxigraph for single lines."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.kernels import statements as kernels
from freshet.kernels.dictionary import DictionaryArrays
from freshet.rdf.arrow import read_only
from freshet.rdf.deadline import current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.line_parser import LineParser, ParsedStatement

Ints = NDArray[np.int64]
Columns = tuple[Ints, Ints, Ints, Ints, Ints]

_ROLES = range(4)
_PREDICATE = 1
_UNSURE_ROOM = 4096  # lines that wait for pyoxigraph
_SAMPLE_BYTES = 1 << 16
_BYTES_A_PLACE = 128
_LEAST_PLACES_BITS, _MOST_PLACES_BITS = 6, 12  # more would not stay in the cache next to the core


class StatementScan:
    """The statements of one file, which is fed in pieces that end where lines do.

    `errors` has bad lines in their order. Where there is one, no lines are scanned any more but those next to it: a
    file of millions of bad lines is refused as soon as one of a few.
    """

    def __init__(self, dictionary: Dictionary, parser: LineParser) -> None:
        self.errors: list[InputError] = []
        self._dictionary = dictionary
        self._parser = parser
        scope = f"{parser.blank_scope}.".encode() if parser.blank_scope else b""
        self._scope = read_only(np.frombuffer(scope, np.uint8))
        self._times = np.zeros(0, np.int64)
        self._ids = np.zeros((len(_ROLES), 0), np.int64)
        self._progress = np.zeros(4, np.int64)
        self._parsed: list[tuple[Ints, ...]] = []

    def feed(self, piece: bytes | bytearray | memoryview) -> None:
        """Scan more lines."""
        data = read_only(np.frombuffer(piece, np.uint8)) if len(piece) else _NOTHING
        self._progress[kernels.NEXT_BYTE] = 0
        unsure = np.empty((4, _UNSURE_ROOM), np.int64)
        stopped = int(kernels.UNSURE_FULL)
        deadline = current()
        while stopped != kernels.DONE and not self.errors:
            deadline.check()
            if stopped == kernels.ROWS_FULL:
                self._make_room(data)
            self._progress[kernels.UNSURE_LINES] = 0
            stopped = self._dictionary.run(partial(self._step, _new_memo(data.size), data, unsure), lambda: self._ids)
            self._parse(data, unsure[:, : self._progress[kernels.UNSURE_LINES]])

    @property
    def lines(self) -> int:
        """How many lines have been scanned."""
        return int(self._progress[kernels.NEXT_LINE])

    def columns(self) -> Columns:
        """The times, and the ids of subjects, predicates, objects and graphs (0 for none), in the order of lines. The
        predicates of deletions are negative.
        """
        rows = int(self._progress[kernels.ROW])
        timed = self._parser.timed
        found = [self._times[:rows] if timed else np.zeros(rows, np.int64), *self._ids[:, :rows]]
        if self._parsed:
            places, *added = (np.concatenate(column) for column in zip(*self._parsed, strict=True))
            found = [np.insert(column, places, more) for column, more in zip(found, added, strict=True)]
        times, subjects, predicates, objects, graphs = found
        return times, subjects, predicates, objects, graphs

    def _step(
        self, memo: Ints, data: NDArray[np.uint8], unsure: Ints, arrays: DictionaryArrays, hash_mask: np.int64
    ) -> int:
        parser, state = self._parser, (self._times, self._ids, unsure, self._progress)
        timed = kernels.DELETING if parser.deletions else kernels.TIMED if parser.timed else kernels.UNTIMED
        return int(kernels.scan(arrays, memo, data, self._scope, timed, parser.quads, hash_mask, *state))

    def _parse(self, data: NDArray[np.uint8], unsure: Ints) -> None:
        """Leaves lines to pyoxigraph."""
        if not unsure.shape[1]:
            return
        lines, starts, ends, rows = unsure.tolist()
        texts = [data[start:end].tobytes() for start, end in zip(starts, ends, strict=True)]
        parsed, errors = self._parser.parse(lines, texts)
        row_of = dict(zip(lines, rows, strict=True))
        places = np.array([row_of[statement.line] for statement in parsed], np.int64)
        times = np.array([statement.time_ms for statement in parsed], np.int64)
        ids = [self._intern(parsed, role) for role in _ROLES]
        ids[_PREDICATE] *= np.array([-1 if statement.deletes else 1 for statement in parsed], np.int64)
        self._parsed.append((places, times, *ids))
        self.errors += errors

    def _intern(self, parsed: list[ParsedStatement], role: int) -> Ints:
        return self._dictionary.intern_arrow(pa.array([row.keys[role] for row in parsed], pa.large_string()))

    def _make_room(self, data: NDArray[np.uint8]) -> None:
        """More rows, as many as the next lines say that the rest of the data has, and a few."""
        rest = data[self._progress[kernels.NEXT_BYTE] :]
        sample = rest[:_SAMPLE_BYTES]
        lines = 1 + np.count_nonzero(sample == ord("\n"))
        used = int(self._progress[kernels.ROW])
        rows = used + int(1.1 * lines * (rest.size / max(1, sample.size))) + kernels.LINES
        ids = np.zeros((len(_ROLES), rows), np.int64)
        ids[:, :used] = self._ids[:, :used]
        self._ids = ids
        if self._parser.timed:
            times = np.zeros(rows, np.int64)
            times[:used] = self._times[:used]
            self._times = times


def _new_memo(size: int) -> Ints:
    """A memo that fits `size` bytes of data. It is valid for one run of the kernel, while the dictionary only grows."""
    places = 1 << min(_MOST_PLACES_BITS, max(_LEAST_PLACES_BITS, (size // _BYTES_A_PLACE).bit_length()))
    return np.full(2 * places, -1, np.int64)


_NOTHING = read_only(np.empty(0, np.uint8))
