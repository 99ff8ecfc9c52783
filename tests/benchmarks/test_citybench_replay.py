"""The benchmark of CityBench: both ways of answering report the same rows, and a difference does not go unseen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freshet.rdf.errors import FreshetError
from freshet_benchmarks import citybench_replay
from freshet_benchmarks.citybench_replay import EXCERPT, citybench_figures
from shared_data import shared

SHORT = replace(EXCERPT, length_ms=3_000)


def test_both_ways_report_the_same() -> None:
    figures = {figure.name: figure for figure in citybench_figures(shared("data/citybench"), SHORT)}
    assert figures["citybench_rows"].value > 1000
    assert figures["citybench_queries"].value == 24
    assert figures["citybench_elements_per_second"].ratio


def test_a_difference_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(citybench_replay, "evaluate_anew", lambda *_: (1.0, 0))
    monkeypatch.setattr(citybench_replay, "FOLDERS", ("rspql-from-rsp4j",))
    with pytest.raises(FreshetError, match=r"by increments [1-9][0-9]* rows were reported, by evaluating anew 0"):
        citybench_figures(shared("data/citybench"), SHORT)
