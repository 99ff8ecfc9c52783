"""What `freshet bench joins` relies on."""

from __future__ import annotations

from freshet_benchmarks.joins import _CLOSE, _range_join, joins_figures


def test_both_queries_answer_the_same() -> None:
    found, plain = _range_join(300, _CLOSE, 0.0), _range_join(300, f"COALESCE({_CLOSE}, false)", 0.0)
    assert found.elements == plain.elements
    assert found.rows == plain.rows > 0


def test_figures() -> None:
    figures = {figure.name: figure for figure in joins_figures(200, 400, 0.0, 20)}
    assert figures["range_join_elements_per_second"].value > 0
    assert figures["skewed_join_one_element_microseconds"].baseline is not None
