"""What an expression may ask about the query that it stands in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.expressions import Exists
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.values import Ids

Matches = Callable[[Exists, Mapping[str, Ids], int], NDArray[np.bool_]]


class Solutions:
    """The rows for which nodes were made last, and the labels of one query.

    BNODE("x") is one node within a solution and another in the next. `SELECT (BNODE("x") AS ?a) (BNODE("x") AS ?b)`
    comes as two evaluations over the same rows. The second is known by its columns: it has the very arrays that the
    first had, and the one that the first gave back.
    """

    def __init__(self) -> None:
        self._labels: dict[str, int] = {}
        self._columns: dict[str, Ids] = {}
        self._results: list[Ids] = []
        self._scope = ""

    def label(self, text: str) -> int:
        """The number of a label, the same for the whole query."""
        return self._labels.setdefault(text, len(self._labels))

    def scope(self, columns: Mapping[str, Ids], count: int, dictionary: Dictionary) -> str:
        """The scope of blank nodes for these rows: that of the evaluation before where the rows are the same."""
        if not self._continues(columns, count):
            self._scope = dictionary.fresh_scope()
            self._columns, self._results = dict(columns), []
        return self._scope

    def record_result(self, ids: Ids) -> None:
        """Remember what an evaluation gave back."""
        self._results.append(ids)

    def _continues(self, columns: Mapping[str, Ids], count: int) -> bool:
        if not self._scope or not self._results or self._results[0].size != count:
            return False
        there = {_address(column) for column in columns.values()}
        kept = all(name in columns and _address(columns[name]) == _address(old) for name, old in self._columns.items())
        return kept and any(_address(result) in there for result in self._results)


def _address(ids: Ids) -> tuple[int, int]:
    """Where an array lies; the arrays that are compared are all alive, so no two share a place."""
    return ids.ctypes.data, ids.size


@dataclass(frozen=True, slots=True)
class Context:
    """What an expression may ask about the query that it stands in.

    `now` is what NOW() gives: timezone-aware, one moment for the whole query. IRI() resolves against `base`.
    `exists` says for each row whether the pattern of EXISTS matches; NOT is not its business.
    """

    now: datetime
    base: str | None = None
    exists: Matches | None = None
    solutions: Solutions = field(default_factory=Solutions, compare=False, repr=False)
