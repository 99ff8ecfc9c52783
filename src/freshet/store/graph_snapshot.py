"""A graph at one moment: its base, and the appended triples that were there by then, as one."""

from __future__ import annotations

import numpy as np

from freshet.kernels.base_and_appended import find_both, probe_both
from freshet.rdf.triples import ANY, Ids, Triples
from freshet.store.appended_view import AppendedView
from freshet.store.ended import EndedView
from freshet.store.found import Column, Found, combine_found
from freshet.store.pattern_rows import match_rows, probe_rows
from freshet.store.triple_index import OBJECT, SUBJECT, TripleIndex

_COUNT_MASK = 0xFFFFFFFF


class GraphSnapshot:
    """What one-shot evaluation reads. A triple is in the base or appended, never both. Counts are upper bounds.

    Patterns with a key (a subject or an object), a predicate and nothing else, which are nearly all, look into both
    parts in one call; of all others the parts are asked one after the other. Where rows that can match have ended, rows
    are found by number, and those are left out.
    """

    __slots__ = ("__weakref__", "_distinct", "appended", "base", "ended")

    def __init__(self, base: TripleIndex, appended: AppendedView, ended: EndedView | None = None) -> None:
        self.base = base
        self.appended = appended
        self.ended = ended
        self._distinct: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.base) + self.appended.rows - (0 if self.ended is None else self.ended.total)

    def count(self, subject: int, predicate: int, object: int) -> int:
        """How many triples match a pattern; at most some more, which have come since."""
        if predicate != ANY and (subject == ANY) != (object == ANY):
            found, more = self._find(subject, predicate, object)
            return (found & _COUNT_MASK) + more
        return self.base.count(subject, predicate, object) + self.appended.count(subject, predicate, object)

    def distinct(self, predicate: int, place: int) -> int:
        """At most how many different terms stand at a place (0, 2) of a predicate's triples, or of all."""
        found = self._distinct.get((predicate, place))
        if found is None:
            found = self.base.distinct(predicate, place) + self.appended.distinct(predicate, place)
            self._distinct[predicate, place] = found
        return found

    def match(self, subject: int, predicate: int, object: int) -> Triples:
        """The triples that match a pattern. The columns may be views of the index: do not write to them."""
        if self.ended is not None and self.ended.concerns(predicate):
            return match_rows(self, (subject, predicate, object))
        if predicate != ANY and (subject == ANY) != (object == ANY):
            found, count = self._find(subject, predicate, object)
            rows = self.base.order(OBJECT if subject == ANY else SUBJECT).rows(predicate, found)
            if not count:
                return rows
        else:
            rows = self.base.match(subject, predicate, object)
        more = self.appended.match(subject, predicate, object)
        if not more.subjects.size:
            return rows
        return Triples(*(np.concatenate(columns) for columns in zip(rows, more, strict=True)))

    def probe(self, subjects: Column, predicates: Column, objects: Column) -> Found:
        """Every match of many patterns, with the number of the pattern, in the order of the patterns."""
        if self.ended is not None and (isinstance(predicates, np.ndarray) or self.ended.concerns(int(predicates))):
            return probe_rows(self, (subjects, predicates, objects))
        if not isinstance(predicates, np.ndarray) and predicates != ANY:
            if isinstance(subjects, np.ndarray):
                if not isinstance(objects, np.ndarray) and objects == ANY:
                    return self._probe_keys(SUBJECT, subjects, int(predicates))
            elif subjects == ANY and isinstance(objects, np.ndarray):
                return self._probe_keys(OBJECT, objects, int(predicates))
        return self._probe_apart(subjects, predicates, objects)

    def _probe_apart(self, subjects: Column, predicates: Column, objects: Column) -> Found:
        more = self.appended.probe(subjects, predicates, objects)
        found = self.base.probe(subjects, predicates, objects)
        return combine_found(found, more)

    def _probe_keys(self, key: int, keys: Ids, predicate: int) -> Found:
        """The rows of many subjects or objects of a predicate."""
        order = self.base.order(key)
        table, group = order.group(predicate), self.appended.group(predicate)
        if group is None or table is None:
            part = self.base if group is None else self.appended
            return part.probe(keys, predicate, ANY) if key == SUBJECT else part.probe(ANY, predicate, keys)
        chains = self.appended.chains(key)
        numbers, found, others, predicates = probe_both(
            order.arrays.slots,
            table[1],
            table[2],
            order.arrays.seconds,
            chains.table,
            chains.filter,
            chains.entries,
            chains.nodes,
            self.appended.rows,
            group,
            np.ascontiguousarray(keys),
            predicate,
        )
        if key == SUBJECT:
            return numbers, Triples(found, predicates, others)
        return numbers, Triples(others, predicates, found)

    def _find(self, subject: int, predicate: int, object: int) -> tuple[int, int]:
        """The rows in the base that a subject or an object has with a predicate, and how many are appended at most."""
        key, term = (OBJECT, object) if subject == ANY else (SUBJECT, subject)
        order = self.base.order(key)
        table, group = order.group(predicate), self.appended.group(predicate)
        if group is None:
            return (0 if table is None else order.range(predicate, term, ANY)), 0
        if table is None:
            return 0, self.appended.count(subject, predicate, object)
        chains = self.appended.chains(key)
        found, count = find_both(
            order.arrays.slots,
            table[1],
            table[2],
            chains.table,
            chains.filter,
            chains.entries,
            self.appended.rows,
            group,
            term,
        )
        return found, count
