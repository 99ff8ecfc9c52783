"""What the benchmark of many queries relies on: the stream's shape, and that missing answers do not go unseen."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

from freshet.bench import many_queries
from freshet.bench.many_queries import make_world, run
from freshet.bench.social import make_network
from freshet.bench.social_stream import post_stream
from freshet.bench.social_triples import SIOC
from freshet.rdf.errors import FreshetError


def test_the_stream_is_in_order_and_whole() -> None:
    network = make_network(50)
    lines = post_stream(network, posts_per_second=100).decode().splitlines()
    times = [int(line.partition("\t")[0]) for line in lines]
    assert times == sorted(times)
    assert times[-1] == (network.posters.size - 1) * 10
    quads = [next(iter(ox.parse(line.partition("\t")[2], ox.RdfFormat.N_TRIPLES))) for line in lines]
    posts = [quad.object.value for quad in quads if quad.predicate.value == SIOC + "creator_of"]
    assert len(set(posts)) == len(posts) == network.posters.size
    about = [quad.subject.value if quad.subject.value in set(posts) else quad.object.value for quad in quads]
    runs = [post for number, post in enumerate(about) if number == 0 or about[number - 1] != post]
    assert runs == posts


@pytest.mark.parametrize("form", many_queries.FORMS)
def test_a_run(tmp_path: Path, form: str) -> None:
    found = run(make_world(tmp_path, users=400), form, 40, batches=2)
    assert found.rows > 40
    assert found.batch_seconds > 0


def test_missing_answers_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(tmp_path, users=400)
    world.stored.write_text("")
    with pytest.raises(FreshetError, match=r"5 queries reported 0 posts, there were [0-9]+"):
        run(world, "rspql", 5, batches=1)
    monkeypatch.setattr(many_queries, "BATCH_ELEMENTS", 10**6)
    with pytest.raises(FreshetError, match="too short"):
        run(world, "rspql", 5, batches=1)


def test_a_seed_gives_the_same_stream() -> None:
    first, second = (post_stream(make_network(30), posts_per_second=1000) for _ in range(2))
    assert first == second
