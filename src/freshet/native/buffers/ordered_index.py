"""The ordered index: the rows whose value in a column is within a range (operator-aware structures, tree variants)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.order_keys import Texts
from freshet.kernels.order_tree import LINK_WIDTH, NIL
from freshet.kernels.ordered_index import (
    CLASSES,
    KEY_WIDTH,
    OrderedIndexArrays,
    classes_and_reals,
    ordered_link,
    ordered_probe,
    ordered_unlink,
)
from freshet.native.buffers.accumulators import longer
from freshet.native.buffers.one_way_index import Ids, Rows
from freshet.native.buffers.ring_index import Lives
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.values import values as values_of

_NO_TEXTS = Texts(np.empty(0, np.uint8), np.empty(0, np.uint8))
_ROW_BYTES = 4 * LINK_WIDTH + 8 * KEY_WIDTH + 1


class OrderedIndex:
    """Rows by the value of a column, in order. Rows that come or go cost log n each."""

    def __init__(self, column: int, dictionary: Dictionary) -> None:
        self._column = column
        self._dictionary = dictionary
        self.rows = 0
        sizes = np.zeros((CLASSES, 2), np.int64)
        sizes[:, 0] = NIL
        self._arrays = OrderedIndexArrays(
            np.empty((0, LINK_WIDTH), np.int32), sizes, np.empty((0, KEY_WIDTH), np.int64), np.empty(0, np.uint8)
        )

    def link(self, rows: Rows, values: Ids) -> None:
        """Put rows in order; `values` are those of all rows that there can be."""
        links, sizes, keys, classes = self._arrays
        if len(classes) < len(values):
            room = len(values)
            self._arrays = OrderedIndexArrays(longer(links, room), sizes, longer(keys, room), longer(classes, room))
        found = classes_and_reals(values_of(self._dictionary, values[rows, self._column]))
        ordered_link(self._arrays, _NO_TEXTS, rows, *found)
        self.rows += len(rows)

    def unlink(self, rows: Rows) -> None:
        ordered_unlink(self._arrays, rows)
        self.rows -= len(rows)

    def probe(
        self,
        classes: NDArray[np.uint8],
        lows: NDArray[np.float64],
        highs: NDArray[np.float64],
        moments: Ids,
        ties: int,
        lives: Lives,
    ) -> tuple[Ids, Rows]:
        """Pairs (which range, row) for all rows of the classes in the ranges that live at the moments beside these."""
        lefts, rows = ordered_probe(
            self._arrays, classes, lows, highs, lives.born, lives.died, moments, ties, lives.is_still
        )
        return lefts, rows

    @property
    def row_bytes(self) -> int:
        """What a row takes."""
        return _ROW_BYTES

    @property
    def held_bytes(self) -> int:
        """What the rows take that are here."""
        return _ROW_BYTES * self.rows
