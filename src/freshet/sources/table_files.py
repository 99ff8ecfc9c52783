"""Files of tables with typed columns: Parquet, ORC, Arrow, Avro, and the sheets of Excel and OpenDocument.

A record is a row, and references name columns. The form of a file is known by how its name ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rml.sources import ARROW_FORMS, AVRO_FORMS, SHEET_FORMS, TABLE_FORMS, FileSource, LogicalSource
from freshet.sources.columns import Plan, RecordShape, Task
from freshet.sources.files import files_of

_EXTRAS = {
    **dict.fromkeys(AVRO_FORMS, ("fastavro", "avro")),
    **dict.fromkeys(SHEET_FORMS, ("python_calamine", "excel")),
}


def table_tasks(source: LogicalSource, given: FileSource, plan: Plan) -> tuple[RecordShape, Sequence[Task]]:
    """The columns and the tasks; every file must have every column that is referred to."""
    files = files_of(given)
    suffixes = {file.suffix.lower() for file in files}
    suffix = suffixes.pop()
    if suffixes or suffix not in TABLE_FORMS:
        raise InputError("has files of several forms in it", file=str(given.path))
    check_installed(suffix, files[0])
    if suffix in ARROW_FORMS:
        from freshet.sources.arrow_files import arrow_tasks

        return arrow_tasks(source, files, plan)
    if suffix in AVRO_FORMS:
        from freshet.sources.avro_files import avro_tasks

        return avro_tasks(source, files, plan)
    from freshet.sources.sheets import sheet_tasks

    return sheet_tasks(source, given, files, plan)


def check_installed(suffix: str, file: Path) -> None:
    """Raise an error that says what to install, where a form needs it."""
    module, extra = _EXTRAS.get(suffix, ("", ""))
    if module and find_spec(module) is None:
        hint = f"pip install 'freshet[{extra}]' brings it"
        raise UnsupportedError(f"{suffix} files without the package {module}", file=str(file), hint=hint)
