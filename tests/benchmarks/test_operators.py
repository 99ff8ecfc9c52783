"""What `freshet bench operators` relies on: plans by increments and from scratch give the same answers."""

from __future__ import annotations

import numpy as np
import pytest

from freshet_benchmarks.arrival_workloads import Incremental, PutOut, Scratch, Top, Workload
from freshet_benchmarks.operators import Measured, elements_per_second
from freshet_benchmarks.single_pushes import push_figures

WORKLOADS = (
    Workload(3, 300, 200),
    Workload(2, 300, 30, Top.LEAST),
    Workload(2, 300, 3_000, Top.LEAST),
    Workload(1, 300, 1, Top.AVERAGE, first_values=20),
    Workload(2, 300, 100, Top.DISTINCT, first_values=20),
)


def rows(table: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(row) for row in table.tolist()}


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: f"{workload.patterns} {workload.top.name}")
def test_both_ways_agree(workload: Workload) -> None:
    random = np.random.default_rng(1)
    incremental, scratch = Incremental(workload), Scratch(workload)
    last: dict[tuple[int, ...], tuple[int, ...]] = {}
    for number in range(30):
        batch = workload.batch(random, 50 * number, 50)
        put_out = incremental.run(batch)
        assert isinstance(put_out, PutOut)
        scratch.receive(batch)
        new = rows(scratch.run())
        keys = {Top.AVERAGE: 1, Top.LEAST: 0}.get(workload.top)
        if keys is None:
            # What a batch made new was new at one of its arrivals.
            assert new <= rows(put_out.rows)
        else:
            last.update((tuple(row[:keys]), tuple(row)) for row in put_out.rows.tolist())
            answer = rows(scratch.answer)
            assert answer <= set(last.values())
            assert len({row[:keys] for row in answer}) == len(answer)


def test_a_figure_has_its_baseline() -> None:
    figure = elements_per_second(Measured("small", Workload(2, 500, 100), 2, 1))
    assert figure.name == "small_elements_per_second"
    assert figure.value > 0
    assert figure.baseline is not None
    assert figure.baseline.value > 0


def test_pushes_are_measured() -> None:
    assert all(figure.value > 0 for figure in push_figures(100))
