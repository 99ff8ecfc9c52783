"""Rows in order, with their ranks: a binary search tree whose nodes are rows, balanced by chance (a treap).

Among all rows below a node none has a lower priority than it, and priorities are a hash of the row's number: so the
tree is as deep as one that rows came to in random order, some 2 ln n, whatever order they come in. A node knows how
many rows are on its left: so rows have ranks, and can be found by them, on the way down or up.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.jit import inlined, leaf
from freshet.kernels.order_keys import precedes
from freshet.kernels.prefetch import fetch

NIL = np.int32(-1)

# Columns of `TreeArrays.links`.
_LEFT = 0
_RIGHT = 1
_PARENT = 2
_BEFORE = 3  # how many rows are on the left
LINK_WIDTH = 4

# Places in `TreeArrays.sizes`.
_ROOT = 0
COUNT = 1


class TreeArrays(NamedTuple):
    """Links between rows, by their numbers."""

    links: np.ndarray  # int32 [row, 4]: left, right, parent or NIL; rows on the left
    sizes: np.ndarray  # int64: the root or NIL, how many rows


@inlined
def _priority(row):
    h = np.uint64(row + 1) * np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(32)
    h *= np.uint64(0xD6E8FEB86659FD93)
    return h >> np.uint64(32)


@leaf
def _put_in_place(tree, parent, old, new):
    """Make `new` the child of a parent, or the root, where `old` is."""
    links, sizes = tree
    if parent == NIL:
        sizes[_ROOT] = new
    elif links[parent, _LEFT] == old:
        links[parent, _LEFT] = new
    else:
        links[parent, _RIGHT] = new
    if new != NIL:
        links[new, _PARENT] = parent


@leaf
def _rotate_up(tree, row):
    """A row and its parent change places; the order stays."""
    links = tree.links
    parent = links[row, _PARENT]
    above = links[parent, _PARENT]
    if links[parent, _LEFT] == row:
        inner = links[row, _RIGHT]
        links[parent, _LEFT] = inner
        links[row, _RIGHT] = parent
        links[parent, _BEFORE] -= links[row, _BEFORE] + 1
    else:
        inner = links[row, _LEFT]
        links[parent, _RIGHT] = inner
        links[row, _LEFT] = parent
        links[row, _BEFORE] += links[parent, _BEFORE] + 1
    if inner != NIL:
        links[inner, _PARENT] = parent
    _put_in_place(tree, above, parent, row)
    links[parent, _PARENT] = row


@leaf
def tree_insert(tree, keys, texts, first, row):
    """Put a row in its place (see `precedes` for `first`); gives its rank."""
    links, sizes = tree
    width = keys.shape[1]
    parent, node, side, rank = NIL, np.int32(sizes[_ROOT]), _LEFT, np.int64(0)
    while node != NIL:
        parent = node
        fetch(keys, max(links[node, _LEFT], 0) * width)
        fetch(keys, max(links[node, _RIGHT], 0) * width)
        if precedes(keys, texts, first, row, node):
            side = _LEFT
            links[node, _BEFORE] += 1
        else:
            side = _RIGHT
            rank += links[node, _BEFORE] + 1
        node = links[node, side]
    links[row, _LEFT] = links[row, _RIGHT] = NIL
    links[row, _PARENT] = parent
    links[row, _BEFORE] = 0
    if parent == NIL:
        sizes[_ROOT] = row
    else:
        links[parent, side] = row
    while links[row, _PARENT] != NIL and _priority(row) < _priority(links[row, _PARENT]):
        _rotate_up(tree, row)
    sizes[COUNT] += 1
    return rank


@leaf
def tree_build(tree, rows, count, spine):
    """Make the tree of rows that are in order; `spine` has room for as many numbers."""
    links, sizes = tree
    depth = 0  # of the way from the root to the right, whose rows' places are in `spine`
    for at in range(count):
        row, left = rows[at], NIL
        while depth > 0 and _priority(row) < _priority(rows[spine[depth - 1]]):
            depth -= 1
            left = rows[spine[depth]]
        above = spine[depth - 1] if depth > 0 else -1
        links[row, _LEFT], links[row, _RIGHT], links[row, _BEFORE] = left, NIL, at - above - 1
        links[row, _PARENT] = rows[above] if depth > 0 else NIL
        if left != NIL:
            links[left, _PARENT] = row
        if depth > 0:
            links[rows[above], _RIGHT] = row
        spine[depth] = at
        depth += 1
    sizes[_ROOT] = rows[spine[0]] if count > 0 else NIL
    sizes[COUNT] = count


@leaf
def tree_remove(tree, row):
    """Take a row out; gives the rank that it had."""
    links, sizes = tree
    while links[row, _LEFT] != NIL and links[row, _RIGHT] != NIL:
        left, right = links[row, _LEFT], links[row, _RIGHT]
        _rotate_up(tree, left if _priority(left) < _priority(right) else right)
    rank = np.int64(links[row, _BEFORE])
    node, parent = row, links[row, _PARENT]
    while parent != NIL:
        if links[parent, _LEFT] == node:
            links[parent, _BEFORE] -= 1
        else:
            rank += links[parent, _BEFORE] + 1
        node, parent = parent, links[parent, _PARENT]
    only = links[row, _LEFT] if links[row, _LEFT] != NIL else links[row, _RIGHT]
    _put_in_place(tree, links[row, _PARENT], row, only)
    sizes[COUNT] -= 1
    return rank


@leaf
def tree_select(tree, rank):
    """The row of a rank, which must be there."""
    links = tree.links
    node = np.int32(tree.sizes[_ROOT])
    while links[node, _BEFORE] != rank:
        if rank < links[node, _BEFORE]:
            node = links[node, _LEFT]
        else:
            rank -= links[node, _BEFORE] + 1
            node = links[node, _RIGHT]
    return node


@leaf
def tree_seek(tree, keys, column, least):
    """The first row whose key in a column, by which rows are ordered, is not below a number; or NIL."""
    links = tree.links
    node, found = np.int32(tree.sizes[_ROOT]), NIL
    while node != NIL:
        if keys[node, column] >= least:
            found, node = node, links[node, _LEFT]
        else:
            node = links[node, _RIGHT]
    return found


@leaf
def _beside(tree, row, side, other):
    """The next row on a side, or NIL."""
    links = tree.links
    node = links[row, side]
    if node != NIL:
        while links[node, other] != NIL:
            node = links[node, other]
        return node
    node, parent = row, links[row, _PARENT]
    while parent != NIL and links[parent, side] == node:
        node, parent = parent, links[parent, _PARENT]
    return parent


@leaf
def tree_next(tree, row):
    """The row behind another, or NIL."""
    return _beside(tree, row, _RIGHT, _LEFT)


@leaf
def tree_previous(tree, row):
    """The row before another, or NIL."""
    return _beside(tree, row, _LEFT, _RIGHT)
