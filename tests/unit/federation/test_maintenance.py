"""The maintenance of a local view: the running example of the paper, and what each policy must do."""

from __future__ import annotations

import numpy as np
import pytest

from freshet.federation import change_rates
from freshet.federation.bounds import Best, WindowBasedTruth
from freshet.federation.candidates import Candidates, Flags, Ids, Numbers, one_to_one, remaining_lives
from freshet.federation.change_rates import ChangeRates
from freshet.federation.expected_gain import ExpectedGain
from freshet.federation.proposers import propose_whole_view, window_service_join
from freshet.federation.rankers import (
    LeastRecentlyRefreshed,
    Nothing,
    RandomOrder,
    WindowBased,
    WindowBasedFromRefresh,
    elect,
)

A, B, C, D, E, F = range(6)
TIME = 8
NEVER = np.empty(0, np.bool_)


def random() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def candidates() -> Candidates:
    """Figure 2 at time 8: a window that moves by one, with the elements that join with a, b, c and d."""
    entered = np.array([4, 5, 6, 6])
    lives = remaining_lives(entered, TIME, width_ms=5, slide_ms=1)
    return one_to_one(TIME, 1, np.array([A, B, C, D]), lives)


@pytest.fixture
def ranker() -> WindowBased:
    """Figure 2's best-before times, and the change intervals that its arrows show."""
    best_before = np.array([7, 9, 6, 5, 8, 8])
    return WindowBased(best_before, np.array([5.0, 5.0, 5.0, 4.0, 3.0, 3.0]), random())


def test_figure_2_candidates(candidates: Candidates) -> None:
    assert window_service_join(candidates).entries.tolist() == [A, B, C, D]
    assert propose_whole_view(candidates, 6).entries.tolist() == [A, B, C, D, E, F]


def test_figure_2_scores(candidates: Candidates, ranker: WindowBased) -> None:
    assert candidates.lives[[A, C, D]].tolist() == [1, 3, 3]
    assert ranker.renewed_ms(np.array([A, C, D]), TIME).tolist() == [12, 11, 9]
    assert ranker.scores(candidates).tolist() == [1, 0, 3, 1]  # b is fresh until 9


def test_figure_2_election(candidates: Candidates, ranker: WindowBased) -> None:
    chosen = elect(ranker, window_service_join(candidates), 1)
    assert chosen.tolist() == [C]
    ranker.record_refresh(chosen, np.array([True]), TIME)
    assert ranker.best_before_ms[C] == 11
    assert ranker.best_before_ms[[A, B, D]].tolist() == [7, 9, 5]


def test_wbm_leaves_out_what_is_fresh(candidates: Candidates, ranker: WindowBased) -> None:
    assert sorted(elect(ranker, candidates, 4).tolist()) == [A, C, D]


def test_wbm_skips_intervals_that_were_missed(ranker: WindowBased) -> None:
    """A best-before time that is long past is renewed to one that lies ahead."""
    assert ranker.renewed_ms(np.array([A]), 40).tolist() == [42]


def test_wbm_of_the_authors_program(candidates: Candidates) -> None:
    """A refresh is good for an interval from then on; what is left of the budget goes to what is stale next."""
    ranker = WindowBasedFromRefresh(np.array([7, 9, 6, 10, 8, 8]), np.array([5.0, 5.0, 5.0, 4.0, 3.0, 3.0]), random())
    assert ranker.scores(candidates).tolist() == [1, 0, 3, 0]
    assert elect(ranker, candidates, 3).tolist() == [C, A, B]
    assert elect(ranker, candidates, 4).tolist() == [C, A, B, D]
    ranker.record_refresh(np.array([C, B]), np.array([True, False]), TIME)
    assert ranker.best_before_ms[[A, B, C]].tolist() == [7, 13, 13]


def test_wbm_counts_the_solutions_that_an_entry_serves(candidates: Candidates, ranker: WindowBased) -> None:
    many = Candidates(TIME, 1, candidates.entries, candidates.lives, np.array([4, 1, 1, 1]))
    assert ranker.scores(many).tolist() == [4, 0, 3, 1]
    assert elect(ranker, many, 1).tolist() == [A]


def test_an_entry_that_never_changes_keeps_its_interval(candidates: Candidates) -> None:
    ranker = WindowBased(np.array([8, 8, 8, 8]), np.array([np.inf, 1.0, 1.0, 1.0]), random())
    assert elect(ranker, candidates, 1).tolist() in ([A], [B], [C], [D])
    ranker.record_refresh(np.array([A]), np.array([False]), TIME)
    assert A not in elect(ranker, candidates, 4)


def test_lru_takes_the_oldest_refresh(candidates: Candidates) -> None:
    ranker = LeastRecentlyRefreshed(6, 0, random())
    ranker.record_refresh(np.array([A, B]), np.array([False, True]), 5)
    ranker.record_refresh(np.array([C]), np.array([False]), 6)
    assert elect(ranker, candidates, 2).tolist()[0] == D
    assert set(elect(ranker, candidates, 3).tolist()) == {A, B, D}


