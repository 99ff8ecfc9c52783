"""JSON lines: what references find in each line, as places in its bytes.

A line is one object and nothing else, in UTF-8; all of it is checked, also what no reference names. Values are not
converted: a number keeps the digits it was written with, an object or an array is the text that it is.

References are the leaves of a tree of member names (`PathTree`). Where an object has a name twice, the last counts.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.jit import njit
from freshet.kernels.json_values import (
    DEEPEST,
    ESCAPED,
    NESTED,
    NOTHING,
    PLAIN,
    STRING,
    read_member,
    read_nested,
    read_scalar,
    skip_blanks,
    unescape,
)

_IN_IRIS = np.array([chr(byte) in "-._~" or (byte < 128 and chr(byte).isalnum()) for byte in range(256)])

# What is known of a name: the columns of `PathTree.names`.
WORD = 0  # its first eight bytes
LENGTH = 1  # in bytes
START = 2  # where its bytes begin in `PathTree.data`
REFERENCE = 3  # the number of the reference that it ends, or -1
BELOW = 4  # the node for the members of what it stands for, or -1


class PathTree(NamedTuple):
    """Names by node: the names of node n are those from firsts[n] to firsts[n + 1]; node 0 is the whole line.

    There are few arrays, and functions that are called for every member take the arrays one by one: each array that is
    taken out of a tuple is counted as in use, which would be half of the time that a line takes.
    """

    firsts: np.ndarray
    names: np.ndarray  # int64 [name, column]
    inside: np.ndarray  # bool [node, reference]: whether the reference goes through the node
    data: np.ndarray  # uint8, the bytes of all names


@njit
def first_word(data, start, end):
    """The first eight bytes of data[start:end] as one number, 0 for those that are not there."""
    word, shift = np.uint64(0), np.uint64(0)
    at = np.uint64(start)
    stop = np.uint64(min(end, start + 8))
    while at < stop:
        word |= np.uint64(data[at]) << shift
        at += np.uint64(1)
        shift += np.uint64(8)
    return np.int64(word)


@njit
def same_bytes(left_data, left, right_data, right, length):
    same = True
    left, right = np.uint64(left), np.uint64(right)
    for i in range(np.uint64(length)):
        same &= left_data[left + i] == right_data[right + i]
    return same


@njit
def _find_plain(names, name_data, first, stop, data, start, end):
    """Which of the names from `first` up to `stop` the bytes data[start:end] are, or -1."""
    word, length = first_word(data, start, end), end - start
    for name in range(first, stop):
        same = names[name, WORD] == word and names[name, LENGTH] == length
        if same and (length <= 8 or same_bytes(name_data, names[name, START], data, start, length)):
            return name
    return np.int64(-1)


@njit
def _find_escaped(names, name_data, first, stop, data, start, end):
    plain = np.empty(end - start, np.uint8)
    length = unescape(data, start, end, plain, np.int64(0))
    return _find_plain(names, name_data, first, stop, plain, np.int64(0), length)


@njit
def _scan_line(firsts, names, inside, name_data, data, at, end, starts, ends, kinds, line, open_nodes, open_objects):
    """Finds the references of one line. Says whether the line is one object."""
    at = skip_blanks(data, at, end)
    if at >= end or data[at] != ord("{"):
        return False
    depth = 0
    open_nodes[0] = 0
    at = skip_blanks(data, at + 1, end)
    empty = at < end and data[at] == ord("}")
    while True:
        if not empty:
            first = at + 1
            last, kind, at = read_member(data, at, end)
            if at < 0:
                return False
            node = open_nodes[depth]
            if kind == ESCAPED:
                name = _find_escaped(names, name_data, firsts[node], firsts[node + 1], data, first, last)
            else:
                name = _find_plain(names, name_data, firsts[node], firsts[node + 1], data, first, last)
            below = names[name, BELOW] if name >= 0 else np.int64(-1)
            if below >= 0:  # what an earlier member of this name had is gone
                for reference in range(kinds.shape[0]):
                    if inside[below, reference]:
                        kinds[reference, line] = NOTHING
            if data[at] == ord("{") and below >= 0:
                depth += 1
                open_nodes[depth] = below
                at = skip_blanks(data, at + 1, end)
                if at >= end or data[at] != ord("}"):
                    continue
            else:
                first = at
                if data[at] == ord("{") or data[at] == ord("["):
                    kind = NESTED
                    at = read_nested(data, at, end, open_objects)
                else:
                    at, kind = read_scalar(data, at, end)
                if at < 0:
                    return False
                if name >= 0 and names[name, REFERENCE] >= 0:
                    quoted = 1 if kind in (STRING, ESCAPED) else 0
                    reference = names[name, REFERENCE]
                    starts[reference, line] = first + quoted
                    ends[reference, line] = at - quoted
                    kinds[reference, line] = kind
        empty = False
        while True:
            at = skip_blanks(data, at, end)
            if at >= end:
                return False
            if data[at] == ord(","):
                break
            if data[at] != ord("}"):
                return False
            at += 1
            if depth == 0:
                return skip_blanks(data, at, end) == end
            depth -= 1
        at = skip_blanks(data, at + 1, end)


@njit
def scan_lines(tree, data, line_starts, line_ends, starts, ends, kinds, good):
    """For each line: whether it is one object, and what its references find (arrays [reference, line])."""
    firsts, names, inside, name_data = tree
    open_nodes = np.empty(firsts.size, np.int64)
    open_objects = np.empty(DEEPEST, np.bool_)
    for line in range(line_starts.size):
        for reference in range(kinds.shape[0]):
            kinds[reference, line] = NOTHING
        at, end = line_starts[line], line_ends[line]
        good[line] = _scan_line(
            firsts, names, inside, name_data, data, at, end, starts, ends, kinds, line, open_nodes, open_objects
        )


@njit
def write_texts(data, starts, ends, kinds, wanted, out, offsets):
    """Writes what one reference finds in wanted lines, one text after another, strings without their escapes.

    Text i is out[offsets[i]:offsets[i + 1]]; nothing where the reference finds nothing. Strings that are plain get that
    kind.
    """
    at = np.uint64(0)
    for line in range(kinds.size):
        offsets[line] = at
        if not wanted[line] or kinds[line] == NOTHING:
            continue
        if kinds[line] == ESCAPED:
            at = np.uint64(unescape(data, starts[line], ends[line], out, np.int64(at)))
            continue
        plain = True
        for i in range(np.uint64(starts[line]), np.uint64(ends[line])):
            plain &= _IN_IRIS[data[i]]
            out[at] = data[i]
            at += np.uint64(1)
        if plain and kinds[line] == STRING:
            kinds[line] = PLAIN
    offsets[kinds.size] = at
