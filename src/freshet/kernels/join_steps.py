"""The multiway join of a batch: all probes of all inputs in one call.

A join is described by arrays, with records of its buffers (`freshet.kernels.records`) in them:

    inputs  the address of each input's record, and whether Python begins with its rows
    steps   for each way to probe an input: see the names below
    keys    which columns of which inputs have the keys of steps
    masks   for sets of inputs that are joined (as bits): where the steps begin that can follow, and how many they are

What a kernel cannot do (conditions, stored graphs, ranges, keys with many more rows than others) Python does for the
partial results that it is given back, with the reason.
"""

import numpy as np

from freshet.kernels.index import ring_counts, ring_probe
from freshet.kernels.jit import njit
from freshet.kernels.order import never_falls
from freshet.kernels.pointers import FREE, USED, results_add, results_end
from freshet.kernels.records import (
    BORN,
    DEAD,
    DEAD_COUNT,
    DIED,
    FRESH,
    FRESH_COUNT,
    LARGEST,
    LIVE,
    NUMBER,
    ROOM,
    buffer_at,
    is_skewed,
    numbers_at,
    results_at,
    ring_at,
    ring_index,
    ring_links,
    rows_per_key,
    small_numbers_at,
    values_of,
)
from freshet.kernels.row_lifetimes import OPEN

# A step: which input it probes, the record of the index or 0 where there is none yet, where its keys begin in `keys`
# and how many they are, whether Python does it, and whether Python has to look at what it gives.
AT, INDEX, FIRST_KEY, KEY_COUNT, BY_PYTHON, IS_TESTED = range(6)
STEP_FIELDS = 6

# Why a kernel stops.
DONE, UNKNOWN, SKEWED, PYTHON_STEP, TEST, PYTHON_START, NO_ROOM = range(7)

# With the rows of which inputs Python begins: with none, with those that are fresh, or with others in sight as well.
OF_KERNEL, FRESH_ONLY, ALSO_OLD = range(3)

# State: which input's rows are probed with, and where these stand. BY_ITSELF: inputs before it see what begins at the
# same moment.
START, JOINED, STEP = range(3)
BY_ITSELF = -1

FEW_ROWS = 64
FEW_FOUND, FEW_FOUND_AT_ALL = 4, 256  # rows for each partial result, and for all: then no key has to choose by itself
ROWS_AT_ONCE = 1 << 22  # that are found between two looks at the deadline


@njit
def _choose(inputs, steps, masks, joined):
    """The step that may expect the fewest rows; -1 where steps are not known yet, -2 where keys have to choose."""
    for place in range(masks.shape[0]):
        if masks[place, 0] == joined:
            first, count = masks[place, 1], masks[place, 2]
            best, least = first, np.inf
            for step in range(first, first + count if count > 1 else first):
                index, cost = steps[step, INDEX], 0.0
                if steps[step, KEY_COUNT] == 0:
                    buffer = buffer_at(inputs[steps[step, AT], 0])
                    cost = np.float64(buffer[LIVE] + buffer[DEAD_COUNT])
                elif index == 0:
                    return np.int64(-1)
                else:
                    ring = ring_at(index)
                    if is_skewed(ring):
                        return np.int64(-2)
                    cost = rows_per_key(ring)
                if cost < least:
                    best, least = step, cost
            return best
    return np.int64(-1)


@njit
def _found_by(inputs, steps, keys, step, pointers):
    """How many rows a step finds for all partial results together, by the counters of their keys."""
    looked_up = _keys_of(inputs, keys, steps[step, FIRST_KEY], steps[step, KEY_COUNT], pointers)
    return ring_counts(ring_index(ring_at(steps[step, INDEX])), looked_up).sum()


@njit
def _choose_by_counts(inputs, steps, keys, masks, joined, pointers):
    """Where some keys have many rows: a step that finds few all the same; -2 where there is none for sure."""
    chosen, fewest = -2, pointers.shape[0] * FEW_FOUND + FEW_FOUND_AT_ALL
    for place in range(masks.shape[0]):
        if masks[place, 0] == joined:
            first, count = masks[place, 1], masks[place, 2]
            for step in range(first, first + count):
                if steps[step, KEY_COUNT] > 0 and steps[step, INDEX] != 0 and not steps[step, BY_PYTHON]:
                    found = _found_by(inputs, steps, keys, step, pointers)
                    if found <= fewest:
                        chosen, fewest = step, found
    return chosen


@njit
def _keys_of(inputs, keys, first, count, pointers):
    """What partial results look up."""
    found = np.empty((pointers.shape[0], count), np.int64)
    for column in range(count):
        source, place = keys[first + column, 0], keys[first + column, 1]
        values = values_of(buffer_at(inputs[source, 0]))
        for row in range(pointers.shape[0]):
            found[row, column] = values[pointers[row, source], place]
    return found


