"""LSBench's Q1 to Q6 over its sample, in CQELS-QL and C-SPARQL as published: native equals the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshet.syntax.parser import parse_query
from lsbench_world import PAGES, queries, world_of
from published_runs import compared
from shared_data import shared


@pytest.mark.parametrize("number", range(1, 7))
@pytest.mark.parametrize("dialect", PAGES)
def test_published(dialect: str, number: int, tmp_path: Path) -> None:
    shared("data/lsbench")
    text = queries(dialect)[number - 1]
    query = parse_query(text, dialect=dialect)
    world = world_of(dialect, number, dict.fromkeys(declared.window.stream.value for declared in query.windows))
    graphs = {iri.value: world.stored for iri in query.default_graphs} or {"": world.stored}
    found = compared(text, world.streams, graphs, dialect=dialect, folder=tmp_path)
    assert sum(len(report["bindings"]) for report in found) >= 8
