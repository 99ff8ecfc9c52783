"""What elements of a stream change in the stored default graph: values that come in, and triples that go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from freshet.kernels.joins import number_rows
from freshet.rdf.arrow import read_only
from freshet.rdf.deletions import standing
from freshet.rdf.elements import Elements
from freshet.rdf.triples import Ids, Triples


class TimedChange(NamedTuple):
    """A change up to a time. With `replaces`, the values take the place of all others of their `keys`: subjects and
    predicates. No triple is among both the values and those that are deleted.
    """

    time_ms: int
    values: Elements
    deleted: Triples
    replaces: bool
    keys: Elements


def change_of(elements: Elements, *, replaces: bool) -> TimedChange:
    """What elements in order of time, at least one, come to."""
    entries = np.zeros(len(elements.times), np.int64)
    return next(iter(changes_of(elements, entries, replaces=replaces).values()))


def changes_of(elements: Elements, entries: Ids, *, replaces: bool) -> dict[int, TimedChange]:
    """The same, as a change for each of the entries of a journal that the elements came with.

    Of elements that concern the same triple, or replace each other, only the last does something: so these changes can
    be made in any order.
    """
    time_ms = elements.times.item(-1)
    stands = standing(*elements[1:])
    deleted = np.flatnonzero(stands.deletions)
    values = keys = np.flatnonzero(stands.additions)
    if replaces:
        additions = np.flatnonzero(elements.predicates > 0)
        keys = additions[newest(_rows(elements, additions))]
        values = keys[stands.additions[keys]]
    found = {}
    numbers = np.unique(entries).tolist()
    for entry in numbers:
        columns = values, deleted, keys
        if len(numbers) > 1:
            columns = values[entries[values] == entry], deleted[entries[deleted] == entry], keys[entries[keys] == entry]
        come, gone, replaced = (_rows(elements, rows) for rows in columns)
        went = Triples(gone.subjects, -gone.predicates, gone.objects)
        found[entry] = TimedChange(time_ms, come, went, replaces, replaced)
    return found


def _rows(elements: Elements, rows: Ids) -> Elements:
    return Elements(*(column[rows] for column in elements))


def newest(elements: Elements) -> np.typing.NDArray[np.int64]:
    """Of elements in order of time the rows of the last of each subject and predicate, as they stand."""
    keys = np.column_stack((elements.subjects[::-1], elements.predicates[::-1]))
    _, firsts = number_rows(read_only(keys))
    return np.sort(len(keys) - 1 - firsts)
