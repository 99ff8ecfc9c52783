"""`freshet bench` where the benchmarks are installed, and where they are not."""

from __future__ import annotations

import json
import sys

import pytest

from command_line import CommandLine


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capfd)


def test_a_name_that_is_no_benchmark(cli: CommandLine) -> None:
    finished = cli("bench", "nothing")
    assert finished.status == 2
    assert "there is no benchmark 'nothing'; there are: pipeline, " in finished.error_line


def test_without_a_name_they_are_listed(cli: CommandLine) -> None:
    finished = cli("bench")
    assert finished.status == 0
    assert {"oneshot", "lsbench"} <= set(finished.out.split())


@pytest.mark.parametrize("arguments", [["index"], []])
def test_a_wheel_has_no_benchmarks(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "freshet_benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if "benchmarks" not in place])
    finished = cli("bench", *arguments)
    assert finished.status == 2
    assert "benchmarks/ of Freshet's source repository" in finished.error_line


def test_a_benchmark_is_run_several_times(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    from freshet_benchmarks.benchmarks import BENCHMARKS
    from freshet_benchmarks.figures import Figure

    values = iter([3.0, 1.0, 2.0])
    monkeypatch.setitem(BENCHMARKS, "counted", lambda: [Figure("count", next(values), "runs")])
    (figure,) = json.loads(cli("bench", "counted", "--repeat", "3", "--json").out)["figures"]
    assert (figure["value"], figure["repeats"]["value"]) == (2.0, {"low": 1.0, "high": 3.0})
