"""Tables and queries of PostgreSQL and MySQL in one task: rows are fetched as they are taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from freshet.rdf.errors import InputError
from freshet.rml.sources import DatabaseSource, Formulation, LogicalSource
from freshet.sources.columns import Plan, RecordShape
from freshet.sources.database_drivers import DatabaseDriver, ServerAddress, address_of, driver_of, show_address
from freshet.sources.typed import batch_of, places_of


@dataclass(frozen=True, slots=True)
class DatabaseTask:
    """Runs a query and reads its rows."""

    shape: RecordShape
    driver: DatabaseDriver
    address: ServerAddress
    shown: str
    query: str
    places: tuple[int, ...]
    nulls: frozenset[str]
    keep: bool

    def __call__(self) -> Iterator[pa.RecordBatch]:
        try:
            with self.driver.query(self.address, self.query) as (_, pieces):
                for rows in pieces:
                    yield batch_of(self.shape, rows, self.places, self.nulls, self.shown if self.keep else None)
        except self.driver.failures as error:
            yield self.shape.reject(f"cannot be read: {first_line(error)}", self.query, self.shown)


def database_tasks(
    source: LogicalSource, given: DatabaseSource, driver: DatabaseDriver, plan: Plan
) -> tuple[RecordShape, list[DatabaseTask]]:
    """The columns and the task. The query is tried before, so that what is wrong with it is known."""
    shown = show_address(given.url)
    try:
        address = address_of(given, driver)
    except ValueError:
        raise InputError("is no address of a database", file=shown) from None
    asked = (source.iterator or "").strip().rstrip(";").strip()
    if not asked:
        raise InputError("a logical source of a database needs a table or a query", file=shown)
    try:
        query = asked if source.formulation is Formulation.QUERY else _query_of(asked, driver, address)
        with driver.query(address, query) as (names, _):
            pass
    except driver.failures as error:
        raise InputError(f"{asked}: {first_line(error)}", file=shown) from None
    places = places_of(plan.references, names, shown, sql=True)
    shape = RecordShape(plan.references, kinds=True)
    return shape, [DatabaseTask(shape, driver, address, shown, query, tuple(places), source.nulls, plan.keep)]


def estimated_bytes(source: LogicalSource) -> int:
    """How much a source gives, about; nothing where it cannot be read, which the run will report."""
    given = source.source
    assert isinstance(given, DatabaseSource)
    driver = driver_of(given.url)
    asked = (source.iterator or "").strip().rstrip(";").strip()
    if driver is None or not asked:
        return 0
    failures: tuple[type[Exception], ...] = (ValueError, *driver.failures)
    try:
        address = address_of(given, driver)
        query = asked if source.formulation is Formulation.QUERY else _query_of(asked, driver, address)
        return driver.estimated_bytes(address, query)
    except failures:
        return 0


def _query_of(table: str, driver: DatabaseDriver, address: ServerAddress) -> str:
    """The query for a table. A name is taken as it is written, where there is such a table; or else as SQL has it."""
    plain = not (set(table) & {'"', "`", ".", "["})
    if plain and driver.has_table(address, table):
        return f"SELECT * FROM {driver.quote}{table}{driver.quote}"
    return f"SELECT * FROM {table}"


def first_line(error: Exception) -> str:
    """What went wrong, without the query that the driver repeats."""
    said = error.args[-1] if error.args else error
    return next((line for line in str(said).splitlines() if line.strip()), type(error).__name__)
