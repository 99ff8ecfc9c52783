"""Tables and queries of SQLite files, which need no driver."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from freshet.rdf.errors import InputError
from freshet.rml.kinds import BOOLEAN, DATE, DATETIME, DECIMAL, TIME
from freshet.rml.sources import SQLITE, DatabaseSource, Formulation, LogicalSource
from freshet.sources.columns import ROWS, Plan, RecordShape
from freshet.sources.typed import Typed, batch_of, places_of


@dataclass(frozen=True, slots=True)
class SqliteTask:
    """Runs a query in one task; rows are fetched as they are taken."""

    shape: RecordShape
    file: Path
    query: str
    places: tuple[int, ...]
    nulls: frozenset[str]
    keep: bool

    def __call__(self) -> Iterator[pa.RecordBatch]:
        name = self.file.absolute().as_uri()
        try:
            with closing(connect_read_only(self.file)) as database, closing(database.execute(self.query)) as found:
                while rows := found.fetchmany(ROWS):
                    yield batch_of(self.shape, rows, self.places, self.nulls, name if self.keep else None)
        except sqlite3.Error as error:
            yield self.shape.reject(f"cannot be read: {error}", self.query, name)


def sqlite_tasks(source: LogicalSource, given: DatabaseSource, plan: Plan) -> tuple[RecordShape, list[SqliteTask]]:
    """The columns and the task. The query is tried before, so that what is wrong with it is known."""
    file = Path(given.url.removeprefix(SQLITE))
    if not file.is_file():
        raise InputError("there is no such file", file=str(file))
    query = query_of(source)
    try:
        with closing(connect_read_only(file)) as database, closing(database.execute(query)) as found:
            names = [column[0] for column in found.description or ()]
    except sqlite3.Error as error:
        raise InputError(f"{query}: {error}", file=str(file)) from None
    places = places_of(plan.references, names, str(file), sql=True)
    shape = RecordShape(plan.references, kinds=True)
    return shape, [SqliteTask(shape, file, query, tuple(places), source.nulls, plan.keep)]


def query_of(source: LogicalSource) -> str:
    """The query that a logical source stands for."""
    text = (source.iterator or "").strip().rstrip(";").strip()
    if not text:
        raise InputError("a logical source of a database needs a table or a query")
    if source.formulation is Formulation.QUERY:
        return text
    quoted = text if text[0] in '"`[' or "." in text else '"' + text.replace('"', '""') + '"'
    return f"SELECT * FROM {quoted}"


def connect_read_only(file: Path) -> sqlite3.Connection:
    """A connection that only reads. Values of columns with a declared type have its kind."""
    for names, convert in _CONVERTERS.items():
        for name in names:
            sqlite3.register_converter(name, convert)
    uri = f"{file.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(uri, uri=True, detect_types=sqlite3.PARSE_DECLTYPES)


def _boolean(value: bytes) -> Typed:
    return Typed("true" if value.lower() in (b"1", b"true", b"t") else "false", BOOLEAN)


_CONVERTERS = {
    ("BOOLEAN", "BOOL"): _boolean,
    ("DATE",): lambda value: Typed(value.decode(), DATE),
    ("TIME",): lambda value: Typed(value.decode(), TIME),
    ("TIMESTAMP", "DATETIME"): lambda value: Typed(value.decode().replace(" ", "T", 1), DATETIME),
    ("DECIMAL", "NUMERIC"): lambda value: Typed(value.decode(), DECIMAL),
}
