"""The approximate-answers paper's policies, each run over one view, one stream and one refresh budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from freshet.federation.bounds import Best, WindowBasedTruth
from freshet.federation.candidates import Ids, Numbers, one_to_one
from freshet.federation.change_rates import ChangeRates
from freshet.federation.expected_gain import ExpectedGain
from freshet.federation.proposers import propose_whole_view, window_service_join
from freshet.federation.rankers import (
    LeastRecentlyRefreshed,
    Nothing,
    RandomOrder,
    Ranker,
    WindowBased,
    WindowBasedFromRefresh,
    elect,
)
from freshet_benchmarks.federation_data import SLIDE_MS, Mentions, Remote, RemoteTruth, mentions

_OTHER = 1000  # what is added to the seed of the mentions that were practised with

Make = Callable[[Remote, Ids, np.random.Generator], Ranker]


@dataclass(frozen=True, slots=True)
class Policy:
    """A proposer and a ranker. With `practice` it has the rates that a run over other mentions learnt before."""

    name: str
    make: Make
    whole_view: bool = False
    practice: bool = False


def _wbm(remote: Remote, view: Ids, random: np.random.Generator) -> Ranker:
    intervals = _intervals_ms(remote)
    return WindowBasedFromRefresh(remote.start_ms + intervals, intervals, random)


def _wbm_text(remote: Remote, view: Ids, random: np.random.Generator) -> Ranker:
    return WindowBased(np.full(remote.users, remote.start_ms), _intervals_ms(remote), random)


def _intervals_ms(remote: Remote) -> Numbers:
    with np.errstate(divide="ignore"):
        return SLIDE_MS / remote.rates


def _lru(remote: Remote, view: Ids, random: np.random.Generator) -> Ranker:
    return LeastRecentlyRefreshed(remote.users, remote.start_ms, random)


def _learnt(remote: Remote, view: Ids, random: np.random.Generator) -> Ranker:
    return ExpectedGain(remote.users, remote.start_ms, SLIDE_MS)


def _with_mean_rate(remote: Remote, view: Ids, random: np.random.Generator) -> Ranker:
    rates = ChangeRates(remote.users, usual=float(remote.rates.mean()))
    return ExpectedGain(remote.users, remote.start_ms, SLIDE_MS, rates)


def _with_all_rates(remote: Remote, view: Ids, random: np.random.Generator) -> Ranker:
    rates = ChangeRates(remote.users)
    rates.expect(np.arange(remote.users), remote.rates)
    return ExpectedGain(remote.users, remote.start_ms, SLIDE_MS, rates)


POLICIES = (
    Policy("wst", lambda remote, view, random: Nothing()),
    Policy("gnr_rnd", lambda remote, view, random: RandomOrder(random), whole_view=True),
    Policy("gnr_lru", _lru, whole_view=True),
    Policy("wsj_rnd", lambda remote, view, random: RandomOrder(random)),
    Policy("wsj_lru", _lru),
    Policy("wsj_wbm_text", _wbm_text),
    Policy("wsj_wbm", _wbm),
    Policy("wsj_learnt", _learnt),
    Policy("wsj_hinted", _with_mean_rate),
    Policy("wsj_learnt_before", _learnt, practice=True),
    Policy("wsj_adaptive", _with_all_rates),
    Policy("wsj_wbm_star", lambda remote, view, random: WindowBasedTruth(RemoteTruth(remote, view), random)),
    Policy("bst", lambda remote, view, random: Best(RemoteTruth(remote, view), random)),
)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What a policy did at each evaluation: the share of right answers, the wrong ones, and the refreshes.

    `estimated` is the share of right answers that the ranker expects, where it has an opinion.
    """

    accuracies: Numbers
    errors: Ids
    refreshes: Ids
    estimated: Numbers


def run(policy: Policy, remote: Remote, stream: Mentions, budget: int, seed: int) -> Run:
    """One experiment. The view is loaded at the start, as the paper has it, and refreshed before each evaluation."""
    view = remote.values[0].copy()
    ranker = policy.make(remote, view, np.random.default_rng([seed, 3]))
    if policy.practice:
        _run(policy, ranker, view.copy(), remote, mentions(remote.users, len(remote.times_ms), seed + _OTHER), budget)
        assert isinstance(ranker, ExpectedGain)
        ranker = ExpectedGain(remote.users, remote.start_ms, SLIDE_MS, ranker.rates)
    return _run(policy, ranker, view, remote, stream, budget)


def _run(policy: Policy, ranker: Ranker, view: Ids, remote: Remote, stream: Mentions, budget: int) -> Run:
    accuracies, errors, refreshes, estimated = [], [], [], []
    for evaluation, time_ms in enumerate(remote.times_ms.tolist()):
        current = remote.values[evaluation + 1]
        entries = stream.mentioned(evaluation)
        moment = one_to_one(time_ms, SLIDE_MS, entries, stream.lives[evaluation, entries])
        proposed = propose_whole_view(moment, remote.users) if policy.whole_view else window_service_join(moment)
        chosen = elect(ranker, proposed, budget)
        changed = view[chosen] != current[chosen]
        view[chosen] = current[chosen]
        ranker.record_refresh(chosen, changed, time_ms)
        wrong = int(np.count_nonzero(view[entries] != current[entries]))
        if len(entries):
            accuracies.append(1 - wrong / len(entries))
            if isinstance(ranker, ExpectedGain):
                estimated.append(ranker.fresh_chances(entries, time_ms).mean())
        errors.append(wrong)
        refreshes.append(len(chosen))
    return Run(np.array(accuracies), np.array(errors), np.array(refreshes), np.array(estimated))
