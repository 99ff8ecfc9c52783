"""The test cases of RML, each mapped by `freshet map` (below its command line, in one Spark session)."""

from __future__ import annotations

import csv
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conformance.isomorphism import Row, same_bag
from conformance.known_failures import parameters
from conformance.rml_output import quads_in
from conformance.rml_suite import BASE, CASES, KNOWN_FAILURES, SUITES, RmlCase
from freshet.mapper.map_options import MapOptions, MapSummary
from freshet.mapper.map_run import run_map_here
from freshet.rdf.errors import FreshetError
from freshet.spark.map_run import run_map
from shared_data import shared

COUNTS = {"rml-core": 76, "rml-fnml": 20, "rml-io": 73, "rml-legacy-tests": 118}


@pytest.mark.parametrize("case", parameters(CASES, KNOWN_FAILURES))
def test_rml(case: RmlCase, rml_spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error may be one of the whole mapping, or records that are rejected. A case that expects one and shows the
    output all the same (of the records that are left) may have either."""
    prepare(case, tmp_path, monkeypatch)
    options = MapOptions(tmp_path / "found.nq", rejects=tmp_path / "rejects", base=case.base)
    done = mapped(lambda: run_map(rml_spark, tmp_path / "mapping.ttl", options))
    check(case, done, tmp_path)
    by_spark = take_made(case, tmp_path)
    here = mapped(lambda: run_map_here(tmp_path / "mapping.ttl", options))
    assert str(here) == str(done)
    assert take_made(case, tmp_path) == by_spark, "the same bytes in this process, after sorting"


@pytest.mark.parametrize("case", parameters(CASES, KNOWN_FAILURES))
def test_rml_here(case: RmlCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without Spark."""
    prepare(case, tmp_path, monkeypatch)
    options = MapOptions(tmp_path / "found.nq", rejects=tmp_path / "rejects", base=case.base)
    check(case, mapped(lambda: run_map_here(tmp_path / "mapping.ttl", options)), tmp_path)


def prepare(case: RmlCase, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in case.inputs:
        shutil.copy(file, folder / file.name)
    with_database(folder)
    monkeypatch.chdir(folder)


def take_made(case: RmlCase, folder: Path) -> dict[str, list[bytes]]:
    """The lines of all files that a run has made, sorted. The files are gone then."""
    inputs = {"case.db", *(file.name for file in case.inputs)}
    found = [file for file in folder.rglob("*") if file.is_file() and file.name not in inputs]
    taken = {str(file.relative_to(folder)): sorted(file.read_bytes().splitlines()) for file in found}
    for file in found:
        file.unlink()
    return taken


def check(case: RmlCase, done: MapSummary | FreshetError, folder: Path) -> None:
    if not isinstance(done, MapSummary):
        assert case.error, str(done)
        return
    if case.error and case.output is None:
        assert done.rejected
        assert (folder / "rejects").exists()
        return
    assert case.output is not None
    compare(folder / "found.nq", case.output)
    for target in case.targets:
        compare(folder / target.name, target)


def mapped(run: Callable[[], MapSummary]) -> MapSummary | FreshetError:
    try:
        return run()
    except FreshetError as error:
        return error


def compare(found: Path, expected: Path) -> None:
    made, wanted = quads_in(found), quads_in(expected)
    assert same_bag(made, wanted), f"{found.name}: found\n{shown(made)}\nexpected\n{shown(wanted)}"


def shown(quads: set[Row]) -> str:
    return "\n".join(sorted("  " + " ".join("-" if term is None else str(term) for term in quad) for quad in quads))


def with_database(folder: Path) -> None:
    """Where a mapping wants a database, one of SQLite with a table for each CSV file."""
    mapping = folder / "mapping.ttl"
    text = mapping.read_text(encoding="utf-8")
    if "$CONNECTIONDSN" not in text:
        return
    database = folder / "case.db"
    connection = sqlite3.connect(database)
    for file in folder.glob("*.csv"):
        with file.open(encoding="utf-8", newline="") as lines:
            header, *rows = csv.reader(lines)
        whole = [all(value.isdigit() for value in column) for column in zip(*rows, strict=True)]
        columns = [f"{name} {'INTEGER' if number else 'TEXT'}" for name, number in zip(header, whole, strict=True)]
        connection.execute(f'CREATE TABLE "{file.stem}" ({", ".join(columns)})')
        marks = ", ".join("?" * len(header))
        connection.executemany(f'INSERT INTO "{file.stem}" VALUES ({marks})', rows)
    connection.commit()
    connection.close()
    mapping.write_text(text.replace("$CONNECTIONDSN", f"jdbc:sqlite:{database}"), encoding="utf-8")


def test_the_suites_are_complete() -> None:
    """No case is lost on the way, and no known failure names one that is not there."""
    for suite in SUITES:
        shared(suite)
    assert Counter(case.name.split("/")[0] for case in CASES) == COUNTS
    assert KNOWN_FAILURES.keys() <= {case.name for case in CASES}
    assert {case.base for case in CASES if case.name.startswith("rml-core")} == {BASE}
