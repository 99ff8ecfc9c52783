"""What `freshet bench table1` relies on: every query is answered, and its streams come in one order, as instants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError
from freshet_benchmarks import table1
from freshet_benchmarks.registered import element_count
from freshet_benchmarks.table1 import SHORT, Merged, World, make_world, queries, query_figures, run, table1_figures
from freshet_benchmarks.table1_queries import WINDOWS

SMALL = {stream: 2_000 if size > 1_000 else 500 for stream, size in WINDOWS.items()}
PUBLISHED = {
    *(f"sr_q{number}" for number in (1, 4, 5, 8, 10)),
    *(f"ls_q{number}" for number in (1, 2, 3, 4, 5, 6, 10)),
}
OTHERS = ("negation", "union", "optional", "sub_select", "top_k")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("table1"), 20_000)


def test_the_table_is_whole(world: World) -> None:
    asked = {each.name: each for each in queries(world)}
    assert {name for name, each in asked.items() if each.published} == PUBLISHED
    assert set(asked) - PUBLISHED == {f"{data}_{name}" for data in ("sr", "ls") for name in OTHERS}


def test_every_query_is_answered(world: World) -> None:
    for asked in queries(world, SMALL):
        found, singles = run(world, asked, SHORT, SMALL)
        assert found.elements == 3_000
        rate, rows = query_figures(asked, found)
        assert rate.name == f"{asked.name}_triples_per_second"
        assert bool(rate.ratio) == (asked.name in PUBLISHED)
        assert rows.value >= 0
        kinds = ("one_element_microseconds", "one_element_arrow_microseconds")
        assert [each.name for each in singles] == [f"{asked.name}_{kind}" for kind in kinds]
        assert all(each.value > 0 for each in singles)


def test_a_query_without_answers_is_an_error(world: World) -> None:
    asked = next(each for each in queries(world, SMALL) if each.name == "ls_q2")
    asked = replace(asked, text=asked.text.replace("account_of", "nothing_of"))
    with pytest.raises(FreshetError, match="ls_q2 had no answers"):
        run(world, asked, SHORT, SMALL)


def test_streams_are_merged() -> None:
    def block(first: int) -> dict[str, Elements]:
        lefts, rights = first + 2 * np.arange(5), first + 1 + 2 * np.arange(5)
        return {"s": Elements(lefts, lefts, lefts, lefts), "t": Elements(rights, rights, rights, rights)}

    def blocks() -> Iterator[dict[str, Elements]]:
        first = 0
        while True:
            yield block(first)
            first += 10

    merged = Merged(blocks())
    filled = merged.fill({"s": 6, "t": 2})
    assert [len(filled[stream].times) for stream in "st"] == [10, 10]
    assert {time for stream in "st" for time in filled[stream].times.tolist()} == {1}
    [first, second] = merged.batches(7, 2)
    assert element_count(first) == element_count(second) == 7
    assert first["s"].subjects.tolist() == [20, 22, 24, 26]
    assert first["s"].times.tolist() == [2, 4, 6, 8]
    assert second["s"].subjects.tolist() == [28, 30, 32]
    assert second["t"].times.tolist() == [9, 11, 13, 15]


def test_windows_are_among_the_figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, world: World) -> None:
    monkeypatch.setattr(table1, "make_world", lambda *_: world)
    monkeypatch.setattr(table1, "queries", lambda *_: [])
    assert {figure.name: figure.value for figure in table1_figures(100)}["window_poststream"] == 10_000
