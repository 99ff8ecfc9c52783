"""Sources of mappings, bounded ones as tasks and streams as parsers of documents: views by way of what they are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from freshet.mapper.operations import FunctionTable
from freshet.rml.sources import LogicalSource
from freshet.rml.views import ViewSource
from freshet.sources import open as sources
from freshet.sources.columns import Plan, RecordShape, Task

if TYPE_CHECKING:
    from freshet.sources.documents import Parse


def tasks_of(
    source: LogicalSource, plan: Plan, functions: FunctionTable | None = None
) -> tuple[RecordShape, Sequence[Task]]:
    """The columns of a source, and the tasks that read it."""
    if isinstance(source.source, ViewSource):
        from freshet.mapper.views import view_tasks

        return view_tasks(source.source, plan, functions or FunctionTable())
    return sources.tasks_of(source, plan)


def parser_of(
    source: LogicalSource, plan: Plan, header: list[str] | None = None, functions: FunctionTable | None = None
) -> tuple[RecordShape, Parse]:
    """The columns of a stream's records, and what parses its documents."""
    if isinstance(source.source, ViewSource):
        from freshet.mapper.views import view_parser

        return view_parser(source.source, plan, functions or FunctionTable())
    from freshet.sources import documents  # it brings the readers of all formats along

    return documents.parser_of(source, plan, header)
