"""What `freshet bench lsbench` relies on: every figure is there, and what says nothing is an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from freshet.rdf.errors import FreshetError, InputError
from freshet.store.dataset import StoredDataset
from freshet.syntax.parser import parse_query
from freshet_benchmarks import benchmarks, lsbench
from freshet_benchmarks.benchmarks import Sized, measure
from freshet_benchmarks.lsbench_bytes import stored_bytes
from freshet_benchmarks.lsbench_load import Form, mixed_load
from freshet_benchmarks.lsbench_oneshot import ORDERS, PHASES, OneShot, Times, one_shot
from freshet_benchmarks.lsbench_play import SHORT, USUAL, Batches, Player
from freshet_benchmarks.lsbench_queries import NAMES, continuous_query
from freshet_benchmarks.social import make_network
from freshet_benchmarks.social_streams import RATE, RATES
from freshet_benchmarks.social_triples import network_of


@pytest.mark.slow
def test_all_figures() -> None:
    figures = {figure.name: figure for figure in lsbench.measured(Player(network_of(40_000), RATE / 5), SHORT)}
    for name in (
        *(f"{query}{part}" for query in NAMES for part in ("_ms", "_p90_ms", "_p99_ms", "_rows")),
        *(f"S{number}{phase}_ms" for number in range(1, 7) for phase in ("", "_streams", "_queries")),
        *(f"inject_{stream}_ms" for stream in ("post", "post_like", "photo", "photo_like", "gps")),
        "continuous_geometric_mean_ms",
        "all_six_ms",
        "slowdown_streams",
        "slowdown_queries",
        "slowdown_streams_mean",
        "slowdown_queries_mean",
        "store_bytes_per_triple",
        "dictionary_bytes_per_triple",
        "stream_index_bytes_per_row",
        "stream_index_share",
    ):
        assert figures[name].value > 0, name
    assert figures["triples"].value == pytest.approx(40_000, rel=0.15)
    assert figures["stored_triples"].value > figures["triples"].value
    assert 8 < figures["stream_index_bytes_per_row"].value < 16
    mean = figures["continuous_geometric_mean_ms"].baseline
    assert mean is not None
    assert mean.value == pytest.approx(0.48, abs=0.005)
    slowdown = figures["slowdown_queries"].baseline
    assert slowdown is not None
    assert 1.0 < slowdown.value < 1.1
    assert figures["streams_behind_ms"].value >= 0
    # None keeps up where the machine has too much else to do; then even the first were too many.
    for name in ("mixed", "mixed_all"):
        assert figures[f"{name}_executions_per_second"].value > 0 or figures[f"{name}_saturated"].value == 1


def timed(off: list[float], streams: list[float], queries: list[float]) -> Mapping[str, Times]:
    """A round in which S1 took so long in each phase, and S2 ten times as long."""
    phases = {"off": off, "streams": streams, "queries": queries}
    return {phase: {"S1": times, "S2": [10 * each for each in times]} for phase, times in phases.items()}


def test_a_slowdown_is_that_of_a_usual_round() -> None:
    """The machine is half as fast in the second round, and something else runs while queries are asked in the third."""
    rounds = [
        timed([1, 1, 1], [1, 1, 1], [1.05, 1.05, 1.05]),
        timed([2, 2, 2], [2, 2, 2], [2.1, 2.1, 2.1]),
        timed([1, 1, 1], [1, 1, 1], [9, 9, 9]),
    ]
    found = OneShot(rounds, 0.0)
    assert found.slowdown("queries") == pytest.approx(1.05)
    assert found.slowdown("streams") == pytest.approx(1)
    assert found.medians("off") == {"S1": 1, "S2": 10}


def test_the_mean_slowdown_has_what_few_queries_wait_for() -> None:
    found = OneShot([timed([1, 1, 1, 1], [1, 1, 1, 5], [1, 1, 1, 1])], 0.0)
    assert found.slowdown("streams") == pytest.approx(1)
    assert found.mean_slowdown("streams") == pytest.approx(2)
    assert found.mean_slowdown("queries") == pytest.approx(1)


def test_no_phase_has_the_same_place_in_all_rounds() -> None:
    rounds = [ORDERS[number % len(ORDERS)] for number in range(USUAL.rounds)]
    for place in range(len(PHASES)):
        assert sorted(order[place] for order in rounds) == sorted(PHASES * (len(rounds) // len(PHASES)))


@pytest.mark.slow
def test_every_query_is_asked_equally_often_in_all_phases() -> None:
    played = Player(network_of(40_000), RATE / 5)
    played.load()
    asked_before = played.next_batch
    found = one_shot(played, replace(SHORT, rounds=2, seconds=0.05))
    assert len(found.rounds) == 2
    for phases in found.rounds:
        assert set(phases) == set(PHASES)
        for times in phases.values():
            assert len({len(each) for each in times.values()}) == 1
            assert all(each > 0 for some in times.values() for each in some)
    assert played.next_batch > asked_before
    assert played.session.engine.names == []


def player(users: int = 30) -> Player:
    made = Player(make_network(users, activity=0.2), RATE / 100)
    made.load()
    return made


def test_a_query_without_answers_is_an_error() -> None:
    played = player()
    batches = played.batches(3)
    with pytest.raises(FreshetError, match="the query L2 had no answers, so that its time says nothing"):
        asked(played, batches)
    assert played.session.engine.names == []


def asked(played: Player, batches: Batches) -> None:
    with played.asking(["L2"], user=10**6, answered=True):
        for batch in batches:
            played.play(batch)


def test_an_error_of_the_streams_is_not_lost() -> None:
    played = player()
    [batch] = played.batches(1)
    with (
        pytest.raises(InputError, match="there is no stream <nowhere>"),
        played.play_in_background([{"nowhere": batch[next(iter(RATES))]}]) as thread,
    ):
        thread.join()


def test_numbers_go_on_at_another_rate() -> None:
    """What is new at another rate is not what was there already."""
    played = player()
    posts = next(iter(RATES))
    first = np.concatenate([batch[posts].subjects for batch in played.batches(4)])
    for batch in played.batches(4):
        played.play(batch)
    played.at_rate(RATE / 200)
    then = np.concatenate([batch[posts].subjects for batch in played.batches(8)])
    played.at_rate(RATE / 100)
    again = np.concatenate([batch[posts].subjects for batch in played.batches(4)])
    names = [
        {term for term in map(str, played.session.dictionary.decode_many(some)) if "/post/po" in term}
        for some in (first, then, again)
    ]
    assert all(names)
    assert not names[0] & names[1]
    assert names[1] & names[2]  # both go on from the same batch


def test_a_mixed_load_without_answers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    played = player()
    monkeypatch.setattr("freshet_benchmarks.lsbench_load.WARM_BATCHES", 0)
    monkeypatch.setattr("freshet_benchmarks.lsbench_load.BATCHES", 1)
    monkeypatch.setattr(Player, "batches", lambda *_: [{}])
    with pytest.raises(FreshetError, match="no query of the mixed load had answers"):
        mixed_load(played, {"L2": 0.1}, SHORT)


@pytest.mark.parametrize("name", NAMES)
def test_a_query_about_somebody(name: str) -> None:
    assert Form(name).about(12) == parse_query(continuous_query(name, 12))


def test_bytes_of_a_store() -> None:
    stored = StoredDataset()
    nothing = sum(stored_bytes(stored).values())
    stored.load(*(np.arange(1, 1001) for _ in range(3)))
    stored.snapshot().graph(0).count(1, 1, 0)
    assert sum(stored_bytes(stored).values()) >= nothing + 3 * 8 * 1000


def test_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int | None, int | None]] = []
    monkeypatch.setitem(
        benchmarks.SIZED, "lsbench", Sized(lambda *sizes: told.append(sizes) or [], ("--triples", "--rate"))
    )
    for triples, rate in ((None, None), ("10M", "133000"), ("1.5m", "133K")):
        measure("lsbench", triples=triples, rate=rate)
    assert told == [(None, None), (10_000_000, 133_000), (1_500_000, 133_000)]
    for bad in ("", "ten", "-5", "0", "10MB"):
        with pytest.raises(InputError, match="--triples takes a number such as 133000, 500K or 10M"):
            measure("lsbench", triples=bad)
    with pytest.raises(InputError, match="the benchmark index takes neither"):
        measure("index", rate="5")
    with pytest.raises(InputError, match="the benchmark operators takes no --rate"):
        measure("operators", rate="5")
    with pytest.raises(InputError, match=r"there is no benchmark 'x'; there are: .*lsbench"):
        measure("x")
