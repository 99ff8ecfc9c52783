"""JSON documents in blocks: the values that a path of names, indexes and wildcards finds, as places in the bytes.

A document may be longer than any block. What is open is kept in `walk`; where a block ends inside a token or inside a
value that the path finds, reading goes on there once there is more. Everything in a document is checked.
"""

from typing import NamedTuple

import numpy as np

from freshet.kernels.jit import njit
from freshet.kernels.json_lines import first_word, same_bytes
from freshet.kernels.json_values import (
    DEEPEST,
    ESCAPED,
    NESTED,
    read_nested,
    read_scalar,
    read_string,
    skip_blanks,
    unescape,
)

# Kinds of steps, and what is known of a step: the columns of `PathSteps.steps`.
NAME, INDEX, WILDCARD = 0, 1, 2
KIND, WORD, LENGTH, START, NUMBER = 0, 1, 2, 3, 4

# What is kept of a walk: its first row is for all of it, the others are what is open, outermost first.
DEPTH, EXPECTED, REACHED = 0, 1, 2  # how many are open; what comes next; how many steps the next value has taken, or -1
IS_OBJECT, TAKEN, ELEMENT, FOUND = 0, 1, 2, 3  # TAKEN: steps that lead here, or -1; FOUND: values found before it
_VALUE, _FIRST_MEMBER, _FIRST_ELEMENT, _MEMBER, _AFTER, _DOCUMENT = 0, 1, 2, 3, 4, 5

MORE, FULL, BROKEN, DONE = 0, 1, 2, 3  # why a walk stops


class PathSteps(NamedTuple):
    steps: np.ndarray  # int64 [step, column]
    data: np.ndarray  # uint8, the bytes of all names


def new_walk() -> np.ndarray:
    """A walk that has not begun."""
    walk = np.zeros((DEEPEST + 1, 4), np.int64)
    walk[0, EXPECTED] = _DOCUMENT
    return walk


def give_up(walk: np.ndarray, wanted: int) -> bool:
    """Walk through the value that comes next instead of finding it; says whether it would have been found."""
    found = bool(walk[0, EXPECTED] == _VALUE and walk[0, REACHED] == wanted)
    if found:
        walk[0, REACHED] = -1
    return found


@njit
def _is_name(steps, name_data, step, data, start, end):
    length = end - start
    same = steps[step, WORD] == first_word(data, start, end) and steps[step, LENGTH] == length
    return same and (length <= 8 or same_bytes(name_data, steps[step, START], data, start, length))


@njit
def _is_escaped_name(steps, name_data, step, data, start, end):
    plain = np.empty(end - start, np.uint8)
    return _is_name(steps, name_data, step, plain, np.int64(0), unescape(data, start, end, plain, np.int64(0)))


@njit
def _reach(steps, walk, level):
    """How many steps the next element of an array has taken, or -1."""
    step = walk[level, TAKEN]
    if step < 0:
        return np.int64(-1)
    taken = steps[step, KIND] == WILDCARD or (
        steps[step, KIND] == INDEX and steps[step, NUMBER] == walk[level, ELEMENT]
    )
    return step + 1 if taken else np.int64(-1)