def test_random_and_nothing(candidates: Candidates) -> None:
    assert elect(Nothing(), candidates, 3).tolist() == []
    assert sorted(elect(RandomOrder(random()), candidates, 4).tolist()) == [A, B, C, D]
    seen = {int(elect(ranker, candidates, 1)[0]) for ranker in [RandomOrder(random())] for _ in range(100)}
    assert seen == {A, B, C, D}


def test_no_budget_no_refresh(candidates: Candidates, ranker: WindowBased) -> None:
    assert elect(ranker, candidates, 0).tolist() == []
    assert elect(ranker, candidates, -1).tolist() == []


class KnownTruth:
    """A remote source of which all is known."""

    def stale(self, entries: Ids, time_ms: int) -> Flags:
        return np.isin(entries, [A, C, D])

    def next_change_ms(self, entries: Ids, time_ms: int) -> Numbers:
        return np.array([12.0, 99.0, np.inf, 9.0, 99.0, 99.0])[entries]


def test_bounds(candidates: Candidates) -> None:
    assert sorted(elect(Best(KnownTruth(), random()), candidates, 4).tolist()) == [A, C, D]
    assert elect(WindowBasedTruth(KnownTruth(), random()), candidates, 1).tolist() == [C]


# ---- change rates


def observed(rates: ChangeRates, entry: int, elapsed: float, changed: bool, times: int) -> None:
    for _ in range(times):
        rates.observe(np.array([entry]), np.array([elapsed]), np.array([changed]))


def test_rates_are_learnt_in_spite_of_unseen_changes() -> None:
    """Of refreshes after 10 units, a rate of 0.3 shows 95 % changed: counting would say 0.095."""
    random = np.random.default_rng(1)
    rates = ChangeRates(400)
    true = np.where(np.arange(400) < 200, 0.3, 0.02)
    for _ in range(40):
        elapsed = random.uniform(1, 20, 400)
        rates.observe(np.arange(400), elapsed, random.random(400) < 1 - np.exp(-true * elapsed))
    found = rates.rates(np.arange(400))
    assert found[:200].mean() == pytest.approx(0.3, rel=0.15)
    assert found[200:].mean() == pytest.approx(0.02, rel=0.15)


def test_an_unknown_entry_is_judged_by_the_others() -> None:
    rates = ChangeRates(50)
    before = rates.fresh_chances(np.array([49]), np.array([5.0]))[0]
    rates.observe(np.arange(40), np.full(40, 5.0), np.ones(40, np.bool_))
    assert rates.fresh_chances(np.array([49]), np.array([5.0]))[0] < before - 0.2
    rates.grow(60)
    assert rates.rates(np.array([55]))[0] == rates.rates(np.array([49]))[0]


def test_rates_follow_the_data() -> None:
    """R2: an entry that was quiet and becomes lively is seen to."""
    rates = ChangeRates(1, kept=0.9)
    observed(rates, 0, 1.0, False, 100)
    quiet = rates.rates(np.array([0]))[0]
    observed(rates, 0, 1.0, True, 20)
    assert quiet < 0.05
    assert rates.rates(np.array([0]))[0] > 20 * quiet


def test_a_usual_rate_is_a_start_only() -> None:
    quick, slow = ChangeRates(300, usual=0.5), ChangeRates(300, usual=0.001)
    first = np.array([0])
    assert quick.fresh_chances(first, np.array([10.0]))[0] < 0.1
    assert slow.fresh_chances(first, np.array([100.0]))[0] > 0.8
    for rates in (quick, slow):
        for _ in range(10):
            rates.observe(np.arange(299), np.full(299, 10.0), np.arange(299) % 3 == 0)
    other = np.array([299])  # which was never refreshed
    assert quick.fresh_chances(other, np.array([10.0]))[0] == pytest.approx(0.66, abs=0.1)
    assert slow.fresh_chances(other, np.array([10.0]))[0] == pytest.approx(0.66, abs=0.1)


def test_a_usual_rate_may_be_faster_than_windows_move() -> None:
    rates = ChangeRates(3, usual=50.0)
    assert rates.rates(np.array([0]))[0] == pytest.approx(50, rel=0.5)
    assert rates.fresh_chances(np.array([0]), np.array([0.2]))[0] < 0.05
    slow = ChangeRates(3, usual=0.05)
    assert np.array_equal(slow.grid, ChangeRates().grid)
    rates.observe(np.array([1]), np.full(1, 1000.0), np.array([False]))
    assert rates.rates(np.array([1]))[0] < 0.1  # it is a start only


def test_a_usual_rate_that_is_quite_wrong_is_found_out_at_once() -> None:
    rates = ChangeRates(5, usual=1e-5)
    observed(rates, 0, 10.0, True, 2)
    assert rates.rates(np.array([0]))[0] > 0.05
    assert rates.rates(np.array([4]))[0] > 0.01  # which was never refreshed


