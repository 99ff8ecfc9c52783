"""Functions that read bytes are compiled once, for bytes of Arrow as for those that a kernel has written."""

from pathlib import Path

import numpy as np
import pytest

from freshet.kernels import cache
from freshet.kernels.jit import njit
from freshet.kernels.read_only import read_only


@njit
def _first_byte(data):
    return data[0]


@njit
def write_and_read(given):
    written = np.empty(1, np.uint8)
    texts = read_only(written)
    written[0] = 7
    return _first_byte(given) + _first_byte(texts)


def test_what_was_written_is_read_by_the_same_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(cache, "FOLDER", tmp_path)  # empty: so everything is compiled here
    given = np.frombuffer(b"\x01", np.uint8)
    assert not given.flags.writeable
    assert write_and_read(given) == 8
    assert len(_first_byte.overloads) == 1
