"""The approximate-answers paper's experiments in small: the data, and the order in which the policies come out."""

from __future__ import annotations

import numpy as np
import pytest

from freshet_benchmarks.federation import PERCENTS, Results, _gaps, _results, budget
from freshet_benchmarks.federation_data import SNAPSHOTS, Remote, mentions, recorded, synthetic
from freshet_benchmarks.federation_live import WAYS, live_figures
from freshet_benchmarks.federation_plot import _COLOURS, plot
from freshet_benchmarks.federation_policies import POLICIES
from shared_data import shared

Accuracy = dict[tuple[str, int], float]


def accuracies(results: Results) -> Accuracy:
    return {key: float(np.mean([run.accuracies.mean() for run in runs])) for key, runs in results.items()}


def test_mentions_are_skewed_and_as_many_as_the_paper_has() -> None:
    stream = mentions(400, 157, seed=0)
    often = np.sort(np.count_nonzero(stream.lives, axis=0))[::-1]
    assert stream.mean_candidates == pytest.approx(33, abs=1)
    assert often[:40].sum() > 4 * often[-200:].sum() / 5
    assert often[0] > 100
    assert set(np.unique(stream.lives)) == {0, 1}
    assert np.array_equal(stream.lives, mentions(400, 157, seed=0).lives)


def test_wider_windows_have_longer_lives() -> None:
    stream = mentions(400, 50, seed=1, width_ms=180_000)
    assert set(np.unique(stream.lives)) == {0, 1, 2, 3}
    assert stream.mean_candidates == pytest.approx(33, abs=3)


def test_synthetic_counts_change_at_fixed_intervals() -> None:
    remote = synthetic(50, 400, seed=3)
    for user in range(50):
        gaps = np.diff(np.flatnonzero(np.diff(remote.values[:, user])))
        assert len(gaps) == 0 or gaps.max() - gaps.min() <= 1


def test_budgets_are_the_papers() -> None:
    assert [budget(percent) for percent in PERCENTS] == [3, 5, 10]


def test_next_change() -> None:
    remote = Remote(np.array([[1, 5], [1, 5], [2, 5], [1, 5]]), 0)
    assert remote.next_change(0).tolist() == [2, np.inf]
    assert remote.next_change(2).tolist() == [1, np.inf]


def paper_order(accuracy: Accuracy) -> None:
    """What both tables say for every budget."""
    for percent in PERCENTS:
        wst, gnr, wsj = (accuracy[name, percent] for name in ("wst", "gnr_lru", "wsj_lru"))
        assert wst < accuracy["gnr_rnd", percent] < accuracy["wsj_rnd", percent]
        assert wst < gnr < wsj
        best = min(accuracy["bst", percent], accuracy["wsj_wbm_star", percent])
        assert max(value for (name, at), value in accuracy.items() if at == percent and name[:3] != "bst") - best < 0.02
        assert accuracy["wsj_wbm", percent] > max(wsj, accuracy["wsj_rnd", percent]) - 0.01  # equal to LRU on real data
        assert accuracy["wsj_learnt", percent] > max(
            accuracy["wsj_rnd", percent], accuracy["wsj_wbm_text", percent], wsj
        )
        assert accuracy["wsj_learnt", percent] < accuracy["wsj_adaptive", percent]  # which is told the rates
    ours = [sum(accuracy[f"wsj_{name}", percent] for percent in PERCENTS) for name in ("learnt", "learnt_before")]
    assert ours[0] < ours[1]  # which has seen the same data before


def learnt(accuracy: Accuracy) -> list[float]:
    """What the engine's own ranker reaches, for every budget."""
    return [accuracy["wsj_learnt", percent] for percent in PERCENTS]


@pytest.mark.slow
def test_synthetic_policies_are_in_order() -> None:
    accuracy = accuracies(_results([synthetic(400, 157, seed) for seed in range(2)]))
    paper_order(accuracy)
    for percent, paper in zip(PERCENTS, (0.46, 0.60, 0.81), strict=True):
        assert accuracy["wsj_wbm", percent] == pytest.approx(paper, abs=0.03)
        assert accuracy["wsj_adaptive", percent] > paper - 0.02
        assert accuracy["wsj_learnt_before", percent] > paper - 0.02
    assert learnt(accuracy) == pytest.approx([0.509, 0.589, 0.780], abs=0.01)  # the last less than WBM, told the rates
    gaps = {figure.name: figure.value for figure in _gaps("synthetic", accuracy)}
    assert gaps["synthetic_wsj_learnt_gap_closed_text"] == pytest.approx(0.26, abs=0.03)


@pytest.mark.slow
def test_recorded_policies_are_in_order() -> None:
    remote = recorded(shared(SNAPSHOTS))
    assert remote.values.shape == (158, 400)
    accuracy = accuracies(_results([remote] * 2))
    paper_order(accuracy)
    for percent, paper in zip(PERCENTS, (0.52, 0.61, 0.80), strict=True):
        assert accuracy["wsj_wbm", percent] == pytest.approx(paper, abs=0.03)
        assert accuracy["wsj_learnt", percent] > accuracy["wsj_wbm", percent]
        assert accuracy["wsj_adaptive", percent] > paper - 0.02
    assert learnt(accuracy) == pytest.approx([0.558, 0.638, 0.800], abs=0.01)
    gaps = {figure.name: figure.value for figure in _gaps("real", accuracy)}
    assert gaps["real_wsj_adaptive_gap_closed_text"] > 1 / 3
    # less than the third that was asked for, and less still where WBM is the authors' program
    assert gaps["real_wsj_learnt_gap_closed_text"] == pytest.approx(0.286, abs=0.03)
    assert gaps["real_wsj_learnt_gap_closed"] == pytest.approx(0.222, abs=0.03)


def test_every_policy_has_a_line() -> None:
    assert [policy.name for policy in POLICIES] == list(_COLOURS)
    picture = plot({"some data": {name: np.arange(1, 11) * at for at, name in enumerate(_COLOURS, 1)}})
    assert picture.count("<polyline") == len(POLICIES)
    assert "wsj wbm*" in picture


def test_the_engine_against_a_real_endpoint() -> None:
    remote = synthetic(60, 30, seed=1)
    figures = {figure.name: figure for figure in live_figures(remote, (5,), 14, [WAYS[1]])}
    assert figures["live_5ms_bulk_requests"].value <= 4 * 4
    entries = figures["live_5ms_bulk_entries"]
    assert entries.baseline is not None
    assert 0 <= entries.value <= entries.baseline.value
    assert 0 < figures["live_5ms_bulk_accuracy"].value <= 1  # the less the more else the machine has to do
