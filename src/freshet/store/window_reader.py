"""A stream's window as a graph: rows that the stream index finds in the stored graph, and elements without a row."""

from __future__ import annotations

import numpy as np

from freshet.kernels.window_rows import IN, OUT, probe_window, rows_in_window, scan_window
from freshet.rdf.triples import ANY, Ids, Triples
from freshet.store.appended_view import OBJECT, SUBJECT, AppendedView
from freshet.store.found import NO_IDS, NO_TRIPLES, Column, Found, combine_found
from freshet.store.stream_index import IndexedBatches
from freshet.store.triple_index import TripleIndex


class WindowReader:
    """The set of triples with a time from from_ms to before to_ms, as one-shot evaluation reads graphs.

    `others` are elements of the window that have no row of its batches: timing data, and repeated triples.
    """

    def __init__(
        self, appended: AppendedView, indexed: IndexedBatches, from_ms: int, to_ms: int, others: Triples
    ) -> None:
        self._appended = appended
        self._indexed = indexed
        self._from_ms = from_ms
        self._to_ms = to_ms
        self._others = TripleIndex(self._not_indexed(others))

    def count(self, subject: int, predicate: int, object: int) -> int:
        """How many triples match a pattern."""
        return len(self._rows(subject, predicate, object)) + self._others.count(subject, predicate, object)

    def distinct(self, predicate: int, place: int) -> int:
        """How many different terms stand at a place (0 subject, 2 object) of a predicate's triples, or of all."""
        return int(np.unique(self.match(ANY, predicate, ANY)[place]).size)

    def match(self, subject: int, predicate: int, object: int) -> Triples:
        """The triples that match a pattern."""
        found = self._appended.at(self._rows(subject, predicate, object))
        more = self._others.match(subject, predicate, object)
        if not more.subjects.size:
            return found
        return Triples(*(np.concatenate(columns) for columns in zip(found, more, strict=True)))

    def probe(self, subjects: Column, predicates: Column, objects: Column) -> Found:
        """Every match of many patterns, with the number of the pattern, in the order of the patterns."""
        found = self._probe_rows(subjects, predicates, objects)
        more = self._others.probe(subjects, predicates, objects)
        return combine_found(found, more)

    def _probe_rows(self, subjects: Column, predicates: Column, objects: Column) -> Found:
        if isinstance(subjects, np.ndarray):
            numbers, rows = self._probe_keys(SUBJECT, subjects, predicates)
            return _select_wanted(objects, OBJECT, numbers, self._appended.at(rows))
        if isinstance(objects, np.ndarray):
            numbers, rows = self._probe_keys(OBJECT, objects, predicates)
            return _select_wanted(subjects, SUBJECT, numbers, self._appended.at(rows))
        assert isinstance(predicates, np.ndarray), "one of the places is a column"
        if subjects != ANY:
            return self._probe_rows(np.full(predicates.size, subjects, np.int64), predicates, objects)
        if objects != ANY:
            return self._probe_rows(subjects, predicates, np.full(predicates.size, objects, np.int64))
        scans = [self._rows(ANY, predicate, ANY) for predicate in predicates.tolist()]
        numbers = np.repeat(np.arange(len(scans)), [scan.size for scan in scans])
        return numbers, self._appended.at(np.concatenate([NO_IDS, *scans]))

    def _rows(self, subject: int, predicate: int, object: int) -> Ids:
        """The rows of the batches that match a pattern."""
        if subject != ANY:
            rows = self._probe_keys(SUBJECT, np.array([subject], np.int64), predicate)[1]
            return rows if object == ANY else rows[self._appended.at(rows).objects == object]
        if object != ANY:
            return self._probe_keys(OBJECT, np.array([object], np.int64), predicate)[1]
        groups, every = self._appended.asked_groups(predicate)
        if not groups.size:
            return NO_IDS
        batches, _, runs, _ = self._indexed
        nodes = self._appended.nodes(SUBJECT)[1]
        found: Ids = scan_window(batches, runs, self._from_ms, self._to_ms, nodes, -1 if every else int(groups[0]))
        return found

    def _probe_keys(self, key: int, keys: Ids, predicates: Column) -> tuple[Ids, Ids]:
        """The rows of many subjects or objects, with the number of the key."""
        groups, every = self._appended.asked_groups(predicates)
        if not groups.size:
            return NO_IDS, NO_IDS
        batches, slots, runs, _ = self._indexed
        numbers, rows = probe_window(
            slots,
            batches,
            OUT if key == SUBJECT else IN,
            runs,
            self._from_ms,
            self._to_ms,
            *self._appended.nodes(key),
            np.ascontiguousarray(keys),
            groups,
            every,
        )
        return numbers, rows

    def _not_indexed(self, others: Triples) -> Triples:
        """Those of some triples that are not among the rows of the batches."""
        if not others.subjects.size:
            return NO_TRIPLES
        batches, _, runs, _ = self._indexed
        rows = self._appended.rows_of(Triples(*(np.ascontiguousarray(column) for column in others)))
        indexed = rows_in_window(batches, runs, self._from_ms, self._to_ms, rows)
        return Triples(*(column[~indexed] for column in others))


def _select_wanted(wanted: Column, place: int, numbers: Ids, found: Triples) -> Found:
    """The triples that have what is wanted at a place."""
    if not isinstance(wanted, np.ndarray) and wanted == ANY:
        return numbers, found
    right = found[place] == (wanted[numbers] if isinstance(wanted, np.ndarray) else wanted)
    return numbers[right], Triples(*(column[right] for column in found))
