"""The first step of a bulk load: files are cut into stretches, and tasks turn each into ids, beside terms and keys.

A task writes what it read into the folder of the load, a block at a time (`freshet.spark.bulk_blocks`). Nothing is
agreed on between tasks: an id is the hash of its key (docs/decisions/0002).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from freshet.rdf.blocks import Stretch, read_blocks
from freshet.rdf.compression import is_compressed
from freshet.rdf.errors import InputError
from freshet.rdf.formats import is_line_format, rdf_format
from freshet.spark.bulk_blocks import StagedBlock, stage_block


class Encoded(NamedTuple):
    """What a task found in a stretch; `problem` is what is wrong there, its line counted from the stretch's start."""

    file: str
    lines: int
    blocks: list[StagedBlock]
    problem: tuple[str, int | None, int | None, str | None] | None = None


def check_files(files: Sequence[Path]) -> None:
    """Raise what is wrong with the names of files: before the seconds that Spark needs to start."""
    for file in files:
        rdf_format(file)
        if not file.is_file():
            raise InputError("is a folder" if file.is_dir() else "there is no such file", file=str(file))


def cut_files(files: Sequence[Path], scope: str, stretch_bytes: int) -> list[Stretch]:
    """The stretches of files. What is compressed or has no lines is one stretch."""
    stretches = []
    for number, file in enumerate(files):
        path, own = str(file), f"{scope}x{number}"
        if is_compressed(file) or not is_line_format(rdf_format(file)):
            stretches.append(Stretch(path, own))
            continue
        size = file.stat().st_size
        pieces = max(1, -(-size // stretch_bytes))
        bounds = [size * piece // pieces for piece in range(pieces + 1)]
        stretches += [Stretch(path, own, start, end) for start, end in pairwise(bounds)]
    return stretches


def encode(spark: SparkSession, stretches: Sequence[Stretch], staging: Path, hash_bits: int) -> list[StagedBlock]:
    """Encode all stretches. The first bad line of the first bad file is raised."""
    folder = str(staging)

    def task(numbered: tuple[int, Stretch]) -> Encoded:
        return _encode_stretch(*numbered, Path(folder), hash_bits)

    numbered = list(enumerate(stretches))
    found = spark.sparkContext.parallelize(numbered, max(1, len(numbered))).map(task).collect()
    lines: dict[str, int] = {}  # before the stretch
    for each in found:
        before = lines.get(each.file, 0)
        if each.problem is not None:
            message, line, column, hint = each.problem
            place = None if line is None else before + line
            raise InputError(message, file=each.file, line=place, column=column, hint=hint)
        lines[each.file] = before + each.lines
    return [block for each in found for block in each.blocks]


def _encode_stretch(number: int, stretch: Stretch, folder: Path, hash_bits: int) -> Encoded:
    staged, lines = [], 0
    try:
        for place, block in enumerate(read_blocks(stretch, hash_bits=hash_bits)):
            staged.append(stage_block(block, folder, f"{number:06}-{place:06}"))
            lines += block.lines
    except InputError as error:
        return Encoded(stretch.path, 0, [], (error.message, error.line, error.column, error.hint))
    return Encoded(stretch.path, lines, staged)