@njit
def values_pointed_to(inputs, pointers, homes):
    """The values of results, a row for each of some columns: `homes` says of which inputs these are."""
    found = np.empty((homes.shape[0], pointers.shape[0]), np.int64)
    for column in range(homes.shape[0]):
        source, place = homes[column, 0], homes[column, 1]
        values = values_of(buffer_at(inputs[source, 0]))
        for row in range(pointers.shape[0]):
            found[column, row] = values[pointers[row, source], place]
    return found


@njit
def with_rows(pointers, moments, lefts, rows, at):
    """Partial results with rows of one more input: which of them, and the row."""
    extended = np.empty((rows.shape[0], pointers.shape[1]), np.int32)
    extended_moments = np.empty(rows.shape[0], np.int64)
    for row in range(rows.shape[0]):
        left = lefts[row]
        for column in range(pointers.shape[1]):
            extended[row, column] = pointers[left, column]
        extended[row, at] = rows[row]
        extended_moments[row] = moments[left]
    return extended, extended_moments


@njit
def _probe(inputs, steps, keys, number, step, ties, pointers, moments):
    """Partial results with the rows of one more input."""
    at = steps[step, AT]
    buffer, ring = buffer_at(inputs[at, 0]), ring_at(steps[step, INDEX])
    looked_up = _keys_of(inputs, keys, steps[step, FIRST_KEY], steps[step, KEY_COUNT], pointers)
    born, died = numbers_at(buffer[BORN], buffer[ROOM]), numbers_at(buffer[DIED], buffer[ROOM])
    is_still = buffer[NUMBER] != number and buffer[DEAD_COUNT] == 0
    lefts, rows = ring_probe(ring_index(ring), ring_links(ring), looked_up, born, died, moments, ties, is_still)
    return with_rows(pointers, moments, lefts, rows, at)


@njit
def extend(inputs, steps, keys, masks, number, start, ties, joined, pointers, moments, step):
    """Partial results, of the inputs `joined`, with the rows of the others, as far as a kernel can; see `_choose`.

    `step` is the one to begin with, or -1. Gives why it stops, which inputs are joined, the step at which it stops, and
    the partial results with their moments.
    """
    everything = (1 << inputs.shape[0]) - 1
    while joined != everything and moments.shape[0] > 0:
        if step < 0:
            step = _choose(inputs, steps, masks, joined)
            if step == -2:
                step = _choose_by_counts(inputs, steps, keys, masks, joined, pointers)
            if step < 0:
                return (UNKNOWN if step == -1 else SKEWED), joined, np.int64(-1), pointers, moments
        index = steps[step, INDEX]
        if steps[step, BY_PYTHON] or index == 0:
            return PYTHON_STEP, joined, step, pointers, moments
        if moments.shape[0] > FEW_ROWS:
            could_be_many = moments.shape[0] * ring_at(index)[LARGEST] > ROWS_AT_ONCE
            if could_be_many and _found_by(inputs, steps, keys, step, pointers) > ROWS_AT_ONCE:
                return PYTHON_STEP, joined, step, pointers, moments
        at = steps[step, AT]
        seen = np.int64(at < start) if ties == BY_ITSELF else np.int64(ties)
        pointers, moments = _probe(inputs, steps, keys, number, step, seen, pointers, moments)
        joined |= 1 << at
        if steps[step, IS_TESTED]:
            return TEST, joined, step, pointers, moments
        step = np.int64(-1)
    return DONE, everything, np.int64(-1), pointers, moments


@njit
def _in_order(pointers, moments):
    """Results in the order of their moments."""
    count = moments.shape[0]
    order, other = np.empty(count, np.int64), np.empty(count, np.int64)
    for place in range(count):
        order[place] = place
    width = 1
    while width < count:
        for first in range(0, count, 2 * width):
            left, middle, end = first, min(first + width, count), min(first + 2 * width, count)
            right = middle
            for place in range(first, end):
                if right >= end or (left < middle and moments[order[left]] <= moments[order[right]]):
                    other[place] = order[left]
                    left += 1
                else:
                    other[place] = order[right]
                    right += 1
        order, other = other, order
        width *= 2
    ordered, ordered_moments = np.empty(pointers.shape, np.int32), np.empty(count, np.int64)
    for place in range(count):
        for column in range(pointers.shape[1]):
            ordered[place, column] = pointers[order[place], column]
        ordered_moments[place] = moments[order[place]]
    return ordered, ordered_moments


@njit
def _both(pointers, moments, more, more_moments):
    """Results behind others."""
    first = moments.shape[0]
    if first == 0:
        return more, more_moments
    count = first + more_moments.shape[0]
    together, together_moments = np.empty((count, pointers.shape[1]), np.int32), np.empty(count, np.int64)
    for place in range(count):
        if place < first:
            for column in range(pointers.shape[1]):
                together[place, column] = pointers[place, column]
            together_moments[place] = moments[place]
        else:
            for column in range(pointers.shape[1]):
                together[place, column] = more[place - first, column]
            together_moments[place] = more_moments[place - first]
    return together, together_moments


