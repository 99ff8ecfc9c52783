"""What elements of a stream change in the stored default graph: values that come in, and triples that go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from freshet.kernels.joins import number_rows
from freshet.rdf.arrow import read_only
from freshet.rdf.deletions import standing
from freshet.rdf.elements import Elements
from freshet.rdf.triples import Triples


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
    time_ms = elements.times.item(-1)
    stands = standing(*elements[1:])
    values = keys = Elements(*(column[stands.additions] for column in elements))
    _, subjects, predicates, objects = (column[stands.deletions] for column in elements)
    if replaces:
        is_addition = elements.predicates > 0
        rows = newest(Elements(*(column[is_addition] for column in elements)))
        keys = Elements(*(column[is_addition][rows] for column in elements))
        kept = stands.additions[is_addition][rows]
        values = Elements(*(column[kept] for column in keys))
    return TimedChange(time_ms, values, Triples(subjects, -predicates, objects), replaces, keys)


def newest(elements: Elements) -> np.typing.NDArray[np.int64]:
    """Of elements in order of time the rows of the last of each subject and predicate, as they stand."""
    keys = np.column_stack((elements.subjects[::-1], elements.predicates[::-1]))
    _, firsts = number_rows(read_only(keys))
    return np.sort(len(keys) - 1 - firsts)
