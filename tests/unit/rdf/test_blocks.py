"""Stretches of files: however a file is cut, and however it is read, each line is read once."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from freshet.rdf import reading
from freshet.rdf.blocks import Stretch, read_blocks
from freshet.rdf.errors import InputError

LINES = ["# comment", "", *(f"<urn:s{number}> <urn:p> _:b{number % 3} .{' ' * (number % 40)}" for number in range(60))]


def statements(path, start=0, end=None, **options):
    found, lines = [], 0
    for block in read_blocks(Stretch(str(path), "x", start, end), **options):
        keys = [block.dictionary.keys(column).to_pylist() for column in block.quads]
        found += zip(*keys, strict=True)
        lines += block.lines
    return found, lines


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_every_cut_reads_every_line_once(tmp_path, monkeypatch, ending):
    path = tmp_path / "a.nt"
    path.write_text(("\r\n" if ending == "\r\n" else "\n").join(LINES) + ending, newline="")
    whole, count = statements(path)
    assert len(whole) == 60
    size = path.stat().st_size
    random = np.random.default_rng(3)
    for piece_bytes in (16, 50, 700, 1 << 16):
        monkeypatch.setattr(reading, "_PIECE_BYTES", piece_bytes)
        for cuts in (1, 2, 7, 90):
            bounds = sorted({0, size, *random.integers(0, size, cuts).tolist()})
            parts = [statements(path, start, end, block_bytes=300) for start, end in pairwise(bounds)]
            assert [row for rows, _ in parts for row in rows] == whole
            assert sum(lines for _, lines in parts) == count


def test_documents_come_in_blocks_with_one_scope(tmp_path):
    path = tmp_path / "a.ttl"
    path.write_text("".join(f"<urn:s{number}> <urn:p> _:same .\n" for number in range(50_000)))
    blocks = list(read_blocks(Stretch(str(path), "x"), block_bytes=1_000))
    assert len(blocks) == 3
    nodes = {block.dictionary.keys(block.quads.objects[:1]).to_pylist()[0] for block in blocks}
    assert nodes == {"_:x.same"}
    assert sum(block.quads.subjects.size for block in blocks) == 50_000


def test_lines_of_errors_count_from_the_stretch(tmp_path):
    path = tmp_path / "a.nt"
    path.write_text("\n".join([*LINES[:20], "bad", *LINES[20:]]))
    for start in (0, 300):
        before = Counter(path.read_bytes()[:start])[ord("\n")]
        with pytest.raises(InputError) as error:
            statements(path, start, path.stat().st_size)
        assert error.value.line == (21 if start == 0 else 20 - before)
