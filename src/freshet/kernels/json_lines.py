"""JSON lines: what references find in each line, as places in its bytes.

A line is one object and nothing else, in UTF-8; everything in it is checked, also what nobody refers to. Values are not
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
    STRING,
    read_member,
    read_nested,
    read_scalar,
    skip_blanks,
    unescape,
)


class PathTree(NamedTuple):
    """Names by node: the names of node n are those from firsts[n] to firsts[n + 1]; node 0 is the whole line."""

    firsts: np.ndarray
    data: np.ndarray  # uint8, the bytes of all names
    starts: np.ndarray
    ends: np.ndarray
    references: np.ndarray  # the number of the reference that a name ends, or -1
    below: np.ndarray  # the node for the members of what a name stands for, or -1
    inside: np.ndarray  # bool [node, reference]: whether the reference goes through the node


@njit
def _same_bytes(tree, name, data, start, end):
    if tree.ends[name] - tree.starts[name] != end - start:
        return False
    same = True
    for i in range(end - start):
        same &= tree.data[tree.starts[name] + i] == data[start + i]
    return same


@njit
def _find_name(tree, node, data, start, end, kind):
    """Which of a node's names a member has, or -1."""
    plain = np.empty(end - start if kind == ESCAPED else 0, np.uint8)
    length = unescape(data, start, end, plain, np.int64(0)) if kind == ESCAPED else np.int64(0)
    for name in range(tree.firsts[node], tree.firsts[node + 1]):
        if kind == ESCAPED:
            if _same_bytes(tree, name, plain, np.int64(0), length):
                return name
        elif _same_bytes(tree, name, data, start, end):
            return name
    return -1


@njit
def _scan_line(tree, data, at, end, starts, ends, kinds, line, open_nodes, open_objects):
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
            name = _find_name(tree, open_nodes[depth], data, first, last, kind)
            if name >= 0 and tree.below[name] >= 0:  # what an earlier member of this name had is gone
                for reference in range(kinds.shape[0]):
                    if tree.inside[tree.below[name], reference]:
                        kinds[reference, line] = NOTHING
            if data[at] == ord("{") and name >= 0 and tree.below[name] >= 0:
                depth += 1
                open_nodes[depth] = tree.below[name]
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
                if name >= 0 and tree.references[name] >= 0:
                    quoted = 1 if kind in (STRING, ESCAPED) else 0
                    starts[tree.references[name], line] = first + quoted
                    ends[tree.references[name], line] = at - quoted
                    kinds[tree.references[name], line] = kind
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
    open_nodes = np.empty(tree.firsts.size, np.int64)
    open_objects = np.empty(DEEPEST, np.bool_)
    for line in range(line_starts.size):
        for reference in range(kinds.shape[0]):
            kinds[reference, line] = NOTHING
        first, last = line_starts[line], line_ends[line]
        good[line] = _scan_line(tree, data, first, last, starts, ends, kinds, line, open_nodes, open_objects)


@njit
def write_texts(data, starts, ends, kinds, good, out, offsets):
    """Writes what one reference finds in good lines, one text after another, strings without their escapes.

    Text i is out[offsets[i]:offsets[i + 1]]; nothing where the reference finds nothing.
    """
    at = np.int64(0)
    for line in range(kinds.size):
        offsets[line] = at
        if not good[line] or kinds[line] == NOTHING:
            continue
        if kinds[line] == ESCAPED:
            at = unescape(data, starts[line], ends[line], out, at)
            continue
        for i in range(starts[line], ends[line]):
            out[at] = data[i]
            at += 1
    offsets[kinds.size] = at
