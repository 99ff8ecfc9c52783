"""What `freshet bench citybench` relies on: plans become queries, every one is answered, and missing data are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshet.rdf.errors import InputError
from freshet.syntax.parser import parse_query
from freshet_benchmarks.citybench import CITY, SAO, SERVICES, SSN
from freshet_benchmarks.citybench_latency import citybench_figures, shared_folder
from freshet_benchmarks.citybench_queries import NAMES, PUBLISHED_MS, city_query
from shared_data import shared

PLAN = f"""REGISTER QUERY citybench_Q6 AS
SELECT ?obId1 ?lat2 ?nowhere
FROM <{SERVICES}Parking>
[ RANGE 3s STEP 1s ]
FROM <{SERVICES}Users> [ RANGE 3s STEP 1s ]
WHERE {{
?obId1 <{SSN}observedBy> <{SSN}observedBy> <-S
?obId1 <{SSN}observedBy> <{SERVICES}Parking> <-S
?obId1 <{SSN}observedProperty> ?p1 ->S
?p1   a <{CITY}ParkingVacancy> ->T
?obId2 <{SSN}observedBy> <{SERVICES}Users> <-S
?obId2 <{SAO}hasValue> ?v2 ->S
?v2 <{CITY}hasLatitude> ?lat2 ->S
}}
"""


def test_a_plan_becomes_a_query(tmp_path: Path) -> None:
    (tmp_path / "Q6.txt").write_text(PLAN)
    found = city_query(tmp_path, "C6")
    assert found.streams == (f"{SERVICES}Parking", f"{SERVICES}Users")
    expected = f"""REGISTER RSTREAM <C6> AS SELECT ?obId1 ?lat2
        FROM NAMED WINDOW <w0> ON <{SERVICES}Parking> [RANGE PT3S STEP PT1S]
        FROM NAMED WINDOW <w1> ON <{SERVICES}Users> [RANGE PT3S STEP PT1S]
        WHERE {{ ?p1 a <{CITY}ParkingVacancy> .
          WINDOW <w0> {{ ?obId1 <{SSN}observedBy> <{SERVICES}Parking> . ?obId1 <{SSN}observedProperty> ?p1 . }}
          WINDOW <w1> {{ ?obId2 <{SSN}observedBy> <{SERVICES}Users> . ?obId2 <{SAO}hasValue> ?v2 .
                         ?v2 <{CITY}hasLatitude> ?lat2 . }} }}"""
    assert parse_query(found.text) == parse_query(expected)


def test_a_file_that_is_no_plan(tmp_path: Path) -> None:
    (tmp_path / "Q1.txt").write_text("SELECT ?s { ?s ?p ?o }")
    with pytest.raises(InputError, match="there is no plan of C1"):
        city_query(tmp_path, "C1")


def test_missing_data_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert citybench_figures(tmp_path) == []
    assert f"skipped, there is no {tmp_path / 'citybench'}" in capsys.readouterr().err


def test_where_the_data_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FRESHET_SHARED", str(tmp_path))
    assert shared_folder() == tmp_path / "data"


def test_every_query_is_measured() -> None:
    figures = {figure.name: figure for figure in citybench_figures(shared("data"), closes=3)}
    for name in NAMES:
        assert figures[f"{name}_ms"].baseline is not None
        assert figures[f"{name}_ms"].baseline.value == PUBLISHED_MS[name]
        assert figures[f"{name}_with_push_ms"].value >= figures[f"{name}_ms"].value
    assert figures["geometric_mean_ms"].ratio
    assert figures["stored_triples"].value > 50_000
