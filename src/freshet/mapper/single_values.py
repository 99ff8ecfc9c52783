"""References that may have several values, and have at most one in a batch: plain columns are simpler to map."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.kernels.json_values import NOTHING
from freshet.mapper.arrow_texts import kind_scalar
from freshet.rdf.arrow import list_lengths, numbers
from freshet.sources.columns import kind_name, text_name


def single_values(
    batch: pa.RecordBatch, many: frozenset[str], chosen: Collection[str], prefix: str = ""
) -> tuple[pa.RecordBatch, frozenset[str]]:
    """The batch with plain columns for those of the `chosen` references that have no record with two values; and the
    references that have arrays still. Names of columns begin with `prefix`."""
    names, columns = batch.schema.names, list(batch.columns)
    still = set(many)
    for reference in chosen:
        lists = batch.column(f"{prefix}{text_name(reference)}")
        lengths = list_lengths(lists)
        if lists.null_count or (lengths > 1).any():
            continue
        still.discard(reference)
        there = lengths == 1
        rows = numbers(np.cumsum(lengths, dtype=np.int64) - lengths, there)
        columns[names.index(f"{prefix}{text_name(reference)}")] = lists.flatten().take(rows)
        if (kinds := f"{prefix}{kind_name(reference)}") in names:
            found = batch.column(kinds).flatten().take(rows)
            columns[names.index(kinds)] = pc.fill_null(found, kind_scalar(NOTHING))
    if len(still) == len(many):
        return batch, many
    return pa.RecordBatch.from_arrays(columns, names=names), frozenset(still)
