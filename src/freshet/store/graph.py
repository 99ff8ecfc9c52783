"""The stored graph: what was loaded, sorted, and what came since, appended; and which rows have ended."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.rdf.triples import ANY, Ids, Triples
from freshet.store.appended import Appended
from freshet.store.appended_view import NOTHING_APPENDED, AppendedView
from freshet.store.ended import EndedRows, EndedView
from freshet.store.graph_snapshot import GraphSnapshot
from freshet.store.triple_index import TripleIndex

# Loaded triples were there before any time a stream can have.
BEFORE_ALL_TIME = -(2**62)

_NOTHING = np.empty(0, np.int64)
_LARGE = 1 << 16  # a load of fewer rows is not worth sorting the base anew
_MUCH = 8  # nor is one of less than this fraction of what exists
_SWEPT = 1 << 10  # fewer ended rows are not worth sorting the rest
_KEPT = 1 << 20  # elements of graphs up to this number of triples are cached

Reader = TripleIndex | GraphSnapshot


class StoredGraph:
    """A graph that changes. One thread at a time changes it; readers are not disturbed.

    What is loaded before the first read makes up the base. What is absorbed or loaded later is appended; a large load
    becomes a new base, together with the one before, as long as nothing is appended. Rows of deleted triples are marked
    as ended, until they are swept.
    """

    def __init__(self) -> None:
        self.base = TripleIndex()
        self._appended: Appended | None = None
        self._ended: EndedRows | None = None
        self._empty = True
        self._elements: tuple[Reader, Elements] | None = None
        self.reader: Reader = self.base  # another one whenever something came

    def mount(self, index: TripleIndex) -> None:
        """Take what is sorted already as the base."""
        if not self._empty:
            raise InputError("a graph directory can only be opened as a graph that has no triples yet")
        self.base = self.reader = index
        self._empty = False

    def load(self, subjects: Ids, predicates: Ids, objects: Ids, *, keep_base: bool = False) -> Elements:
        """Add triples that were always there; where the base is to be kept and has any, they are appended."""
        times = np.full(len(subjects), BEFORE_ALL_TIME, np.int64)
        elements = Elements(times, subjects, predicates, objects)
        if not len(subjects):
            return elements
        keep_base = keep_base and not self._empty
        changed = self._appended is not None or self._ended is not None
        base = None if keep_base or changed else self._larger_base(Triples(subjects, predicates, objects))
        if base is None:
            self.absorb(elements)
        else:
            self.base = self.reader = base
            self._empty = False
        return elements

    def absorb(self, elements: Elements) -> Ids:
        """Append what a stream leaves behind; the row of each triple, -1 where it was there."""
        if self._appended is None:
            self._appended = Appended(self.base)
        before = self._appended.rows, self._appended.lowerings
        rows = self._appended.append(elements, self._ended)
        self._elements = None  # a triple that was there may have an earlier time now
        if (self._appended.rows, self._appended.lowerings) != before:
            self._publish()
        self._empty = False
        return rows

    def delete(self, triples: Triples) -> NDArray[np.bool_]:
        """End the rows of triples; says which of them were there."""
        if self._ended is None:
            if self._empty:
                return np.zeros(len(triples.subjects), np.bool_)
            self._ended = EndedRows(self.base)
        were_there = self._ended.end(triples, self.appended() or NOTHING_APPENDED)
        if were_there.any():
            self._elements = None
            self._publish()
        return were_there

    def sweep(self) -> None:
        """Make what is there a new base, if many rows have ended. Nothing may point to rows."""
        reader = self.reader
        if (
            isinstance(reader, GraphSnapshot)
            and reader.ended is not None
            and reader.ended.total >= max(_SWEPT, len(reader))
        ):
            self.base = self.reader = TripleIndex(reader.match(ANY, ANY, ANY))
            self._appended = self._ended = self._elements = None

    def _publish(self) -> None:
        appended = NOTHING_APPENDED if self._appended is None else self._appended.view()
        self.reader = GraphSnapshot(self.base, appended, None if self._ended is None else self._ended.view())

    def replace_base(self, base: TripleIndex, swept: EndedView | None, appended: Appended, rows: int) -> bool:
        """Have another base that has the first appended rows too, and those after them appended to it.

        The base lacks what had ended by `swept`; says whether that is possible: not where more of it has ended since.
        """
        view, ended = self.appended(), self.ended()
        assert view is not None, "there was a reader of both parts, and there still is"
        if ended is not None and _ended_since(ended, swept, rows):
            return False
        appended.take_over(view, rows)
        self.base, self._appended, self._ended, self._elements = base, appended, None, None
        if ended is not None:
            self._ended = EndedRows(base)
            self._ended.take_over(ended, rows, view.rows, appended.view())
        self._publish()
        return True

    @property
    def appending(self) -> Appended | None:
        """What takes the rows that are appended, and has the terms of all that were."""
        return self._appended

    def ended(self) -> EndedView | None:
        """The rows that have ended."""
        reader = self.reader
        return reader.ended if isinstance(reader, GraphSnapshot) else None

    def appended(self) -> AppendedView | None:
        """The triples that are not in the base."""
        reader = self.reader
        return reader.appended if isinstance(reader, GraphSnapshot) else None

    def added(self) -> Elements:
        """The same with their times, in order of time."""
        appended = self.appended()
        if appended is None:
            return Elements(_NOTHING, _NOTHING, _NOTHING, _NOTHING)
        times, triples = appended.times().copy(), appended.triples()
        if (ended := self.ended()) is not None:
            live = ended.live_appended(0, appended.rows)
            times, triples = times[live], Triples(*(column[live] for column in triples))
        order = np.argsort(times, kind="stable")
        return Elements(times[order], *(column[order] for column in triples))

    def added_matching(self, subject: int, predicate: int, object: int) -> Elements:
        """Those of them that match a pattern, likewise."""
        appended = self.appended()
        if appended is None:
            return Elements(_NOTHING, _NOTHING, _NOTHING, _NOTHING)
        if (ended := self.ended()) is not None and ended.concerns(predicate):
            added = self.added()
            matching = np.ones(len(added.times), np.bool_)
            for column, term in zip(added[1:], (subject, predicate, object), strict=True):
                if term != ANY:
                    matching &= column == term
            return Elements(*(column[matching] for column in added))
        found = appended.match(subject, predicate, object)
        times = appended.times()[appended.rows_of(found)]
        order = np.argsort(times, kind="stable")
        return Elements(times[order], *(column[order] for column in found))

    def elements(self) -> Elements:
        """All triples with their times, in order of time."""
        kept, reader = self._elements, self.reader
        if kept is not None and kept[0] is reader:
            return kept[1]
        base, added = self.base.triples(), self.added()
        if (ended := self.ended()) is not None:  # the base is sorted
            live = ended.live_base()
            base = Triples(*(column[live] for column in base))
        times = np.full(base.subjects.size, BEFORE_ALL_TIME, np.int64)
        elements = Elements(times, *base)
        if added.times.size:  # none of them has an earlier time than the base
            elements = Elements(*(np.concatenate(columns) for columns in zip(elements, added, strict=True)))
        self._elements = (reader, elements) if elements.times.size <= _KEPT else None
        return elements

    def _larger_base(self, triples: Triples) -> TripleIndex | None:
        """A base that has more triples; None where they are better appended."""
        larger = self.base.with_more(triples)
        if larger is None and len(triples.subjects) >= max(_LARGE, len(self.base) // _MUCH):
            larger = TripleIndex(self.base.triples(), triples)
        return larger


def _ended_since(ended: EndedView, swept: EndedView | None, rows: int) -> bool:
    """Whether rows of the base, or of the first that were appended, have ended since others were swept."""
    fresh = ended.log[0 if swept is None else swept.total : ended.total]
    return bool(((fresh[:, 0] >= 0) | (fresh[:, 2] < rows) & (fresh[:, 2] >= 0)).any())
