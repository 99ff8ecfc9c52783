"""SERVICE with a budget: the example starts its endpoint itself."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from example_folders import EXAMPLES


def test_answers_are_what_the_endpoint_has_had_for_fewer_requests(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder: Path = EXAMPLES / "service"
    monkeypatch.syspath_prepend(str(folder))
    example = runpy.run_path(str(folder / "influential.py"), run_name="example")
    example["main"].__globals__["PAUSE_SECONDS"] = 0.05
    reports, followers = example["main"](windows=8)
    assert [report.time_ms for report in reports] == list(range(2000, 26_000, 2000))
    for report in reports:
        answers = [(row["user"].value, int(row["followers"].lexical)) for row in report.bindings()]
        assert len(answers) == len({user for user, _ in answers})
        assert followers.seen.issuperset(answers)
        assert report.freshness is not None
        assert report.freshness.failing is None
    answers_in_all = sum(len(report.rows) for report in reports)
    assert sum(report.freshness.refreshes for report in reports) < answers_in_all / 2
    assert f"{answers_in_all} answers" in capsys.readouterr().out