@njit
def walk_values(path, data, at, end, final, only_last, walk, starts, ends, kinds, found):
    """Goes on with a walk through data[at:end], after which comes nothing if `final`.

    What is found goes into starts, ends and kinds from number `found`. Gives how many there are then, how far it came,
    and why it stopped. `only_last`: where an object has a name twice the last counts, instead of all of them.
    """
    steps, name_data = path
    wanted = steps.shape[0]
    open_objects = np.empty(DEEPEST, np.bool_)
    while True:
        at = skip_blanks(data, at, end)
        expected, depth = walk[0, EXPECTED], walk[0, DEPTH]
        if at >= end:
            if not final:
                return found, at, MORE
            return found, at, (DONE if expected == _DOCUMENT else BROKEN)
        c = data[at]
        if expected == _DOCUMENT:
            walk[0, REACHED] = 0
            walk[0, EXPECTED] = _VALUE
        elif expected == _AFTER:
            is_object = walk[depth, IS_OBJECT] == 1
            if c == ord(","):
                walk[depth, ELEMENT] += 1
                walk[0, EXPECTED] = _MEMBER if is_object else _VALUE
                if not is_object:
                    walk[0, REACHED] = _reach(steps, walk, depth)
            elif c == (ord("}") if is_object else ord("]")):
                walk[0, DEPTH] = depth - 1
                walk[0, EXPECTED] = _AFTER if depth > 1 else _DOCUMENT
            else:
                return found, at, BROKEN
            at += 1
        elif (expected == _FIRST_MEMBER and c == ord("}")) or (expected == _FIRST_ELEMENT and c == ord("]")):
            walk[0, DEPTH] = depth - 1
            walk[0, EXPECTED] = _AFTER if depth > 1 else _DOCUMENT
            at += 1
        elif expected == _FIRST_ELEMENT:
            walk[0, EXPECTED] = _VALUE
            walk[0, REACHED] = _reach(steps, walk, depth)
        elif expected != _VALUE:  # the name of a member
            if c != 34:
                return found, at, BROKEN
            last, kind = read_string(data, at + 1, end)
            colon = skip_blanks(data, last + 1, end) if last >= 0 else end
            if colon >= end:
                return found, at, (BROKEN if final else MORE)
            if data[colon] != ord(":"):
                return found, at, BROKEN
            step, reached = walk[depth, TAKEN], np.int64(-1)
            if step >= 0 and steps[step, KIND] == WILDCARD:
                reached = step + 1
            elif step >= 0 and steps[step, KIND] == NAME:
                if kind == ESCAPED:
                    same = _is_escaped_name(steps, name_data, step, data, at + 1, last)
                else:
                    same = _is_name(steps, name_data, step, data, at + 1, last)
                if same:
                    reached = step + 1
                    if only_last:
                        found = walk[depth, FOUND]
            walk[0, REACHED] = reached
            walk[0, EXPECTED] = _VALUE
            at = colon + 1
        elif walk[0, REACHED] < wanted and (c == ord("{") or c == ord("[")):  # -1 is less, too
            if depth == DEEPEST:
                return found, at, BROKEN
            walk[0, DEPTH] = depth + 1
            walk[0, EXPECTED] = _FIRST_MEMBER if c == ord("{") else _FIRST_ELEMENT
            walk[depth + 1, IS_OBJECT] = 1 if c == ord("{") else 0
            walk[depth + 1, TAKEN] = walk[0, REACHED]
            walk[depth + 1, ELEMENT] = 0
            walk[depth + 1, FOUND] = found
            at += 1
        else:
            is_found = walk[0, REACHED] == wanted
            if is_found and found == starts.size:
                return found, at, FULL
            if c == ord("{") or c == ord("["):
                after, kind = read_nested(data, at, end, open_objects), NESTED
            else:
                after, kind = read_scalar(data, at, end)
                if after == end and not final and c != 34:
                    after = np.int64(-1)  # more digits may follow
            if after < 0:
                return found, at, (BROKEN if final else MORE)
            if is_found:
                starts[found], ends[found], kinds[found] = at, after, kind
                found += 1
            at = after
            walk[0, EXPECTED] = _AFTER if depth > 0 else _DOCUMENT


@njit
def find_values(path, data, record_starts, record_ends, walk, starts, ends, kinds, firsts, good):
    """What a path finds in each record: values firsts[i]:firsts[i + 1] are record i's, if it is good JSON.

    Gives how many records were read before starts and ends were full.
    """
    found = np.int64(0)
    for record in range(record_starts.size):
        firsts[record] = found
        walk[0, DEPTH] = 0
        walk[0, EXPECTED] = _DOCUMENT
        after, _, why = walk_values(
            path, data, record_starts[record], record_ends[record], True, True, walk, starts, ends, kinds, found
        )
        if why == FULL:
            return record
        good[record] = why == DONE
        found = after if why == DONE else found
    firsts[record_starts.size] = found
    return record_starts.size
