import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.pieces import join_pieces


@settings(deadline=None)
@given(st.lists(st.binary(max_size=5), min_size=1, max_size=6), st.data())
def test_equals_join(pieces: list[bytes], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, len(pieces) - 1), max_size=20))
    offsets = np.cumsum([0, *map(len, pieces)])
    heap = np.frombuffer(b"".join(pieces), np.uint8)
    joined = join_pieces(heap, offsets, np.array(numbers, np.int64))
    assert joined.tobytes() == b"".join(pieces[number] for number in numbers)
