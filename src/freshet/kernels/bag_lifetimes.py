"""Lives of the rows of a bag: rows come, and rows equal to some that are there go, each at its moment.

`ring` is a ring index over all columns (IndexArrays, then RingArrays): the rows of each value that live, newest first.
"""

from freshet.kernels.index import IndexArrays, RingArrays, _entry_of, _key_hash, pop_newest, push_newest
from freshet.kernels.jit import njit

OPEN = 2**63 - 1


@njit
def bag_step(ring, born, died, came, came_at, rows, went, went_at, dead):
    """Take a batch in: row came[i] gets the number rows[i]; of each row that goes the newest equal one dies.

    Fills in the rows that die; gives how many rows that go had never come.
    """
    index = IndexArrays(ring[0], ring[1], ring[2], ring[3], ring[4])
    links = RingArrays(ring[5], ring[6], ring[7])
    at = out = strangers = 0
    while at < came_at.shape[0] or out < went_at.shape[0]:
        if out == went_at.shape[0] or (at < came_at.shape[0] and came_at[at] <= went_at[out]):
            row = rows[at]
            push_newest(index, links, _entry_of(index, came, at, _key_hash(came, at)), row)
            born[row] = came_at[at]
            died[row] = OPEN
            at += 1
            continue
        dead[out] = pop_newest(index, links, went, out)
        if dead[out] < 0:
            strangers += 1
        else:
            died[dead[out]] = went_at[out]
        out += 1
    return strangers