@njit
def _deaths(inputs, expiring, pointers):
    """When the first of each result's rows dies."""
    deaths = np.empty(pointers.shape[0], np.int64)
    for row in range(deaths.shape[0]):
        deaths[row] = OPEN
    for at in range(expiring):
        buffer = buffer_at(inputs[at, 0])
        died = numbers_at(buffer[DIED], buffer[ROOM])
        for row in range(pointers.shape[0]):
            deaths[row] = min(deaths[row], died[pointers[row, at]])
    return deaths


@njit
def _have_room(inputs, results, more):
    """Whether this many more results fit, of whatever rows the inputs have."""
    expiring, rows = results.heads.shape
    for at in range(expiring):
        if buffer_at(inputs[at, 0])[ROOM] > rows:
            return False
    return results.sizes[USED] - results.sizes[FREE] + more <= results.alive.shape[0]


@njit
def end_results(inputs, number, record, came):
    """Let results go whose rows die, keep those that came as far as they live on. Gives what goes, with its moments.

    There is room for those that came.
    """
    results = results_at(record)
    expiring = results.heads.shape[0]
    gone, gone_at = np.empty((0, came.shape[1]), np.int32), np.empty(0, np.int64)
    for at in range(expiring):
        buffer = buffer_at(inputs[at, 0])
        if buffer[NUMBER] == number and buffer[DEAD_COUNT] > 0:
            ended = results_end(results, at, small_numbers_at(buffer[DEAD], buffer[DEAD_COUNT]))
            if ended.shape[0] > 0:
                gone, gone_at = _both(gone, gone_at, ended, _deaths(inputs, expiring, ended))
    deaths = _deaths(inputs, expiring, came)
    living = 0
    for row in range(came.shape[0]):
        living += deaths[row] == OPEN
    if living == came.shape[0]:
        results_add(results, came)
    else:
        kept, brief = (
            np.empty((living, came.shape[1]), np.int32),
            np.empty((came.shape[0] - living, came.shape[1]), np.int32),
        )
        brief_at = np.empty(came.shape[0] - living, np.int64)
        lives = ends = 0
        for row in range(came.shape[0]):
            for column in range(came.shape[1]):
                if deaths[row] == OPEN:
                    kept[lives, column] = came[row, column]
                else:
                    brief[ends, column] = came[row, column]
            if deaths[row] == OPEN:
                lives += 1
            else:
                brief_at[ends] = deaths[row]
                ends += 1
        results_add(results, kept)
        gone, gone_at = _both(gone, gone_at, brief, brief_at)
    if not never_falls(gone_at):
        gone, gone_at = _in_order(gone, gone_at)
    return gone, gone_at


@njit
def join_step(inputs, steps, keys, masks, number, state, record):
    """What comes and goes in a batch, by the fresh and the dead rows of all inputs from state[START] on.

    Gives why it stops, the results that came and the moments of these, and those that go, with theirs. Where a kernel
    cannot do an input to the end it gives the results of those before (DONE, with that input as the START), or, where
    there are none, the partial results at which it stops. With 0 for the record, what goes is not reported.
    """
    count = inputs.shape[0]
    came, came_at = np.empty((0, count), np.int32), np.empty(0, np.int64)
    nothing, never = came, came_at
    for at in range(count):
        buffer = buffer_at(inputs[at, 0])
        if buffer[LIVE] + buffer[DEAD_COUNT] == 0:
            state[START] = count
    for start in range(state[START], count):
        buffer = buffer_at(inputs[start, 0])
        if buffer[NUMBER] != number or (buffer[FRESH_COUNT] == 0 and inputs[start, 1] != ALSO_OLD):
            continue
        state[START] = start
        if inputs[start, 1]:
            return (PYTHON_START if came_at.shape[0] == 0 else DONE), came, came_at, nothing, never
        rows, born = small_numbers_at(buffer[FRESH], buffer[FRESH_COUNT]), numbers_at(buffer[BORN], buffer[ROOM])
        pointers, moments = np.empty((rows.shape[0], count), np.int32), np.empty(rows.shape[0], np.int64)
        for row in range(rows.shape[0]):
            pointers[row, start] = rows[row]
            moments[row] = born[rows[row]]
        reason, joined, step, pointers, moments = extend(
            inputs, steps, keys, masks, number, start, BY_ITSELF, 1 << start, pointers, moments, -1
        )
        if reason != DONE:
            if came_at.shape[0] > 0:
                return DONE, came, came_at, nothing, never
            state[JOINED], state[STEP] = joined, step
            return reason, pointers, moments, nothing, never
        if moments.shape[0] > 0:
            came, came_at = _both(came, came_at, pointers, moments)
    state[START] = count
    if not never_falls(came_at):
        came, came_at = _in_order(came, came_at)
    if record != 0:
        if not _have_room(inputs, results_at(record), came.shape[0]):
            return NO_ROOM, came, came_at, nothing, never
        gone, gone_at = end_results(inputs, number, record, came)
        return DONE, came, came_at, gone, gone_at
    return DONE, came, came_at, nothing, never
