"""Copies bytes, and puts a long text together out of few different pieces."""

import numpy as np

from freshet.kernels.jit import njit


@njit
def copy_bytes(data, start, end, out, at):
    """Copies data[start:end] to out[at:] and returns where it ends. Compiles much faster than assigning a slice."""
    for i in range(end - start):
        out[at + i] = data[start + i]
    return at + end - start


@njit
def join_pieces(heap, offsets, numbers):
    """The pieces with these numbers one after another; piece p is heap[offsets[p]:offsets[p + 1]]."""
    size = np.int64(0)
    for number in numbers:
        size += offsets[number + 1] - offsets[number]
    out = np.empty(size, np.uint8)
    at = np.int64(0)
    for number in numbers:
        at = copy_bytes(heap, offsets[number], offsets[number + 1], out, at)
    return out
