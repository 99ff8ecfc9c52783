"""The first member of each group: a pairing heap a group, all of them in one array of links.

Who enters is compared with the first and becomes its child, or its parent: constant time. Who leaves, from wherever it
stands, is cut out and its children are melded in pairs, then those pairs from the last on: log n on average over what
happens to a group of n members, whether or not it was the first that left. No group is ever searched.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.jit import inlined, njit
from freshet.kernels.members import NOBODY, compare_members

# Which member is the first: the sign of a comparison with those behind it.
LEAST = -1
GREATEST = 1

# Columns of `HeapArrays.links`.
_CHILD = 0
_NEXT = 1
_PREVIOUS = 2  # the parent, for the first of its children


class HeapArrays(NamedTuple):
    """Members by entry number, groups by theirs."""

    links: np.ndarray  # int32 [entry, 3]: first child, next sibling, previous sibling or parent; or NOBODY
    roots: np.ndarray  # int32, one a group: the entry of the first member, or NOBODY


@inlined
def _meld(links, order, ids, dictionary, first, one, other):
    """One heap out of two, neither of which has siblings."""
    if one == NOBODY:
        return other
    if other == NOBODY:
        return one
    if compare_members(order, ids, dictionary, other, one) == first:
        one, other = other, one
    child = links[one, _CHILD]
    if child != NOBODY:
        links[child, _PREVIOUS] = other
    links[other, _NEXT] = child
    links[other, _PREVIOUS] = one
    links[one, _CHILD] = other
    return one


@njit
def _meld_siblings(links, order, ids, dictionary, first, node):
    """One heap out of a chain of siblings: in pairs, which are chained the other way round, and those one by one."""
    pairs = NOBODY
    while node != NOBODY:
        other, following = links[node, _NEXT], NOBODY
        links[node, _NEXT] = NOBODY
        if other != NOBODY:
            following = links[other, _NEXT]
            links[other, _NEXT] = NOBODY
        pair = _meld(links, order, ids, dictionary, first, node, other)
        links[pair, _NEXT] = pairs
        pairs = pair
        node = following
    root = NOBODY
    while pairs != NOBODY:
        following = links[pairs, _NEXT]
        links[pairs, _NEXT] = NOBODY
        root = _meld(links, order, ids, dictionary, first, root, pairs)
        pairs = following
    return root


@njit
def heap_add(heap, members, dictionary, first, entries, groups):
    """Members enter the heaps of their groups."""
    links, roots = heap
    order, ids = members.order, members.ids
    for row in range(entries.size):
        entry, group = entries[row], groups[row]
        links[entry, _CHILD] = links[entry, _NEXT] = NOBODY
        roots[group] = _meld(links, order, ids, dictionary, first, roots[group], entry)


@inlined
def _cut(links, entry):
    """Take an entry that is not the first, with its children, out of the chain of its siblings."""
    previous, following = links[entry, _PREVIOUS], links[entry, _NEXT]
    if links[previous, _CHILD] == entry:
        links[previous, _CHILD] = following
    else:
        links[previous, _NEXT] = following
    if following != NOBODY:
        links[following, _PREVIOUS] = previous


@njit
def heap_remove(heap, members, dictionary, first, entries, pairs):
    """Members leave; `pairs` has the group and the id of every entry. Who is counted in no group is gone already."""
    links, roots = heap
    order, ids, counts = members.order, members.ids, members.counts
    for entry in entries:
        group = pairs[entry, 0]
        if pairs[entry, 1] == 0:
            continue
        if counts[group] == 0:
            roots[group] = NOBODY
            continue
        root = roots[group]
        if entry == root:
            root = NOBODY
        else:
            _cut(links, entry)
        orphans = _meld_siblings(links, order, ids, dictionary, first, links[entry, _CHILD])
        roots[group] = _meld(links, order, ids, dictionary, first, root, orphans)
