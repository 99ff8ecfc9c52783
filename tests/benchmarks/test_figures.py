from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from freshet_benchmarks.figures import Baseline, Figure, combine_runs, figures_json, figures_table

FIGURES = [
    Figure("throughput", 120_000.0, "records/s", Baseline("goal", 100_000.0)),
    Figure("engine share", 0.125, "of a batch"),
    Figure("odd", 1.0, "x", Baseline("nothing", 0.0)),
]


def test_the_json_form() -> None:
    text = figures_json("pipeline", FIGURES)
    assert "\n" not in text
    assert json.loads(text) == {
        "bench": "pipeline",
        "figures": [
            {
                "name": "throughput",
                "value": 120_000.0,
                "unit": "records/s",
                "baseline": {"name": "goal", "value": 100_000.0},
                "ratio": 1.2,
            },
            {"name": "engine share", "value": 0.125, "unit": "of a batch", "baseline": None, "ratio": None},
            {
                "name": "odd",
                "value": 1.0,
                "unit": "x",
                "baseline": {"name": "nothing", "value": 0.0},
                "ratio": None,
            },
        ],
    }


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        figures_json("pipeline", [Figure("broken", float("nan"), "s")])


def test_the_table() -> None:
    out = io.StringIO()
    Console(file=out, width=100).print(figures_table("pipeline", FIGURES))
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert lines[0] == "pipeline"
    assert "throughput 120,000 records/s goal 100,000 1.20" in lines
    assert "engine share 0.125 of a batch" in lines


def _run(value: float, baseline: float) -> list[Figure]:
    return [Figure("rate", value, "records/s", Baseline("other", baseline)), Figure("share", 0.5, "of a batch")]


RUNS = [_run(100.0, 50.0), _run(300.0, 100.0), _run(120.0, 40.0), _run(90.0, 60.0), _run(200.0, 80.0)]


def test_several_runs_are_medians_and_ranges() -> None:
    rate, share = json.loads(figures_json("pipeline", combine_runs(RUNS)))["figures"]
    assert rate == {
        "name": "rate",
        "value": 120.0,
        "unit": "records/s",
        "baseline": {"name": "other", "value": 60.0},
        "ratio": 2.0,
        "repeats": {
            "runs": 5,
            "value": {"low": 90.0, "high": 300.0},
            "baseline": {"low": 40.0, "high": 100.0},
            "ratio": {"low": 1.5, "high": 3.0},
        },
    }
    assert share["repeats"] == {"runs": 5, "value": {"low": 0.5, "high": 0.5}, "baseline": None, "ratio": None}


def test_the_table_of_several_runs() -> None:
    out = io.StringIO()
    Console(file=out, width=140).print(figures_table("pipeline", combine_runs(RUNS)))
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert lines[1] == "figure median unit against ratio runs range range of the ratio"
    assert "rate 120 records/s other 60 2.00 5 90 to 300 1.50 to 3.00" in lines


def test_a_figure_that_a_run_lacks() -> None:
    (rate, share) = combine_runs([RUNS[0], RUNS[1][:1]])
    assert rate.repeats is not None
    assert share.repeats is not None
    assert (rate.repeats.runs, share.repeats.runs) == (2, 1)
