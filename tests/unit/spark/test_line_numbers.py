"""The numbers of lines, whichever way Spark cuts files and batches."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from freshet.spark.line_numbers import BLOCK, _number, without_line_numbers


def batches(rows: list[tuple[str, int]], sizes: list[int]) -> list[pa.RecordBatch]:
    found, at = [], 0
    for size in sizes:
        files, blocks = zip(*rows[at : at + size], strict=True) if size else ((), ())
        lines = [f"line {number}" for number in range(at, at + len(files))]
        columns = [lines, files, range(len(files)), blocks]
        types = [pa.string(), pa.string(), pa.int64(), pa.int64()]
        arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
        found.append(pa.RecordBatch.from_arrays(arrays, names=["line", "file", "arrived", BLOCK]))
        at += size
    return found


@pytest.mark.parametrize("seed", range(20))
def test_lines_of_each_file_are_counted(seed: int) -> None:
    chance = random.Random(seed)
    files = [(f"file:///f{number}", chance.choice([0, 0, 0, 1 << 27])) for number in range(6)]
    rows = [file for file in files for _ in range(chance.randrange(1, 30))]
    sizes = []
    while sum(sizes) < len(rows):
        sizes.append(min(chance.randrange(0, 25), len(rows) - sum(sizes)))
    numbered = pa.Table.from_batches(_number(iter(batches(rows, sizes))))
    counts: dict[tuple[str, int], int] = {}
    expected = []
    for file, block in rows:
        counts[file, block] = counts.get((file, block), 0) + 1
        expected.append(f"{file}#{f'B{block}' if block else ''}L{counts[file, block]}")
    assert numbered.column("file").to_pylist() == expected
    assert numbered.column("line").to_pylist() == [f"line {number}" for number in range(len(rows))]
    assert without_line_numbers(numbered.column("file")).to_pylist() == [file for file, _ in rows]
