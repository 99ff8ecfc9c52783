"""The test cases of RML, each mapped by `freshet map` (below its command line, in one Spark session)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conformance.known_failures import parameters
from conformance.rml_registry import registry_cases
from conformance.rml_report import report
from conformance.rml_run import check, mapped, prepare
from conformance.rml_suite import BASE, CASES, KNOWN_FAILURES, SUITES, RmlCase
from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from freshet.rdf.errors import UnsupportedError
from freshet.spark.map_run import run_map
from shared_data import shared

COUNTS = {
    "rml-cc": 35,
    "rml-core": 76,
    "rml-fnml": 20,
    "rml-io": 73,
    "rml-lv": 41,
    "rml-star": 18,
    "rml-legacy-tests": 118,
}
PROCESS_ONLY = ("rml-cc/",)  # what Spark refuses


@pytest.mark.parametrize("case", parameters(CASES, KNOWN_FAILURES))
def test_rml(case: RmlCase, rml_spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error may be one of the whole mapping, or records that are rejected. A case that expects one and shows the
    output all the same (of the records that are left) may have either."""
    prepare(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    options = MapOptions(tmp_path / "found.nq", rejects=tmp_path / "rejects", base=case.base)
    done = mapped(lambda: run_map(rml_spark, tmp_path / "mapping.ttl", options))
    if case.name.startswith(PROCESS_ONLY):
        assert isinstance(done, UnsupportedError)
        assert "in this process only" in str(done)
        return
    check(case, done, tmp_path)
    by_spark = take_made(case, tmp_path)
    here = mapped(lambda: run_map_here(tmp_path / "mapping.ttl", options))
    assert str(here) == str(done)
    assert take_made(case, tmp_path) == by_spark, "the same bytes in this process, after sorting"


@pytest.mark.parametrize("case", parameters(CASES, KNOWN_FAILURES))
def test_rml_here(case: RmlCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without Spark."""
    prepare(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    options = MapOptions(tmp_path / "found.nq", rejects=tmp_path / "rejects", base=case.base)
    check(case, mapped(lambda: run_map_here(tmp_path / "mapping.ttl", options)), tmp_path)


def take_made(case: RmlCase, folder: Path) -> dict[str, list[bytes]]:
    """The lines of all files that a run has made, sorted. The files are gone then."""
    inputs = {"case.db", *(file.name for file in case.inputs), *dict(case.texts)}
    found = [file for file in folder.rglob("*") if file.is_file() and file.name not in inputs]
    taken = {str(file.relative_to(folder)): sorted(file.read_bytes().splitlines()) for file in found}
    for file in found:
        file.unlink()
    return taken


def test_the_suites_are_complete() -> None:
    """No case is lost on the way, and no known failure names one that is not there."""
    for suite in SUITES:
        shared(suite)
    assert Counter(case.name.split("/")[0] for case in CASES) == COUNTS
    assert KNOWN_FAILURES.keys() <= {case.name for case in [*CASES, *registry_cases()]}
    assert {case.base for case in CASES if case.name.startswith("rml-core")} == {BASE}


MAPPING = """
@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/> .
<#T> rml:logicalSource [ rml:source "a.csv" ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://example.org/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:p ; rml:object "o" ] .
"""


def test_the_report_has_a_row_for_every_case() -> None:
    """One whose output is another fails, and says why if that is known."""
    files = {"a.csv": "id\n1\n", "mapping.ttl": MAPPING}
    right = '<http://example.org/1> <http://example.org/p> "o" .\n'
    cases = [
        RmlCase(f"rml-core/{name}", Path(), None, (), False, None, ((*files.items(), ("expected.nt", text))))
        for name, text in (("A", right), ("B", right.replace("1", "2")), ("C", ""))
    ]
    assert report(cases, {"rml-core/B": "a reason"}) == [
        ("rml-core", "A", "passed", ""),
        ("rml-core", "B", "failed", "a reason"),
        ("rml-core", "C", "failed", ""),
    ]
