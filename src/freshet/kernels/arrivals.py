"""A batch of several streams' elements as arrivals at leaves: the moment of each, and where windows begin at each.

Every window is two columns. Each element has a place (its time, or its number in the stream); at each moment the window
holds what has come and is not placed before the window's start then.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.jit import inlined, njit
from freshet.kernels.jit import leaf as no_arrays

# Columns of `LeafPlans.windows`.
KIND = 0
SIZE = 1  # milliseconds or elements
SLIDE = 2  # 0 where the start does not move in steps

# Kinds of windows.
EVERYTHING = 0
LAST_MS = 1
LAST_ELEMENTS = 2

_AFTER_ALL = np.int64(2**62)
_DENSE = 4  # milliseconds an element, for which a table of all of them is filled sooner than streams are merged


class LeafPlans(NamedTuple):
    """One row a leaf."""

    streams: np.ndarray  # int64: the stream it reads
    constants: np.ndarray  # int64 [leaf, 3]: ids, 0 where a variable stands
    columns: np.ndarray  # int64 [leaf, 3]: the column of the variable at each place, or -1
    equals: np.ndarray  # int64 [leaf, 3]: the first place of the variable that stands at each place
    windows: np.ndarray  # int64 [leaf, 3]: KIND, SIZE, SLIDE
    widths: np.ndarray  # int64: how many variables it has


@no_arrays
def never_falls(times):
    """Whether no time is before the one in front of it."""
    falls = 0
    for at in range(1, times.shape[0]):
        falls += times[at] < times[at - 1]
    return falls == 0


@njit
def _dense_instants(times, ticking, first, last):
    """As `merge_instants`, where the elements that make instants, the first `ticking`, have few times between them."""
    before = np.zeros(last - first + 1, np.int64)  # whether a time is an instant, then how many instants are before it
    for at in range(ticking):
        before[times[at] - first] = 1
    instants = np.empty(ticking + 1, np.int64)
    count = np.int64(0)
    for at in range(before.shape[0]):
        instants[count] = first + at
        is_instant = before[at]
        before[at] = count
        count += is_instant
    moments = np.empty(times.shape[0], np.int64)
    for at in range(times.shape[0]):
        moments[at] = before[max(times[at] - first, 0)]
    return instants[:count].copy(), moments


@njit
def merge_instants(times, offsets, clocks):
    """The instants of a batch, and the number of the instant at which each element is first seen.

    `times` has the streams one after the other, each in order, cut at `offsets`. Elements of the first `clocks` streams
    make instants; those of the others must not be later than the last instant.
    """
    first, last = _AFTER_ALL, -_AFTER_ALL
    for stream in range(clocks):
        if offsets[stream] < offsets[stream + 1]:
            first, last = min(first, times[offsets[stream]]), max(last, times[offsets[stream + 1] - 1])
    if first <= last < first + _DENSE * offsets[clocks]:
        return _dense_instants(times, offsets[clocks], first, last)
    streams = offsets.shape[0] - 1
    ats = offsets[:streams].copy()
    nexts = np.empty(streams, np.int64)  # the next time of each stream
    for stream in range(streams):
        nexts[stream] = times[ats[stream]] if ats[stream] < offsets[stream + 1] else _AFTER_ALL
    instants = np.empty(times.shape[0], np.int64)
    moments = np.empty(times.shape[0], np.int64)
    count = 0
    while True:
        instant = _AFTER_ALL
        for stream in range(clocks):
            instant = min(instant, nexts[stream])
        if instant == _AFTER_ALL:
            return instants[:count].copy(), moments
        instants[count] = instant
        for stream in range(streams):
            while nexts[stream] <= instant:
                at = ats[stream] + 1
                moments[at - 1] = count
                nexts[stream] = times[at] if at < offsets[stream + 1] else _AFTER_ALL
                ats[stream] = at
        count += 1


@njit
def window_starts(plans, instants, moments, offsets, numbers):
    """Where each leaf's window begins at each instant. `numbers` says how many elements of each stream came before."""
    starts = np.empty((plans.streams.shape[0], instants.shape[0]), np.int64)
    for leaf in range(starts.shape[0]):
        kind, size, slide = plans.windows[leaf]
        if kind == EVERYTHING:
            starts[leaf, :] = -_AFTER_ALL
        elif kind == LAST_MS:
            for step in range(instants.shape[0]):
                start = instants[step] - size
                starts[leaf, step] = start if slide == 0 else (start // slide + 1) * slide
        else:
            stream = plans.streams[leaf]
            starts[leaf, :] = 0
            for at in range(offsets[stream], offsets[stream + 1]):
                starts[leaf, moments[at]] += 1
            start = numbers[stream] - size
            for step in range(instants.shape[0]):  # no branch that nobody can foretell
                start += starts[leaf, step]
                starts[leaf, step] = start
    return starts


@inlined
def suits(subject, predicate, object_, first_of_predicate, first_of_object, s, p, o):
    """Whether a triple (s, p, o) matches a pattern: its constants, and where the variables stand that come again."""
    return (
        (subject == 0 or s == subject)
        and (predicate == 0 or p == predicate)
        and (object_ == 0 or o == object_)
        and (first_of_predicate != 0 or p == s)
        and (first_of_object > 1 or o == (s if first_of_object == 0 else p))
    )


@njit
def match_arrivals(plans, times, subjects, predicates, objects, moments, offsets, numbers, kept_out):
    """The elements that match each leaf's pattern, leaf after leaf: keys (leaf, then variables), moments, places.

    `kept_out` says which elements do not count for which leaf, or has no rows. The last result says where each leaf's
    arrivals begin and end.
    """
    leaves = plans.streams.shape[0]
    most = 0
    for stream in plans.streams:
        most += offsets[stream + 1] - offsets[stream]
    keys = np.zeros((most, 1 + plans.widths.max()), np.int64)
    seen = np.empty(most, np.int64)
    places = np.empty(most, np.int64)
    ends = np.zeros(leaves + 1, np.int64)
    count = 0
    for leaf in range(leaves):
        stream = plans.streams[leaf]
        by_number = plans.windows[leaf, KIND] == LAST_ELEMENTS
        subject, predicate, object_ = plans.constants[leaf]
        subject_column, predicate_column, object_column = plans.columns[leaf]
        _, first_of_predicate, first_of_object = plans.equals[leaf]
        for at in range(offsets[stream], offsets[stream + 1]):
            s, p, o = subjects[at], predicates[at], objects[at]
            if not suits(subject, predicate, object_, first_of_predicate, first_of_object, s, p, o):
                continue
            if kept_out.shape[0] > 0 and kept_out[leaf, at]:
                continue
            keys[count, 0] = leaf
            if subject_column >= 0:
                keys[count, 1 + subject_column] = s
            if predicate_column >= 0:
                keys[count, 1 + predicate_column] = p
            if object_column >= 0:
                keys[count, 1 + object_column] = o
            seen[count] = moments[at]
            places[count] = numbers[stream] + at - offsets[stream] if by_number else times[at]
            count += 1
        ends[leaf + 1] = count
    return keys[:count].copy(), seen[:count].copy(), places[:count].copy(), ends


class Arrived(NamedTuple):
    """A batch for all leaves, leaf after leaf: where each leaf's arrivals end is in `ends`."""

    keys: np.ndarray  # int64 [arrival, 1 + column]: the leaf, then the values of its variables
    moments: np.ndarray  # int64: counted from the first of the batch
    places: np.ndarray  # int64: what the window's start is compared with
    ends: np.ndarray  # int64
    starts: np.ndarray  # int64 [leaf, moment]
    instants: np.ndarray  # int64: the times of the moments


@njit
def gather_arrivals(plans, clocks, times, subjects, predicates, objects, offsets, numbers, kept_out):
    """A batch of elements of several streams as arrivals; the three steps above in one call.

    Then `numbers` counts the batch too.
    """
    instants, moments = merge_instants(times, offsets, clocks)
    starts = window_starts(plans, instants, moments, offsets, numbers)
    keys, seen, places, ends = match_arrivals(
        plans, times, subjects, predicates, objects, moments, offsets, numbers, kept_out
    )
    for stream in range(numbers.shape[0]):
        numbers[stream] += offsets[stream + 1] - offsets[stream]
    return Arrived(keys, seen, places, ends, starts, instants)
