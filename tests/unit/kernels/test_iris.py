import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.iris import code_point


@settings(deadline=None, max_examples=500)
@given(st.binary(min_size=1, max_size=4) | st.characters(min_codepoint=0x80, exclude_categories=["Cs"]).map(str.encode))
def test_utf_8_is_read_as_python_reads_it(data: bytes) -> None:
    if data[0] < 0x80:
        return
    point, end = code_point(np.frombuffer(data, np.uint8), 0, len(data))
    character = next(
        iter(data[:length].decode(errors="ignore") for length in (2, 3, 4) if _is_whole(data[:length])), ""
    )
    assert (point, end) == ((ord(character), len(character.encode())) if character else (-1, -1))


def _is_whole(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


def test_ends_of_the_ranges_of_utf_8() -> None:
    for point in (0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF):
        data = np.frombuffer(chr(point).encode(), np.uint8)
        assert code_point(data, 0, data.size) == (point, data.size)
    for wrong in (
        b"\xc0\x80",
        b"\xe0\x80\x80",
        b"\xed\xa0\x80",
        b"\xf0\x80\x80\x80",
        b"\xf4\x90\x80\x80",
        b"\xc3",
        b"\x80",
    ):
        assert code_point(np.frombuffer(wrong, np.uint8), 0, len(wrong)) == (-1, -1)
