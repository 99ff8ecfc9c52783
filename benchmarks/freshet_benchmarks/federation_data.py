"""The remote data and the streams of the approximate-answers experiments: follower counts, synthetic changes, mentions.

The counts are the recorded ones (`../shared/data/acqua/follower_snapshots.csv`, or where FRESHET_SHARED says): 400
users, a snapshot a minute or so, 158 minutes. Of its three counts the first is taken as the followers: it goes up and
down by ones, as followers do, where the third hardly ever goes down, as a count of posts does; and the authors' own
reader of the file takes it. The synthetic counts change at a fixed interval for each user, counted from the start as
in the authors' generator, with rates spread evenly.
The authors' recording of mentions is lost, so mentions are generated: users by Zipf's law, at random otherwise.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from freshet.federation.candidates import Flags, Ids, Numbers, remaining_lives
from freshet.rdf.errors import InputError

SNAPSHOTS = "data/acqua/follower_snapshots.csv"
SLIDE_MS = 60_000
WIDTH_MS = 60_000
MEAN_CANDIDATES = 33  # the paper's
ZIPF = 0.8
FASTEST = 0.08  # synthetic changes a minute, chosen so that the upper bounds are near the paper's


@dataclass(frozen=True, slots=True, eq=False)
class Remote:
    """What an endpoint says: a value for each user (column) at the start and at each evaluation (rows)."""

    values: Ids
    start_ms: int

    @property
    def users(self) -> int:
        return int(self.values.shape[1])

    @property
    def times_ms(self) -> Ids:
        """When evaluations take place."""
        return self.start_ms + np.arange(1, len(self.values)) * SLIDE_MS

    @property
    def rates(self) -> Numbers:
        """Each user's changes an evaluation, over all of the data: what WBM is told."""
        result: Numbers = (np.diff(self.values, axis=0) != 0).mean(axis=0)
        return result

    def next_change(self, row: int) -> Numbers:
        """How many evaluations after a row each value is another one for the first time."""
        other = self.values[row:] != self.values[row]
        return np.where(other.any(axis=0), other.argmax(axis=0), np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Mentions:
    """For each evaluation and user the remaining life time in the window, 0 where the window does not mention it."""

    lives: Ids

    def mentioned(self, evaluation: int) -> Ids:
        return np.flatnonzero(self.lives[evaluation])

    @property
    def mean_candidates(self) -> float:
        return float(np.count_nonzero(self.lives, axis=1).mean())


def snapshots_file() -> Path:
    """Where the recorded counts are."""
    beside = Path(__file__).resolve().parents[3] / "shared"
    path = Path(os.environ.get("FRESHET_SHARED", beside)) / SNAPSHOTS
    if not path.is_file():
        raise InputError("the recorded follower counts are not there", file=str(path), hint="FRESHET_SHARED=FOLDER")
    return path


def recorded(path: Path) -> Remote:
    """The recorded counts, as they stood at each evaluation."""
    times, users, counts = np.loadtxt(path, np.int64, delimiter=",", skiprows=1, usecols=(0, 1, 2)).T
    order = np.lexsort((times, users))
    count = int(users.max()) + 1
    times_of, counts_of = (column[order].reshape(count, -1) for column in (times, counts))
    start = int(times_of[:, 0].max())
    evaluations = np.arange(start, times_of[:, -1].max() + 1, SLIDE_MS)
    last = [np.searchsorted(row, evaluations, side="right") - 1 for row in times_of]
    return Remote(np.stack([row[at] for row, at in zip(counts_of, last, strict=True)], axis=1), start)


def synthetic(users: int, evaluations: int, seed: int) -> Remote:
    """Counts that change at a fixed interval, another one for each user: rates evenly up to FASTEST a minute."""
    random = np.random.default_rng([seed, 1])
    minutes = np.arange(evaluations + 1)[:, None] * SLIDE_MS / 60_000
    return Remote(np.floor(minutes * random.uniform(0, FASTEST, users)).astype(np.int64), 0)


def mentions(users: int, evaluations: int, seed: int, width_ms: int = WIDTH_MS) -> Mentions:
    """Poisson mentions of users with Zipf's weights; the window holds MEAN_CANDIDATES on average."""
    random = np.random.default_rng([seed, 2])
    weights = 1 / np.arange(1, users + 1) ** ZIPF
    weights = random.permutation(weights / weights.sum())
    expected = _mentions_a_window(weights) * weights * SLIDE_MS / width_ms
    before = width_ms // SLIDE_MS
    latest = np.full(users, -width_ms)
    lives = np.zeros((evaluations, users), np.int64)
    for slide in range(1 - before, evaluations + 1):
        count = random.poisson(expected)
        # of several mentions in one slide the last counts
        late = random.random(users) ** (1 / np.maximum(count, 1))
        latest = np.where(count > 0, (slide - 1) * SLIDE_MS + np.ceil(late * SLIDE_MS).astype(np.int64), latest)
        if slide >= 1:
            close = slide * SLIDE_MS
            life = remaining_lives(latest, close, width_ms, SLIDE_MS)
            lives[slide - 1] = np.where(latest > close - width_ms, life, 0)
    return Mentions(lives)


def _mentions_a_window(weights: Numbers) -> float:
    """How many mentions a window needs so that MEAN_CANDIDATES different users are expected in it."""
    low, high = 0.0, 1e6
    for _ in range(60):
        middle = (low + high) / 2
        few = -np.expm1(-middle * weights).sum() < min(MEAN_CANDIDATES, 0.99 * len(weights))
        low, high = (middle, high) if few else (low, middle)
    return high


class RemoteTruth:
    """What the bounds are told: the remote data, beside the view that is compared with them."""

    def __init__(self, remote: Remote, view: Ids) -> None:
        self._remote = remote
        self._view = view

    def _row(self, time_ms: int) -> int:
        return (time_ms - self._remote.start_ms) // SLIDE_MS

    def stale(self, entries: Ids, time_ms: int) -> Flags:
        result: Flags = self._view[entries] != self._remote.values[self._row(time_ms), entries]
        return result

    def next_change_ms(self, entries: Ids, time_ms: int) -> Numbers:
        result: Numbers = time_ms + self._remote.next_change(self._row(time_ms))[entries] * SLIDE_MS
        return result
