"""Rows of a join's left side with and without a match, after every moment of a batch."""

from typing import NamedTuple

import numpy as np

from freshet.kernels.jit import leaf, njit

LEFT = 0  # the column of pointers to rows of the left side

AFTER_ALL = np.int64(2**63 - 1)


class MatchArrays(NamedTuple):
    """What is kept of the rows of the left side, by row number."""

    alive: np.ndarray  # bool
    counts: np.ndarray  # int64: the pairs that a row is in
    chosen: np.ndarray  # bool: whether the row was put out


@leaf
def _moment_of(moments, at):
    return moments[at] if at < moments.shape[0] else AFTER_ALL


@leaf
def _choose(arrays, row, matched, moment, rows, moments, ends):
    """Put a row out that has entered (ends[0]) or left (ends[1]) the chosen half.

    A row that is looked at again at the same moment is what it was the first time.
    """
    alive, counts, chosen = arrays
    now = alive[row] and (counts[row] > 0) == matched
    if now != chosen[row]:
        side = 0 if now else 1
        rows[side, ends[side]] = row
        moments[side, ends[side]] = moment
        ends[side] += 1
        chosen[row] = now


@njit
def match_moments(state, matched, born, born_at, died, died_at, came, came_at, went, went_at):
    """The rows of left that enter and leave the half with (`matched`) or without a match, each with its moment.

    `came` and `went` are pairs, as rows of pointers. All four are in order of moments. A row is judged after all that
    happens at a moment.
    """
    arrays = MatchArrays(state[0], state[1], state[2])
    most = born.shape[0] + died.shape[0] + came.shape[0] + went.shape[0]
    rows, moments = np.empty((2, most), np.int32), np.empty((2, most), np.int64)
    ends = np.zeros(2, np.int64)
    birth = death = come = go = 0
    while True:
        moment = min(
            _moment_of(born_at, birth), _moment_of(died_at, death), _moment_of(came_at, come), _moment_of(went_at, go)
        )
        if moment == AFTER_ALL:
            break
        first_birth, first_death, first_come, first_go = birth, death, come, go
        while birth < born.shape[0] and born_at[birth] == moment:
            arrays.alive[born[birth]] = True
            birth += 1
        while death < died.shape[0] and died_at[death] == moment:
            arrays.alive[died[death]] = False
            death += 1
        while come < came.shape[0] and came_at[come] == moment:
            arrays.counts[came[come, LEFT]] += 1
            come += 1
        while go < went.shape[0] and went_at[go] == moment:
            arrays.counts[went[go, LEFT]] -= 1
            go += 1
        for at in range(first_birth, birth):
            _choose(arrays, born[at], matched, moment, rows, moments, ends)
        for at in range(first_death, death):
            _choose(arrays, died[at], matched, moment, rows, moments, ends)
        for at in range(first_come, come):
            _choose(arrays, came[at, LEFT], matched, moment, rows, moments, ends)
        for at in range(first_go, go):
            _choose(arrays, went[at, LEFT], matched, moment, rows, moments, ends)
    return rows[0, : ends[0]], moments[0, : ends[0]], rows[1, : ends[1]], moments[1, : ends[1]]
