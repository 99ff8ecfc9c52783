"""A test case of RML, run in a folder of its own and compared with what it expects."""

from __future__ import annotations

import csv
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

from conformance.isomorphism import Row, same_bag
from conformance.rml_output import as_triple_terms, quads_in
from conformance.rml_suite import RmlCase
from freshet.mapper.map_options import MapSummary
from freshet.rdf.errors import FreshetError


def prepare(case: RmlCase, folder: Path) -> None:
    """Copy what a case maps into an empty folder, which is then to be the current one."""
    for file in case.inputs:
        shutil.copy(file, folder / file.name)
    for name, text in case.texts:
        written = as_triple_terms(text) if name == "expected.nt" else text
        (folder / name).write_text(written, encoding="utf-8")
    with_database(folder)


def check(case: RmlCase, done: MapSummary | FreshetError, folder: Path) -> None:
    if not isinstance(done, MapSummary):
        assert case.error, str(done)
        return
    expected = folder / "expected.nt" if "expected.nt" in dict(case.texts) else case.output
    if case.error and expected is None:
        assert done.rejected
        assert (folder / "rejects").exists()
        return
    assert expected is not None
    compare(folder / "found.nq", expected)
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
