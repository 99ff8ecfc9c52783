"""What `freshet bench mappings` relies on: the statements of its inputs are as many as it says."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from freshet_benchmarks import mappings
from freshet_benchmarks.krown import Scenario, scenarios, write_scenario
from freshet_benchmarks.transit import make_feed, write_feed

SMALL = [*scenarios(200), Scenario("all", 40, 3, duplicates=0.5, empty=0.75), Scenario("one", 1)]


def mapped(mapping: Path, **options: bool) -> list[str]:
    output = mapping.parent / "out.nq"
    done = run_map_here(mapping, MapOptions(output, rejects=mapping.parent / "rejects", **options))
    assert not done.rejected
    return output.read_text(encoding="utf-8").splitlines()


def naive(folder: Path) -> list[tuple[str, str, str]]:
    """The statements of a scenario, record by record."""
    tables = {file.stem: list(csv.DictReader(file.open(encoding="utf-8"))) for file in folder.glob("*.csv")}
    if "data" in tables:
        return [(row["id"], key, row[key]) for row in tables["data"] for key in row if key != "id" and row[key]]
    return [
        (child["id"], "of", parent["id"])
        for child in tables["child"]
        for parent in tables["parent"]
        if child["key"] == parent["key"]
    ]


@pytest.mark.parametrize("scenario", SMALL, ids=lambda scenario: scenario.name)
def test_scenarios_make_what_they_say(tmp_path: Path, scenario: Scenario) -> None:
    mapping = write_scenario(scenario, tmp_path)
    expected = naive(tmp_path)
    assert (len(expected), len(set(expected))) == (scenario.statements, scenario.different)
    lines = mapped(mapping)
    assert (len(lines), len(set(lines))) == (scenario.statements, scenario.different)
    assert len(mapped(mapping, distinct=True)) == scenario.different


def test_a_feed_makes_what_it_says(tmp_path: Path) -> None:
    feed = make_feed(0.02)
    lines = mapped(write_feed(feed, tmp_path))
    assert len(lines) == len(set(lines)) == feed.statements
    base = "http://transit.example.org"
    assert f"<{base}/trips/t3> <http://vocab.gtfs.org/terms#route_id> <{base}/routes/r0> ." in lines
    assert f"<{base}/stops/s1> <http://vocab.gtfs.org/terms#parent_id> <{base}/stops/s0> ." in lines
    assert json.loads((tmp_path / "routes.json").read_text())[0]["long_name"] == "Line 0 <east>"


@pytest.mark.slow
def test_the_benchmark_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mappings, "peer_python", lambda package: None)
    figures = mappings.mappings_figures(50)
    assert len(figures) == 2 * 7 * 3
    assert all(figure.value > 0 for figure in figures)


FORMS = {
    "csv": ("rml:CSV", "id,p\n", "{n},v{n}\n", ""),
    "json": ('rml:JSONPath ; rml:iterator "$[*]"', "[", '{{"id": {n}, "p": "v{n}"}},\n', '{{"id": 0, "p": "v"}}]'),
    "ndjson": ('rml:JSONPath ; rml:iterator "$"', "", '{{"id": {n}, "p": "v{n}"}}\n', ""),
    "xml": ('rml:XPath ; rml:iterator "/r/i"', "<r>", "<i><id>{n}</id><p>v{n}</p></i>\n", "</r>"),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_memory_does_not_grow_with_the_input(tmp_path: Path, form: str) -> None:
    """Ten times as many records take about as much memory."""
    formulation, before, record, after = FORMS[form]
    (tmp_path / "m.ttl").write_text(
        f"""@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/> .
<#T> rml:logicalSource [ rml:source "a.{form}" ; rml:referenceFormulation {formulation} ] ;
  rml:subjectMap [ rml:template "http://example.org/{{id}}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:p ; rml:objectMap [ rml:reference "p" ] ] ."""
    )
    peaks = []
    for records in (150_000, 1_500_000):
        with (tmp_path / f"a.{form}").open("w") as out:
            out.write(before)
            out.writelines(record.format(n=n) for n in range(records))
            out.write(after.format())
        peaks.append(mappings.measure_here(tmp_path / "m.ttl").peak_megabytes)
        with (tmp_path / "out.nq").open("rb") as lines:
            assert sum(1 for _ in lines) == records + (form == "json")
    assert peaks[1] < 1.35 * peaks[0], peaks
