"""The first member of each group: a pairing heap a group, all of them in one array of links.

Who enters is compared with the first and becomes its child, or its parent: constant time. Who leaves, from wherever it
stands, is cut out and its children are melded in pairs, then those pairs from the last on: log n on average over what
happens to a group of n members, whether or not it was the first that left. No group is ever searched.

A heap is where its links stand: at LEAST_LINKS or GREATEST_LINKS of a member's halves.
"""

from freshet.kernels.jit import inlined, leaf
from freshet.kernels.members import LEAST_LINKS, NIL, compare_members

# Links, counted from where they begin; NIL where there is none.
_CHILD = 0  # the first
_NEXT = 1  # sibling
_PREVIOUS = 2  # sibling; the parent, for the first of its children


@inlined
def _meld(words, halves, texts, links, one, other):
    """One heap out of two, neither of which has siblings."""
    if one == NIL:
        return other
    if other == NIL:
        return one
    if compare_members(words, halves, texts, other, one) == (-1 if links == LEAST_LINKS else 1):
        one, other = other, one
    child = halves[one, links + _CHILD]
    if child != NIL:
        halves[child, links + _PREVIOUS] = other
    halves[other, links + _NEXT] = child
    halves[other, links + _PREVIOUS] = one
    halves[one, links + _CHILD] = other
    return one


@leaf
def _meld_siblings(words, halves, texts, links, node):
    """One heap out of a chain of siblings: in pairs, which are chained the other way round, and those one by one."""
    pairs = NIL
    while node != NIL:
        other, following = halves[node, links + _NEXT], NIL
        halves[node, links + _NEXT] = NIL
        if other != NIL:
            following = halves[other, links + _NEXT]
            halves[other, links + _NEXT] = NIL
        pair = _meld(words, halves, texts, links, node, other)
        halves[pair, links + _NEXT] = pairs
        pairs = pair
        node = following
    root = NIL
    while pairs != NIL:
        following = halves[pairs, links + _NEXT]
        halves[pairs, links + _NEXT] = NIL
        root = _meld(words, halves, texts, links, root, pairs)
        pairs = following
    return root


@leaf
def heap_add(words, halves, texts, links, root, entry):
    """A member enters the heap with this root; gives its new root."""
    halves[entry, links + _CHILD] = halves[entry, links + _NEXT] = NIL
    return _meld(words, halves, texts, links, root, entry)


@inlined
def _cut(halves, links, entry):
    """Take an entry that is not the first, with its children, out of the chain of its siblings."""
    previous, following = halves[entry, links + _PREVIOUS], halves[entry, links + _NEXT]
    if halves[previous, links + _CHILD] == entry:
        halves[previous, links + _CHILD] = following
    else:
        halves[previous, links + _NEXT] = following
    if following != NIL:
        halves[following, links + _PREVIOUS] = previous


@leaf
def heap_remove(words, halves, texts, links, root, entry):
    """A member leaves the heap with this root; gives its new root."""
    if entry == root:
        root = NIL
    else:
        _cut(halves, links, entry)
    orphans = _meld_siblings(words, halves, texts, links, halves[entry, links + _CHILD])
    return _meld(words, halves, texts, links, root, orphans)
