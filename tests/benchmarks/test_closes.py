"""What `freshet bench closes` relies on: every way of pushing says the same, and peers answer what Freshet answers."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from freshet.rdf.errors import FreshetError
from freshet.runtime.session import Session
from freshet_benchmarks import closes, closes_peers
from freshet_benchmarks.closes import CASES, WIDTH_MS, Case, Run, check_rows, closes_figures, run, run_peer
from freshet_benchmarks.closes_data import STREAM, WAYS, make_readings, stored
from freshet_benchmarks.closes_peers import AVERAGE, JOIN, peers
from freshet_benchmarks.peers import peer_module
from freshet_benchmarks.social_columns import Encoder


def installed(name: str, requirement: str) -> ModuleType | None:
    """A peer without going to PyPI."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


@pytest.fixture
def rooms(tmp_path: Path) -> Path:
    path = tmp_path / "rooms.nt"
    path.write_text(stored())
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_peers_put_out_as_many_rows(case: Case, rooms: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closes_peers, "peer_module", installed)
    readings = make_readings(200, WIDTH_MS / 1_000 + 3)
    ours = run(case, readings, rooms)
    theirs = {name: run_peer(case, readings, make(case.form, case.istream)) for name, make in peers().items()}
    assert "Polars" in theirs
    assert ours.rows > 0
    check_rows(case, ours, theirs)


def test_another_number_of_rows_is_an_error() -> None:
    with pytest.raises(FreshetError, match="join_rstream_every_1000_ms: Freshet puts out 10 rows, Polars 9"):
        check_rows(Case(JOIN, False, 1_000), Run(1.0, 10), {"Polars": Run(1.0, 9)})


def test_all_ways_push_the_same() -> None:
    readings = make_readings(100, 1)
    found = []
    for way in WAYS:
        session = Session()
        session.stream(STREAM, absorb=True)
        with session.dictionary.pins:
            encoder = Encoder(session.dictionary)
            for rows in readings.batches():
                session.push(STREAM, readings.pushed(rows, way, encoder))
        answer = session.query("SELECT * { ?s ?p ?o } ORDER BY ?s ?o").to_arrow().to_pydict()
        assert len(answer["s"]) == 100
        found.append(answer)
    assert found == found[:1] * len(WAYS)


def test_batches_are_of_100_ms() -> None:
    readings = make_readings(1_000, 0.95)
    parts = [readings.times[rows] for rows in readings.batches()]
    assert np.concatenate(parts).tolist() == readings.times.tolist()
    assert [set((part // 100).tolist()) for part in parts if len(part)] == [{at} for at in range(10)]


def test_figures_without_peers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be installed is said, and the rest is measured."""
    monkeypatch.setattr(closes, "peers", dict)
    monkeypatch.setattr(closes, "CASES", (Case(AVERAGE, True, 1_000),))
    figures = {figure.name: figure for figure in closes_figures(200, 100)}
    assert "neither Polars nor DuckDB can be had" in capsys.readouterr().err
    assert figures["average_istream_every_1000_ms"].baseline is None
    assert figures["join_pushed_as_ids"].ratio
    assert {f"{form}_pushed_as_{way}" for form in (JOIN, AVERAGE) for way in WAYS} < set(figures)


def test_a_peer_that_cannot_be_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_pip(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", no_pip)
    assert peer_module("no_such_peer", "no-such-peer>=1") is None
    assert "no-such-peer>=1 cannot be had, so it is not measured" in capsys.readouterr().err


def test_a_peer_is_installed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def pip(command: list[str], **_: object) -> None:
        home = Path(command[command.index("--target") + 1])
        home.mkdir(parents=True)
        (home / "some_peer.py").write_text("ANSWER = 42\n")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(subprocess, "run", pip)
    module = peer_module("some_peer", "some-peer")
    assert module is not None
    assert module.ANSWER == 42
