"""The benchmark of the server, in small: it runs, and its figures have the names that they keep."""

import pytest

from freshet_benchmarks import serve


@pytest.mark.slow
def test_the_figures_have_their_names(monkeypatch):
    monkeypatch.setattr(serve, "_TIMES", 12)
    monkeypatch.setattr(serve, "_REEVALUATIONS", 2)
    monkeypatch.setattr(serve, "_EVENTS", 10)
    monkeypatch.setattr(serve, "_FAN_OUTS", 2)
    monkeypatch.setattr(serve, "_RATE_SECONDS", 0.2)
    monkeypatch.setattr(serve, "peer_python", lambda package: None)  # nothing is installed in a test
    figures = {figure.name: figure for figure in serve.serve_figures(2_000, subscribers=(3,))}
    for query in ("S1", "S3", "S5"):
        assert figures[f"{query}_p50"].baseline.name == "in process"
        assert {f"{query}_http_p50", f"{query}_http_p99", f"{query}_requests_per_second"} <= figures.keys()
    for live in ("live_S3", "live_S6", "live_count"):
        assert figures[f"{live}_p50"].baseline.name == "asked again in process"
        assert f"{live}_p99" in figures
    assert {"event_p50", "event_p99", "event_with_checkpoint_p50", "event_with_checkpoint_p99"} <= figures.keys()
    assert {"subscribers_3_median", "subscribers_3_last", "subscribers_3_server_cpu"} <= figures.keys()
    assert all(figure.value >= 0 for figure in figures.values())
