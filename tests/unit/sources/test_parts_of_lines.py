"""Lines that were counted from the middle of a file."""

import random

import pytest

from freshet.sources import parts_of_lines
from freshet.sources.parts_of_lines import with_whole_lines


def starts_of_lines(text):
    """Where each line begins, counted a byte at a time."""
    starts, at = [0], 0
    while at < len(text):
        if text[at : at + 2] == b"\r\n":
            at += 1
        if text[at : at + 1] in (b"\n", b"\r"):
            starts.append(at + 1)
        at += 1
    return starts


@pytest.mark.parametrize("seed", range(30))
def test_every_line_of_every_part(tmp_path, monkeypatch, seed):
    chance = random.Random(seed)
    monkeypatch.setattr(parts_of_lines, "_BLOCK", chance.choice([2, 3, 7, 1 << 20]))
    text = b"".join(chance.choice([b"a", b"bc", b"\n", b"\r\n", b"\r", b"\n\n"]) for _ in range(80))
    file = tmp_path / "a b.csv"
    file.write_bytes(text)
    starts = starts_of_lines(text)
    places = list(range(1, len(text)))
    chance.shuffle(places)
    for start in places:
        own = [number for number, place in enumerate(starts, 1) if place > start]
        for at, number in enumerate(own, 1):
            assert with_whole_lines(f"{file.as_uri()}#B{start}L{at}") == f"{file.as_uri()}#L{number}"


def test_a_pair_of_records_and_a_file_that_is_gone(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x\ny\nz\n")
    name = file.as_uri()
    assert with_whole_lines(f"{name}#B2L1 kafka:t/0/1") == f"{name}#L3 kafka:t/0/1"
    file.unlink()
    assert with_whole_lines(f"{name}#B2L1 hdfs://h/x#B3L4") == f"{name} hdfs://h/x"
