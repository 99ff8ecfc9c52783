"""Eight digits in one word, against Python's own."""

import numpy as np
import pytest

from freshet.kernels.digits import are_eight, read_eight, write_eight
from freshet.kernels.jit import njit

SOME = np.random.default_rng(1).integers(0, 10**8, 999).tolist()
NUMBERS = [0, 1, 9, 10, 99, 100, 9_999, 10_000, 12_345_678, 99_999_999, *SOME]


@njit
def written(numbers):
    words = np.empty(numbers.size, np.uint64)
    for at in range(numbers.size):
        words[at] = write_eight(numbers[at])
    return words


@njit
def read(words):
    numbers = np.empty(words.size, np.uint64)
    for at in range(words.size):
        numbers[at] = read_eight(words[at])
    return numbers


@njit
def accepted(words):
    found = np.empty(words.size, np.bool_)
    for at in range(words.size):
        found[at] = are_eight(words[at])
    return found


def test_digits_are_written_and_read():
    words = written(np.array(NUMBERS, np.uint64))
    assert [word.tobytes().decode() for word in words] == [f"{number:08}" for number in NUMBERS]
    assert read(words).tolist() == NUMBERS
    assert accepted(words).all()


@pytest.mark.parametrize("byte", [*range(ord("0")), *range(ord("9") + 1, 256)])
def test_anything_but_digits_is_refused(byte):
    texts = [b"0" * place + bytes([byte]) + b"9" * (7 - place) for place in range(8)]
    assert not accepted(np.frombuffer(b"".join(texts), np.uint64).copy()).any()
