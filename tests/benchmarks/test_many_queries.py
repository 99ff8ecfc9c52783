"""What the benchmark of many queries relies on: that missing answers do not go unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshet.rdf.errors import FreshetError
from freshet_benchmarks import many_queries
from freshet_benchmarks.many_queries import make_world, run


@pytest.mark.parametrize("form", many_queries.FORMS)
def test_a_run(tmp_path: Path, form: str) -> None:
    found = run(make_world(tmp_path, users=400), form, 40, batches=2)
    assert found.rows > 40
    assert found.batch_seconds > 0


@pytest.mark.parametrize("form", [*many_queries.FORMS, "varied"])
def test_queries_that_come_one_by_one(tmp_path: Path, form: str) -> None:
    kept: list[object] = []
    found = run(make_world(tmp_path, users=400), form, 6, batches=2, one_a_batch=True, keep=kept)
    assert found.rows > 0
    assert found.register_seconds > 0
    assert len(kept) == 1


def test_varied_queries_differ() -> None:
    asked = many_queries.texts("varied", range(12))
    assert len(set(asked)) == 12
    assert sum("CONSTRUCT" in text for text in asked) == 2


def test_missing_answers_are_an_error(tmp_path: Path) -> None:
    world = make_world(tmp_path, users=400)
    world.stored.write_text("")
    with pytest.raises(FreshetError, match=r"5 queries reported 0 posts, there were [0-9]+"):
        run(world, "rspql", 5, batches=1)
