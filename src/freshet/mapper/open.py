"""Bounded sources of mappings as tasks: files and databases as they are, views by way of what they are made of."""

from __future__ import annotations

from collections.abc import Sequence

from freshet.mapper.operations import FunctionTable
from freshet.rml.sources import LogicalSource
from freshet.rml.views import ViewSource
from freshet.sources import open as sources
from freshet.sources.columns import Plan, RecordShape, Task


def tasks_of(
    source: LogicalSource, plan: Plan, functions: FunctionTable | None = None
) -> tuple[RecordShape, Sequence[Task]]:
    """The columns of a source, and the tasks that read it."""
    if isinstance(source.source, ViewSource):
        from freshet.mapper.views import view_tasks

        return view_tasks(source.source, plan, functions or FunctionTable())
    return sources.tasks_of(source, plan)
