"""Lines of files by their numbers. Spark gives lines in order within each part of a file that one task reads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from freshet.sources.columns import ARRIVED, FILE, LINE

BLOCK = "block"
_NUMBER = r"#(B[0-9]+)?L[0-9]+$"  # no URI of a file has a # of its own


def with_line_numbers(lines: DataFrame) -> DataFrame:
    """The lines with `FILE#LNUMBER` in place of the file; BLOCK is where in the file the part of a line begins.

    A file above `spark.sql.files.maxPartitionBytes` (128 MB) is read in parts, by tasks that do not know of each
    other's lines: those after the first part have `FILE#BBLOCKLNUMBER`, which counts from the part's first line.
    `sources/parts_of_lines.py` turns it into a number of the file when that is asked for.
    """
    return lines.mapInArrow(_number, f"{LINE} STRING, {FILE} STRING, {ARRIVED} BIGINT")


def _number(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count the lines of each part of a file, which stand together."""
    last: tuple[str, int] | None = None
    count = 0
    for batch in batches:
        if not len(batch):
            continue
        files, blocks = batch.column(FILE).dictionary_encode(), batch.column(BLOCK).to_numpy()
        codes = files.indices.to_numpy()
        changes = np.flatnonzero((np.diff(codes) != 0) | (np.diff(blocks) != 0)) + 1
        starts = np.concatenate(([0], changes))
        lengths = np.diff(np.append(starts, len(batch)))
        numbers = np.arange(len(batch)) - np.repeat(starts, lengths)
        first = (files.dictionary[int(codes[0])].as_py(), int(blocks[0]))
        if first == last:
            numbers[: lengths[0]] += count
        last = (files.dictionary[int(codes[-1])].as_py(), int(blocks[-1]))
        count = int(numbers[-1]) + 1
        texts = pa.array(numbers + 1).cast(pa.string())
        parts = pc.binary_join_element_wise(pa.scalar("#B"), pa.array(blocks).cast(pa.string()), "L", "")
        marks = pc.if_else(pa.array(blocks == 0), "#L", parts)
        places = pc.binary_join_element_wise(batch.column(FILE), marks, texts, "")
        yield pa.RecordBatch.from_arrays(
            [batch.column(LINE), places, batch.column(ARRIVED)], names=[LINE, FILE, ARRIVED]
        )


def without_line_numbers(files: pa.ChunkedArray) -> pa.ChunkedArray:
    """The files of lines with numbers."""
    return pc.replace_substring_regex(files, _NUMBER, "")
