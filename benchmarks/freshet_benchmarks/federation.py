"""`freshet bench federation`: the approximate-answers paper's experiments, beside its tables 1 and 2.

Accuracy is the paper's: the share of an evaluation's answers that are what the endpoint would say at that moment,
averaged over the evaluations. Each figure is the mean over several generated streams of mentions. Then the engine as a
whole, against a real endpoint (`federation_live.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from freshet_benchmarks.federation_data import MEAN_CANDIDATES, Remote, mentions, recorded, snapshots_file, synthetic
from freshet_benchmarks.federation_live import live_figures
from freshet_benchmarks.federation_policies import POLICIES, Run, run
from freshet_benchmarks.figures import Baseline, Figure

PAPER = "the paper"
STREAMS = 8
PERCENTS = (8, 15, 30)

# Tables 1 and 2 (where both have a figure, table 2's), for 8, 15 and 30 %.
ACCURACY: Mapping[str, Mapping[str, tuple[float, float, float]]] = {
    "synthetic": {
        "wst": (0.23, 0.23, 0.23),
        "gnr_rnd": (0.26, 0.26, 0.32),
        "gnr_lru": (0.27, 0.28, 0.33),
        "wsj_rnd": (0.39, 0.49, 0.64),
        "wsj_lru": (0.38, 0.50, 0.76),
        "wsj_wbm": (0.46, 0.60, 0.81),
        "wsj_wbm_star": (0.52, 0.71, 0.94),
        "bst": (0.49, 0.66, 0.94),
    },
    "real": {
        "wst": (0.30, 0.30, 0.30),
        "gnr_rnd": (0.34, 0.36, 0.41),
        "gnr_lru": (0.33, 0.35, 0.41),
        "wsj_rnd": (0.45, 0.57, 0.68),
        "wsj_lru": (0.47, 0.58, 0.80),
        "wsj_wbm": (0.52, 0.61, 0.80),
        "wsj_wbm_star": (0.59, 0.77, 0.98),
        "bst": (0.56, 0.74, 0.98),
    },
}
_OURS = ("wsj_learnt", "wsj_hinted", "wsj_learnt_before", "wsj_adaptive")
_WBMS = ("wsj_wbm", "wsj_wbm_text")
_HELD_AGAINST = dict.fromkeys((*_OURS, *_WBMS), "wsj_wbm")

Results = dict[tuple[str, int], list[Run]]


def budget(percent: int) -> int:
    """How many refreshes a share of the mean candidate set is."""
    return round(MEAN_CANDIDATES * percent / 100)


def experiments(streams: int = STREAMS) -> dict[str, Results]:
    """Every policy with every budget over every stream, on both kinds of remote data."""
    real = recorded(snapshots_file())
    evaluations = len(real.times_ms)
    remotes: dict[str, list[Remote]] = {
        "synthetic": [synthetic(real.users, evaluations, seed) for seed in range(streams)],
        "real": [real] * streams,
    }
    return {name: _results(each) for name, each in remotes.items()}


def _results(remotes: Sequence[Remote]) -> Results:
    found: Results = {}
    for seed, remote in enumerate(remotes):
        stream = mentions(remote.users, len(remote.times_ms), seed)
        for policy in POLICIES:
            for percent in PERCENTS:
                done = run(policy, remote, stream, budget(percent), seed)
                found.setdefault((policy.name, percent), []).append(done)
    return found


def federation_figures(streams: int = STREAMS) -> Sequence[Figure]:
    """Run the benchmark."""
    figures: list[Figure] = []
    for data, results in experiments(streams).items():
        accuracy = {key: float(np.mean([each.accuracies.mean() for each in runs])) for key, runs in results.items()}
        figures += _accuracies(data, accuracy)
        figures += _gaps(data, accuracy)
        for (policy, percent), runs in results.items():
            errors = float(np.mean([each.errors.sum() for each in runs]))
            figures.append(Figure(f"{data}_{policy}_{percent}_wrong_answers", errors, "answers"))
            if policy in _OURS:
                off = float(np.mean([np.abs(each.estimated - each.accuracies).mean() for each in runs]))
                figures.append(Figure(f"{data}_{policy}_{percent}_estimate_off", off, "share"))
    return [*figures, *live_figures(recorded(snapshots_file()))]


def _accuracies(data: str, accuracy: Mapping[tuple[str, int], float]) -> list[Figure]:
    figures = []
    for (policy, percent), value in accuracy.items():
        paper = ACCURACY[data][_HELD_AGAINST.get(policy, policy)][PERCENTS.index(percent)]
        name = PAPER if policy in ACCURACY[data] else f"{PAPER}'s WBM"
        figures.append(Figure(f"{data}_{policy}_{percent}_accuracy", value, "share", Baseline(name, paper)))
    return figures


def _gaps(data: str, accuracy: Mapping[tuple[str, int], float]) -> list[Figure]:
    """How much of the way from WBM to WBM*, which knows the times of change, each of our rankers goes."""
    figures = []
    for wbm in _WBMS:
        since = wbm.removeprefix("wsj_wbm")
        for policy in _OURS:
            closed = []
            for percent in PERCENTS:
                least, most = accuracy[wbm, percent], accuracy["wsj_wbm_star", percent]
                closed.append((accuracy[policy, percent] - least) / (most - least))
                figures.append(Figure(f"{data}_{policy}_{percent}_gap_closed{since}", closed[-1], "share"))
            name = f"{data}_{policy}_gap_closed{since}"
            figures.append(Figure(name, float(np.mean(closed)), "share", Baseline("asked", 1 / 3)))
    return figures
