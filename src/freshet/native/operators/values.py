"""Values: inline data, which never change.

Δ(values) = all of them the first time, then nothing
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from freshet.native.change import NOTHING, Change, MomentBatch
from freshet.oneshot.table import Table
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Term


class ValuesOp:
    """The rows of VALUES."""

    def __init__(self, variables: Sequence[str], rows: Sequence[Sequence[Term | None]], dictionary: Dictionary) -> None:
        columns = {
            name: np.array([0 if (term := row[at]) is None else dictionary.encode(term) for row in rows], np.int64)
            for at, name in enumerate(variables)
        }
        self._table = Table(columns, len(rows))
        self._given = False

    def changes(self, batch: MomentBatch) -> Change:
        if self._given:
            return NOTHING
        self._given = True
        return NOTHING._replace(came=self._table, came_at=np.full(self._table.count, batch.first))
