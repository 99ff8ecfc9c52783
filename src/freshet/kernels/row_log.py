"""A log of rows in the order in which they came, from which they go again: mostly the oldest first.

The log has a column of ids in each row of `columns`. Rows from `head` on live. When a row goes that is not the one at
the head, those before it are passed over: they are found through a ring index from then on (`late`: IndexArrays, then
RingArrays over places in the log), so that each row is looked at a few times, in whatever order rows go.
"""

import numpy as np

from freshet.kernels.index import FREE, USED, IndexArrays, RingArrays, _entry_of, _key_hash, pop_newest, push_newest
from freshet.kernels.jit import leaf, njit

# What `rows_go` gives.
AT, HEAD, LATE, PASSED = 0, 1, 2, 3


@leaf
def _pass_over(index, links, columns, row, key):
    """A row is late from now on; `key` is room for one."""
    for column in range(columns.shape[0]):
        key[0, column] = columns[column, row]
    push_newest(index, links, _entry_of(index, key, 0, _key_hash(key, 0)), row)


@njit
def rows_go(late, columns, died, end, went, went_at, place):
    """Let rows go from place[AT] on, in order: each is a late one, or the first equal one from place[HEAD] on.

    `died` gets the moments. Stops at a row that is not there, and where no more late rows fit. `place` has how many
    rows have gone, the head of the log, how many rows are late, and how many were passed over.
    """
    index = IndexArrays(late[0], late[1], late[2], late[3], late[4])
    links = RingArrays(late[5], late[6], late[7])
    width = columns.shape[0]
    key = np.empty((1, width), np.int64)
    at, head, count = place[AT], place[HEAD], place[LATE]
    while at < went.shape[0]:
        row = np.int64(-1)
        if count > 0:
            row = pop_newest(index, links, went, at)
            count -= row >= 0
        while row < 0 and head < end:
            same = True
            for column in range(width):
                same &= columns[column, head] == went[at, column]
            if same:
                row = head
            else:
                room = index.counts.shape[0] - index.sizes[USED] + index.sizes[FREE]
                if room == 0 or head >= links.entries.shape[0]:
                    break
                _pass_over(index, links, columns, head, key)
                count += 1
                place[PASSED] += 1
            head += 1
        if row < 0:
            break
        died[row] = went_at[at]
        at += 1
    place[AT], place[HEAD], place[LATE] = at, head, count


@njit
def living_rows(columns, died, firsts, ends, moments):
    """For each moment the rows that live at it, of those from one place to another: their columns, and where the rows
    of each moment begin in them, with the end of the last.
    """
    most = 0
    for at in range(moments.shape[0]):
        most += max(ends[at] - firsts[at], 0)
    rows = np.empty(most, np.int64)
    offsets = np.zeros(moments.shape[0] + 1, np.int64)
    count = 0
    for at in range(moments.shape[0]):
        for row in range(firsts[at], ends[at]):
            rows[count] = row
            count += died[row] > moments[at]
        offsets[at + 1] = count
    found = np.empty((columns.shape[0], count), np.int64)
    for column in range(columns.shape[0]):
        for place in range(count):
            found[column, place] = columns[column, rows[place]]
    return found, offsets
