"""What a result of a join takes in memory: rows of pointers and rows of values (operator-aware structures, table 2).

Windows of 10,000 rows are joined on one variable, each row with one of every other window, so that the results are as
many for two windows as for eight. The bytes are those of the buffers that the join filled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from freshet.native.inputs import Input
from freshet.native.leaf_buffer import LeafBuffer, LeafPattern
from freshet.native.operators.multiway_join import MultiwayJoinOp
from freshet.native.result_buffer import ResultBuffer
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet_benchmarks.figures import Baseline, Figure

ROWS = 10_000
WAYS = (2, 3, 4, 6, 8)

# Subject and object of any triple; the keys of a window's rows are its subjects.
_PATTERN = LeafPattern((0, 0, 0), ((0,), (2,)))


def memory_figures(rows: int = ROWS) -> Sequence[Figure]:
    """The bytes of a result, alone and with what it takes to take it back."""
    return [figure for ways in WAYS for figure in _figures(ways, rows)]


def _figures(ways: int, rows: int) -> list[Figure]:
    inputs = [_input(window, rows) for window in range(ways)]
    names = sorted({name for each in inputs for name in each.names})
    join = MultiwayJoinOp(inputs, (), names, Dictionary())
    pointers, _ = join.pointer_changes(1)
    results = ResultBuffer(ways, ways)
    results.add(pointers, [each.buffer.row_capacity for each in inputs])
    count = len(results)
    pointing = results.live().nbytes / count
    copied = sum(column.nbytes for column in join.table(pointers).columns.values()) / count
    chains = (results.nbytes - results.pointer_bytes) / count
    return [
        Figure(f"join_{ways}_way_row_bytes", pointing, "bytes", Baseline("copied values", copied)),
        Figure(
            f"join_{ways}_way_row_and_chain_bytes",
            pointing + chains,
            "bytes",
            Baseline("copied values", copied + chains),
        ),
    ]


def _input(window: int, rows: int) -> Input:
    random = np.random.default_rng(window)
    numbers = np.arange(rows, dtype=np.int64)
    leaf = LeafBuffer(_PATTERN)
    leaf.receive(Elements(numbers, 1 + random.permutation(rows), np.ones(rows, np.int64), 1 + numbers))
    leaf.step(0, rows, 1)
    names = ("key", f"value_{window}")
    return Input(leaf, names, frozenset(names), expires=True)
