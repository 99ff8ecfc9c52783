"""What `freshet bench index` relies on: every figure has a baseline, and wrong answers do not go unseen."""

from __future__ import annotations

import numpy as np
import pytest

from freshet.rdf.errors import FreshetError
from freshet_benchmarks.index import BATCH, Arrivals, SlidingRing, index_figures


def test_every_figure_has_a_baseline() -> None:
    figures = index_figures((10_000,), (1_000, 10_000, 100_000))
    names = [figure.name for figure in figures]
    assert len(set(names)) == len(names)
    assert "kernel_ring_inserts_10k_rows_1k_keys" in names
    assert "kernel_ring_ns_per_probe_with_one_match_10k_rows_10k_keys" in names
    assert "kernel_one_way_inserts_10k_rows_10k_keys" in names
    assert not any("100k" in name for name in names)
    assert all(figure.value > 0 and figure.baseline and figure.baseline.value > 0 for figure in figures)


def test_a_window_keeps_its_rows_as_it_slides() -> None:
    ring = SlidingRing(4 * BATCH, Arrivals(4 * BATCH, once=True))
    assert ring.probe(1_000)[1] == 1_000
    for _ in range(3):
        ring.slide(2 * BATCH)
        seconds, found = ring.probe(1_000)
        assert seconds > 0
        assert found > 0


def test_rows_that_are_not_found_are_an_error() -> None:
    ring = SlidingRing(BATCH, Arrivals(100))
    ring._index.unlink(np.arange(10, dtype=np.int32))
    with pytest.raises(FreshetError, match="the ring index finds"):
        ring.probe(1_000)
