"""Percent-encoding of texts that go into IRIs (RFC 3987): everything but iunreserved characters is escaped."""

import numpy as np

from freshet.kernels.jit import njit

_HIGH = 128  # bytes from here on are of characters beyond ASCII, which stay


def _kept() -> np.ndarray:
    kept = np.zeros(256, np.bool_)
    kept[_HIGH:] = True
    for character in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~":
        kept[character] = True
    return kept


KEPT = _kept()
_DIGITS = np.frombuffer(b"0123456789ABCDEF", np.uint8)


@njit
def encoded_sizes(data, starts, ends, offsets):
    """Where each encoded text ends; a text that starts at -1 is none."""
    at = 0
    offsets[0] = 0
    for row in range(starts.size):
        if starts[row] >= 0:
            for place in range(starts[row], ends[row]):
                at += 1 if KEPT[data[place]] else 3
        offsets[row + 1] = at


@njit
def encode(data, starts, ends, out):
    """Write the encoded texts one after the other."""
    at = 0
    for row in range(starts.size):
        if starts[row] < 0:
            continue
        for place in range(starts[row], ends[row]):
            byte = data[place]
            if KEPT[byte]:
                out[at] = byte
                at += 1
            else:
                out[at] = 37
                out[at + 1] = _DIGITS[byte >> 4]
                out[at + 2] = _DIGITS[byte & 15]
                at += 3
