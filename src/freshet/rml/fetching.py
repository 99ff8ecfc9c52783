"""Sources on the Web become files: in a mapping, and in the views and joins of its sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from freshet.rml.model import Mapping
from freshet.rml.sources import FileSource, LogicalSource
from freshet.rml.views import ViewSource

Fetch = Callable[[FileSource], FileSource]


def with_fetched(mapping: Mapping, fetch: Fetch) -> Mapping:
    """The mapping, with files in place of what is on the Web."""
    maps = (replace(each, source=_fetched(each.source, fetch)) for each in mapping.triples_maps)
    return replace(mapping, triples_maps=tuple(maps))


def _fetched(source: LogicalSource, fetch: Fetch) -> LogicalSource:
    match source.source:
        case FileSource(web=web) as given if web is not None:
            return replace(source, source=fetch(given))
        case ViewSource() as view:
            joins = tuple(replace(join, parent=_fetched(join.parent, fetch)) for join in view.joins)
            return replace(source, source=replace(view, on=_fetched(view.on, fetch), joins=joins))
    return source
