"""When a query is evaluated: the moments of a batch at which its windows move.

Elements enter and leave windows at moments that are in order, window after window in one array cut at `ends`. A window
with a slide closes at regular times; others move when an element enters.
"""

import numpy as np

from freshet.kernels.jit import inlined, njit

NEVER = 2**63 - 1

# Places in `state`.
LAST = 0  # the last moment that was visited
RESTS = 1  # whether nothing was in any window at the last evaluation
ENDED = 2  # the watermark at the end of the streams, NEVER before
LATEST = 3  # the latest time of an element
EMPTY = 5  # when an element left last a window that closes
CHANGED = 4  # whether an element has entered or left since the last evaluation


@inlined
def _close_after(time_ms, slide_ms, start_ms):
    return time_ms + slide_ms - (time_ms - start_ms) % slide_ms


@inlined
def _is_change(held, more, less):
    """Whether an element of those held leaves, or one enters that does not leave at once."""
    return less > more or (held > 0 and less > 0) or more > less


@njit
def _next_birth(entering, at, end, leaving, order, leaving_end):
    """When the first element enters that has a life: what falls between two windows is never inside.

    Elements leave in the order in which they enter, the next one that enters as number `order`.
    """
    while at < end:
        if order >= leaving_end or leaving[order] > entering[at]:
            return entering[at]
        at += 1
        order += 1
    return NEVER


@njit
def due_moments(windows, entering, entering_ends, leaving, leaving_ends, held, state, period_ms, last):
    """The moments up to `last` at which the query is evaluated, the number of elements in all windows at each, and
    whether any entered or left since the one before, one below the other.

    `windows` has slide and start of each, a slide of 0 where it moves with its elements; `held` how many elements each
    has had before the batch, and then has. With a period evaluations are at its multiples.
    """
    count = windows.shape[0]
    at, out = entering_ends[:count].copy(), leaving_ends[:count].copy()
    due = np.empty((3, 16), np.int64)
    found = 0
    is_changed = state[CHANGED] == 1
    total = np.int64(0)
    for window in range(count):
        total += held[window]
    while True:
        time_ms = state[LAST] >> 1
        moment = NEVER
        closing_held = False
        closing_to_come = False
        for window in range(count):
            coming = entering[at[window]] if at[window] < entering_ends[window + 1] else NEVER
            if windows[window, 0] == 0:
                moment = min(moment, coming)
            else:
                closing_held |= held[window] > 0
        close = NEVER
        for window in range(count):
            slide_ms, start_ms = windows[window]
            if slide_ms == 0:
                continue
            coming = _next_birth(
                entering, at[window], entering_ends[window + 1], leaving, out[window] + held[window],
                leaving_ends[window + 1],
            )  # fmt: skip
            closing_to_come |= coming != NEVER
            is_filled = total > 0 or state[RESTS] == 0  # elements can leave between two evaluations
            close = min(close, 2 * _close_after(time_ms, slide_ms, start_ms) if is_filled else coming)
        if period_ms > 0 and (total > 0 or state[RESTS] == 0):
            close = min(close, 2 * ((time_ms // period_ms + 1) * period_ms))
        if close != NEVER and state[ENDED] != NEVER and close > 2 * state[ENDED]:
            # The streams have ended: closes go on up to the latest element, or with a period up to the first that
            # sees it, and until windows are reported as empty.
            until_ms = state[LATEST]
            if period_ms > 0:
                until_ms = -(-max(state[EMPTY], state[LATEST] + 1) // period_ms) * period_ms
            if not (closing_held or closing_to_come or (close >> 1) <= until_ms):
                close = NEVER
        moment = min(moment, close)
        if moment > last:
            break
        moving = False
        for window in range(count):
            slide_ms, start_ms = windows[window]
            entered = at[window]
            while at[window] < entering_ends[window + 1] and entering[at[window]] <= moment:
                at[window] += 1
            left = out[window]
            while out[window] < leaving_ends[window + 1] and leaving[out[window]] <= moment:
                out[window] += 1
            more, less = at[window] - entered, out[window] - left
            held[window] += more - less
            total += more - less
            is_changed |= _is_change(held[window] - more + less, more, less)
            if slide_ms == 0:
                moving |= more > 0
            else:
                moving |= moment & 1 == 0 and ((moment >> 1) - start_ms) % slide_ms == 0
                if less > 0:
                    state[EMPTY] = max(state[EMPTY], moment >> 1)
        state[LAST] = moment
        if period_ms == 0:
            if not moving:
                continue
        elif moment & 1 == 1 or (moment >> 1) % period_ms != 0:
            continue
        rested = state[RESTS] == 1
        state[RESTS] = 1 if total == 0 else 0
        if rested and total == 0:
            continue
        if found == due.shape[1]:
            due = _first_columns(due, found, 2 * found)
        due[0, found], due[1, found], due[2, found] = moment, total, is_changed
        found += 1
        is_changed = False
    for window in range(count):
        more, less = entering_ends[window + 1] - at[window], leaving_ends[window + 1] - out[window]
        is_changed |= _is_change(held[window], more, less)
        held[window] += more - less
    state[CHANGED] = is_changed
    return _first_columns(due, found, found)


@njit
def _first_columns(matrix, count, width):
    columns = np.empty((matrix.shape[0], width), np.int64)
    for row in range(matrix.shape[0]):
        for column in range(count):
            columns[row, column] = matrix[row, column]
    return columns
