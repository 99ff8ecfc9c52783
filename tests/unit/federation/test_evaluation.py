"""How long an evaluation may wait for remote data, and what it reports about its answer."""

from __future__ import annotations

import logging

import pytest

from freshet.federation import evaluation as module
from freshet.federation.evaluation import Constraints, Evaluation
from freshet.rdf.errors import InputError
from freshet.results.report import Freshness


class Watch:
    """A clock that tests move."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    made = Watch()
    monkeypatch.setattr(module, "perf_counter", made)
    return made


def test_without_a_latency_it_may_take_its_time() -> None:
    evaluation = Evaluation("q", Constraints())
    evaluation.begin()
    assert evaluation.seconds_left() is None


def test_what_comes_after_the_waiting_is_left_over(watch: Watch) -> None:
    evaluation = Evaluation("q", Constraints(latency_ms=200))
    for _ in range(100):
        evaluation.begin()
        watch.now += 0.01
        left = evaluation.seconds_left()
        assert left is not None
        watch.now += left
        evaluation.spent(1.0, 1, 1, 0, None)
        watch.now += 0.03  # what this query always takes to make its answer
        freshness = evaluation.freshness()
    assert freshness.missed == ()
    assert freshness.latency_ms == pytest.approx(195, abs=5)
    assert evaluation.counts["latency"] < 5


def test_accuracy_is_of_all_views_together(watch: Watch) -> None:
    evaluation = Evaluation("q", Constraints(accuracy=0.75))
    evaluation.begin()
    evaluation.spent(2.0, 2, 1, 10, None)
    evaluation.spent(1.0, 3, 4, 500, "it is gone")
    freshness = evaluation.freshness()
    assert freshness.accuracy == pytest.approx(0.6)
    assert (freshness.refreshes, freshness.oldest_ms, freshness.failing) == (5, 500, "it is gone")
    assert freshness.missed == ("accuracy",)
    evaluation.begin()
    assert evaluation.freshness().accuracy == 1.0  # no entry was needed


def test_the_log_is_told_now_and_then(watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    evaluation = Evaluation("q", Constraints(accuracy=0.9))
    for _ in range(20):
        evaluation.begin()
        evaluation.spent(0.5, 1, 1, 0, None)
        evaluation.freshness()
    assert len(caplog.records) == 5  # the 1st, 2nd, 4th, 8th and 16th time
    assert "the query q has missed its accuracy" in caplog.text


def test_endpoints_that_fail_are_told_though_nothing_is_reported(
    watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    silent: list[tuple[str, Freshness]] = []
    evaluation = Evaluation(
        "q", Constraints(), on_silent_evaluation=lambda query, freshness: silent.append((query, freshness))
    )
    for failing in ("it is gone", "it is gone", None, None):
        evaluation.begin()
        evaluation.spent(0.0, 1, 1, 0, failing)
        evaluation.silent_evaluation(evaluation.freshness())
    assert [record.getMessage() for record in caplog.records] == [
        "the query q goes on with the remote data that it has: it is gone",
        "the query q is answered by all its endpoints again",
    ]
    assert [(query, freshness.failing) for query, freshness in silent] == [("q", "it is gone")] * 2 + [("q", None)] * 2


def test_an_endpoint_that_comes_and_goes_does_not_fill_the_log(watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    evaluation = Evaluation("q", Constraints())
    for number in range(40):
        evaluation.begin()
        evaluation.spent(1.0, 1, 1, 0, None if number % 2 else "it is gone")
        evaluation.freshness()
    assert len(caplog.records) == 10  # when it has gone and come the 1st, 2nd, 4th, 8th and 16th time
    assert evaluation.counts["failing"] == 20


@pytest.mark.parametrize("wrong", [{"accuracy": 0.0}, {"accuracy": 1.5}, {"latency_ms": 0}, {"latency_ms": -5.0}])
def test_constraints_that_nobody_can_mean(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="is more than 0"):
        Constraints(**wrong)
