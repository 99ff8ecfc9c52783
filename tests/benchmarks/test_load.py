"""The benchmark of loading, small, and with tasks in this process."""

from __future__ import annotations

from freshet_benchmarks import load
from tasks_here import TasksHere


def test_figures(monkeypatch):
    monkeypatch.setattr(load, "spark_session", lambda master: TasksHere())
    monkeypatch.setattr(load, "WARM_TRIPLES", 2_000)
    figures = {figure.name: figure for figure in load.load_figures(10_000)}
    assert list(figures) == [
        "load_triples_per_second",
        "session_load_triples_per_second",
        "load_against_session",
        "open_ms",
        "columns_bytes_per_triple",
        "directories_bytes_per_triple",
        "dictionary_bytes_per_triple",
        "tables_bytes_per_triple",
        "source_bytes_per_triple",
        "triples",
        "terms",
    ]
    assert figures["columns_bytes_per_triple"].value == 32
    assert figures["load_triples_per_second"].baseline.name == "pyoxigraph bulk_load"
    assert figures["triples"].value > 9_000
    assert all(figure.value > 0 for figure in figures.values())
