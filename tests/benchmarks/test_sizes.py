"""What `freshet bench sizes` relies on: sizes go by tens, each part measures something, and the picture has it all."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from freshet_benchmarks import sizes
from freshet_benchmarks.children import in_child, resident_bytes
from freshet_benchmarks.figures import Baseline
from freshet_benchmarks.many_queries import Run
from freshet_benchmarks.operator_forms import Form
from freshet_benchmarks.sizes import (
    absorbed_bytes,
    absorbed_figures,
    batch_milliseconds,
    element_microseconds,
    join_bytes,
    powers,
    query_figures,
    sizes_figures,
)
from freshet_benchmarks.sizes_plot import PANELS, line_of, plot


def test_sizes_go_by_tens() -> None:
    assert powers(10_000, 1_000_000) == [10_000, 100_000, 1_000_000]
    assert powers(1, 300) == [1, 10, 100]


def test_elements_take_time() -> None:
    assert element_microseconds(Form("join", 2, 50, 50, 50), 0.0) > 0


def test_a_batch_over_a_network() -> None:
    assert batch_milliseconds(20_000, batches=2) > 0


def test_memory_is_that_of_a_process() -> None:
    held = bytearray(b"x" * 50_000_000)
    with_it = resident_bytes()
    del held
    assert with_it - resident_bytes() > 40_000_000
    assert in_child(len, "four") == 4


@pytest.mark.slow
def test_absorbed_triples_and_joins_take_memory() -> None:
    assert in_child(absorbed_bytes, 30_000, 1) > 0
    assert in_child(join_bytes, 2, 2_000) >= 0


def test_all_parts_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes from other processes is made up: this is about names and baselines."""
    made_up: dict[str, object] = {
        "_queries": (Run(0.002, 0.1, 3), 5_000_000),
        "batch_milliseconds": 7.0,
        "absorbed_bytes": 75.0,
        "push_milliseconds": ([6.0, 8.0], [3.0]),
    }
    monkeypatch.setattr(sizes, "in_child", lambda function, *_: made_up.get(function.__name__, 9e6))
    monkeypatch.setattr(sizes, "element_microseconds", lambda *_: 2.0)
    figures = {figure.name: figure for figure in sizes_figures(100_000)}
    assert figures["window_average_10000_rows_microseconds"].value == 2.0
    assert figures["queries_cqels_100_one_a_batch_ms"].ratio == 1.0
    assert figures["queries_rspql_100_megabytes"].value == 5.0
    assert figures["queries_varied_100_ms"].value == 2.0
    assert figures["stored_100000_triples_batch_ms"].value == 7.0
    assert figures["absorbed_triple_3_queries_bytes"].ratio == 1.0
    assert figures["absorb_in_compaction_p50_ms"].value == 7.0
    assert figures["absorb_in_compaction_p50_ms"].baseline == Baseline("without one", 3.0)
    assert figures["table2_join_8_way_megabytes"].baseline is not None
    drawn = {name: figure.value for name, figure in figures.items()}
    for panel in PANELS:
        assert all(line_of(drawn, name) for name in panel.lines.values())
    root = ElementTree.fromstring(plot(drawn))
    lines = [element for element in root.iter() if element.tag.endswith("polyline")]
    assert len(lines) == sum(len(panel.lines) for panel in PANELS)


def test_a_picture_of_nothing() -> None:
    assert ElementTree.fromstring(plot({})).tag.endswith("svg")


@pytest.mark.slow
def test_queries_in_processes_of_their_own() -> None:
    figures = {figure.name: figure for figure in query_figures([1, 3])}
    assert figures["queries_cqels_3_one_a_batch_ms"].ratio
    assert figures["queries_varied_3_ms"].value > 0


@pytest.mark.slow
def test_absorbed_figures() -> None:
    assert [figure.name for figure in absorbed_figures(20_000)] == [
        f"absorbed_triple_{count}_queries_bytes" for count in (0, 1, 3)
    ]
