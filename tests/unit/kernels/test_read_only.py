"""Functions that read bytes are compiled once, for bytes of Arrow as for those that a kernel has written."""

import numpy as np

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


def test_what_was_written_is_read_by_the_same_code():
    given = np.frombuffer(b"\x01", np.uint8)
    assert not given.flags.writeable
    assert _first_byte(given) == 1  # compiled, or loaded, for bytes of Arrow
    assert write_and_read(given) == 8
    assert len(_first_byte.overloads) == 1
