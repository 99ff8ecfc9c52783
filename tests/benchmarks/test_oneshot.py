"""What `freshet bench oneshot` relies on: both engines agree, and a disagreement does not go unseen."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

from freshet.rdf.errors import FreshetError
from freshet_benchmarks.oneshot import Engines, check, load
from freshet_benchmarks.social import make_network
from freshet_benchmarks.social_queries import QUERIES
from freshet_benchmarks.social_triples import write_network


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Engines:
    path: Path = tmp_path_factory.mktemp("social") / "social.nt"
    with path.open("wb") as file:
        write_network(file, make_network(1000, activity=0.3))
    engines, times = load(path)
    assert times.freshet > 0
    return engines


@pytest.mark.parametrize("name", QUERIES)
def test_both_engines_agree(engines: Engines, name: str) -> None:
    assert check(engines, name, QUERIES[name]) > 0


def test_a_disagreement_is_an_error(engines: Engines) -> None:
    empty = Engines(engines.session, engines.dataset, ox.Store())
    with pytest.raises(FreshetError, match=r"S5 is not answered as it should be: [0-9]+ solutions against 0"):
        check(empty, "S5", QUERIES["S5"])


def test_no_answer_is_no_measurement(engines: Engines) -> None:
    with pytest.raises(FreshetError, match="0 solutions against 0"):
        check(engines, "none", "SELECT * WHERE { <http://example.org/nobody> ?p ?o }")
