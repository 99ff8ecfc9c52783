"""Copies bytes, and puts a long text together out of few different pieces."""

import numpy as np

from freshet.kernels.hashing import word_64
from freshet.kernels.jit import leaf, njit


@leaf
def put_word(out, at, word):
    """Writes eight bytes; compiles to a single store."""
    for i in range(8):
        out[at + np.uint64(i)] = (word >> np.uint64(8 * i)) & np.uint64(255)


@leaf
def copy_bytes(data, start, end, out, at):
    """Copies data[start:end] to out[at:] and returns where it ends. Compiles much faster than assigning a slice."""
    length = end - start
    if length < 8:
        for i in range(length):
            out[at + i] = data[start + i]
        return at + length
    source, target = np.uint64(start), np.uint64(at)
    last = np.uint64(length - 8)
    word = np.uint64(0)
    while word < last:
        put_word(out, target + word, word_64(data, source + word))
        word += np.uint64(8)
    put_word(out, target + last, word_64(data, source + last))
    return at + length


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
