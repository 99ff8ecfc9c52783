from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from freshet_benchmarks.figures import Baseline, Figure, figures_json, figures_table

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
