"""The parts of the scanner, beside naive twins. What it reads is tested through `freshet.rdf.ntriples`."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.dictionary import same_bytes
from freshet.kernels.term_ranges import find_byte

few_bytes = st.lists(st.sampled_from([0, 1, 61, 62, 63, 127, 128, 190, 255]), max_size=80).map(bytes)


@settings(deadline=None)
@given(few_bytes, st.integers(0, 80))
def test_find_byte_finds_the_first(data: bytes, start: int) -> None:
    start = min(start, len(data))
    found = data.find(b">", start)
    assert find_byte(np.frombuffer(data, np.uint8), start, ord(">")) == (len(data) if found < 0 else found)


@settings(deadline=None)
@given(st.binary(max_size=150), st.integers(0, 20), st.integers(0, 150))
def test_same_bytes_sees_every_byte(data: bytes, shift: int, place: int) -> None:
    right = np.frombuffer(data, np.uint8)
    left = np.concatenate([np.zeros(shift, np.uint8), right])
    assert same_bytes(left, shift, right, 0, right.size)
    if right.size:
        left[shift + place % right.size] ^= 4
        assert not same_bytes(left, shift, right, 0, right.size)
