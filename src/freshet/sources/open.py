"""Bounded sources as tasks: what a mapping's logical source has, read here or on Spark's workers."""

from __future__ import annotations

from collections.abc import Sequence

from freshet.rdf.errors import UnsupportedError
from freshet.rml.reader_sources import has_typed_columns
from freshet.rml.sources import SQLITE, DatabaseSource, FileSource, Formulation, LogicalSource
from freshet.sources.columns import Plan, RecordShape, Task
from freshet.sources.database_drivers import driver_of


def tasks_of(source: LogicalSource, plan: Plan) -> tuple[RecordShape, Sequence[Task]]:
    """The columns of a source, and the tasks that read it. What a kind of source needs is imported for it only."""
    match source.source, source.formulation:
        case DatabaseSource() as given, Formulation.TABLE | Formulation.QUERY if driver := driver_of(given.url):
            from freshet.sources.databases import database_tasks

            return database_tasks(source, given, driver, plan)
        case DatabaseSource() as given, Formulation.TABLE | Formulation.QUERY:
            from freshet.sources.sqlite import sqlite_tasks

            return sqlite_tasks(source, given, plan)
        case FileSource() as given, Formulation.ROWS:
            from freshet.sources.table_files import table_tasks

            return table_tasks(source, given, plan)
        case FileSource() as given, Formulation.CSV:
            from freshet.sources.csv_files import csv_tasks

            return csv_tasks(source, given, plan)
        case FileSource() as given, Formulation.JSON if has_typed_columns(given):
            from freshet.sources.nested_rows import nested_tasks

            return nested_tasks(source, given, plan)
        case FileSource() as given, Formulation.JSON:
            from freshet.sources.json_files import json_tasks

            return json_tasks(source, given, plan)
        case FileSource() as given, Formulation.XML:
            from freshet.sources.xml_files import xml_tasks

            return xml_tasks(source, given, plan)
        case FileSource() as given, Formulation.SPARQL:
            from freshet.sources.rdf_files import rdf_tasks

            return rdf_tasks(source, given, plan)
    what = type(source.source).__name__
    raise UnsupportedError(f"the reference formulation {source.formulation.value} of a {what} as a bounded source")


def needs_jdbc(given: DatabaseSource) -> bool:
    """Whether a database is one that only Spark can read."""
    return not given.url.startswith(SQLITE) and driver_of(given.url) is None
