"""The workload of `freshet bench lsbench` on a small network: native equals the reference, absorbed streams and all."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import pyoxigraph as ox
import pytest

from comparing import differences, reports_of
from freshet_benchmarks.lsbench_play import Player
from freshet_benchmarks.lsbench_queries import NAMES, continuous_query
from freshet_benchmarks.oneshot import Engines, check
from freshet_benchmarks.social import SocialNetwork, make_network
from freshet_benchmarks.social_queries import one_shot_queries
from freshet_benchmarks.social_streams import RATE, RATES, TIMELESS, SocialStreams, write_streams
from freshet_benchmarks.social_triples import write_network
from lsbench_world import kept_form
from reference.evaluator import evaluate

SECONDS = 2.0
NETWORK = make_network(24, activity=0.3)
STREAMS = SocialStreams(NETWORK, RATE / 30)


def written(network: SocialNetwork) -> bytes:
    file = io.BytesIO()
    write_network(file, network)
    return file.getvalue()


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[tuple[int, str]]]:
    """The streams as the reference reads them, numbers as pyoxigraph writes them."""
    paths = write_streams(tmp_path_factory.mktemp("streams"), STREAMS, seconds=SECONDS)
    found = {}
    for iri, path in paths.items():
        timed = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        triples = [next(iter(ox.parse(line, ox.RdfFormat.N_TRIPLES))).triple for _, line in timed]
        found[iri] = [
            (int(time_ms), f"{triple.subject} {triple.predicate} {kept_form(triple.object)} .")
            for (time_ms, _), triple in zip(timed, triples, strict=True)
        ]
    return found


@pytest.fixture(scope="module")
def stored() -> list[ox.Quad]:
    quads = list(ox.parse(written(NETWORK), ox.RdfFormat.N_TRIPLES))
    assert 4_000 < len(quads) < 10_000
    return [ox.Quad(quad.subject, quad.predicate, kept_form(quad.object)) for quad in quads]


@pytest.fixture(scope="module")
def reports() -> Mapping[str, list[dict[str, object]]]:
    """What the native engine reports when all queries run at once, batch by batch as the benchmark plays them."""
    player = Player(NETWORK, STREAMS.rate)
    player.load()
    queries = {name: player.session.register(continuous_query(name, player.user)) for name in NAMES}
    for batch in player.batches(round(SECONDS * 10)):
        player.play(batch)
    player.session.finish()
    player.raise_failures()
    return {
        name: [json.loads(player.session.ndjson(report)) | {"query": name} for report in query.take()]
        for name, query in queries.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_continuous(
    name: str,
    reports: Mapping[str, list[dict[str, object]]],
    lines: Mapping[str, list[tuple[int, str]]],
    stored: list[ox.Quad],
) -> None:
    text = continuous_query(name, Player(NETWORK, STREAMS.rate).user)
    answers = evaluate(text, lines, stored=stored, absorb={iri: iri in TIMELESS for iri in RATES})
    expected = reports_of(answers, name, "rstream")
    differ = differences(reports[name], expected)
    assert not differ, differ[:2000]
    assert sum(len(report["bindings"]) for report in expected) >= 8


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Engines:
    """A network into which streams have flowed for a second, in both engines."""
    network = make_network(200, activity=0.3)
    player = Player(network, RATE / 20)
    player.load()
    for batch in player.batches(10):
        player.play(batch)
    store = ox.Store()
    store.bulk_load(written(network), ox.RdfFormat.N_TRIPLES)
    before = len(store)
    folder: Path = tmp_path_factory.mktemp("absorbed")
    for iri, path in write_streams(folder, player.streams, seconds=1).items():
        if iri in TIMELESS:
            absorbed = "".join(line.partition("\t")[2] for line in path.read_text(encoding="utf-8").splitlines(True))
            store.load(absorbed.encode(), ox.RdfFormat.N_TRIPLES)
    assert len(store) > before + 1000
    return Engines(player.session, player.session.dataset(), store)


@pytest.mark.parametrize("name", one_shot_queries())
def test_one_shot(name: str, engines: Engines) -> None:
    assert check(engines, name, one_shot_queries(user=100, maker=101)[name]) > 0