def test_the_prior_is_the_sum_of_what_is_known_however_long_it_takes() -> None:
    rates, random = ChangeRates(700, usual=0.3), np.random.default_rng(3)
    for _ in range(500):
        entries = random.permutation(700)[:20]
        rates.observe(entries, random.uniform(1, 9, 20), random.random(20) < 0.1)
    sums = 8 * ChangeRates(usual=0.3).prior + rates._shares.sum(axis=0, dtype=np.float64)
    assert rates.prior == pytest.approx(sums / sums.sum(), rel=1e-9)


def prior_near(true: float) -> float:
    """How likely rates near the true one are held to be, after a few refreshes of each of many entries."""
    rates, random = ChangeRates(200), np.random.default_rng(2)
    for first in [*range(0, 200, 10)] * 3:
        elapsed = random.uniform(2, 60, 10)
        rates.observe(np.arange(first, first + 10), elapsed, random.random(10) < 1 - np.exp(-true * elapsed))
    return float(rates.prior[(rates.grid > true / 3) & (rates.grid < true * 3)].sum())


def test_the_prior_does_not_stay_as_wide_as_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that were refreshed a few times are looked at again when more is known of all."""
    again = prior_near(0.05)
    monkeypatch.setattr(change_rates, "_AGAIN", 0)
    assert again > prior_near(0.05) + 0.05
    assert again > 0.85


def test_given_rates_are_a_start_only() -> None:
    rates = ChangeRates(2)
    rates.expect(np.array([0, 1]), np.array([0.5, 0.01]))
    start = rates.rates(np.array([0, 1]))
    assert start[0] > 10 * start[1]
    observed(rates, 1, 2.0, True, 30)
    assert rates.rates(np.array([1]))[0] > 0.3


# ---- expected gain


def gain_twin(rate: float, age: int, life: int, use: float) -> float:
    """The formula term by term."""
    unchanged = [np.exp(-rate * k) for k in range(age + 1)]
    return sum((1 if k < life else use) * (unchanged[k] - unchanged[age]) for k in range(age))


@pytest.mark.parametrize(("age", "life"), [(1, 1), (5, 1), (5, 3), (2, 7), (40, 4)])
def test_gain_is_the_sum_that_it_says(age: int, life: int) -> None:
    ranker = ExpectedGain(1, 0, 10)
    candidates = one_to_one(age * 10, 10, np.array([0]), np.array([life]))
    use = float(ranker.use_chances(np.array([0]))[0])
    weights = ranker.rates.weights(np.array([0]))[0]
    expected = sum(w * gain_twin(r, age, life, use) for w, r in zip(weights, ranker.rates.grid, strict=True))
    assert ranker.gains(candidates)[0] == pytest.approx(expected, rel=1e-6)


def test_lives_count_in_the_steps_of_the_querys_own_window() -> None:
    ranker = ExpectedGain(1, 0, 10)
    gains = [
        ranker.gains(one_to_one(50, slide_ms, np.array([0]), np.array([life])))[0]
        for slide_ms, life in ((10, 2), (5, 4), (20, 1), (5, 2))
    ]
    assert gains[0] == gains[1] == gains[2] > gains[3]


def test_gain_prefers_what_is_needed_longer_and_more() -> None:
    ranker = ExpectedGain(100, 0, 1)
    longer = Candidates(10, 1, np.array([0, 1, 2]), np.array([1, 5, 1]), np.array([1, 1, 1]))
    assert elect(ranker, longer, 1).tolist() == [1]
    more = Candidates(10, 1, np.array([0, 1, 2]), np.array([1, 1, 1]), np.array([1, 1, 9]))
    assert elect(ranker, more, 1).tolist() == [2]


def test_gain_of_what_was_just_refreshed_is_nothing() -> None:
    ranker = ExpectedGain(2, 0, 1)
    ranker.record_refresh(np.array([0]), np.array([True]), 10)
    candidates = one_to_one(10, 1, np.array([0, 1]), np.array([3, 3]))
    assert ranker.gains(candidates)[0] == 0
    assert elect(ranker, candidates, 1).tolist() == [1]
    assert ranker.fresh_chances(np.array([0]), 10)[0] == pytest.approx(1)


def test_entries_can_be_added() -> None:
    ranker = ExpectedGain(1, 0, 1)
    ranker.grow(3, 5)
    assert ranker.ages(np.array([0, 1, 2]), 6).tolist() == [6, 1, 1]
    for other in (
        LeastRecentlyRefreshed(1, 0, random()),
        WindowBased(np.array([0]), np.array([2.0]), random()),
        RandomOrder(random()),
    ):
        other.grow(3)
        assert len(other.rank(one_to_one(9, 1, np.arange(3), np.ones(3, np.int64)))) == 3


def test_a_view_without_entries_learns_nothing() -> None:
    rates = ChangeRates()
    before = rates.prior
    rates.observe(np.empty(0, np.int64), np.empty(0), NEVER)
    np.testing.assert_array_equal(rates.prior, before)
    rates.grow(1)
    rates.observe(np.array([0]), np.array([1.0]), np.array([True]))
    assert rates.rates(np.array([0]))[0] > before @ rates.grid
