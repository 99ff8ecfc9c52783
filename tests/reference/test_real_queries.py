"""Queries that people have written: the reference reads the same windows in them as Freshet's parser does."""

from __future__ import annotations

from pathlib import Path

from freshet.algebra import windows as read
from freshet.rdf.errors import FreshetError
from freshet.syntax.parser import parse_query
from reference.rewriting import rewrite
from reference.windows import All, Count, EventTime, Now, Range, Sliding, Triples, Window
from shared_data import shared

FILES = ("*_query/*.txt", "*/*_query/*.txt", "rspql-from-rsp4j/*.rspql")


def window_of(window: read.WindowOperator) -> Window:
    stream = window.stream.value
    match window:
        case read.SlidingWindow(_, width_ms, slide_ms):
            return Sliding(stream, width_ms, slide_ms)
        case read.EventTimeWindow(_, predicate, width_ms, None):
            return EventTime(stream, width_ms, predicate.value)
        case read.EventTimeWindow(_, predicate, width_ms, slide_ms):
            return Sliding(stream, width_ms, slide_ms, predicate.value)
        case read.CountWindow(_, count, step):
            return Count(stream, count, step)
        case read.RangeWindow(_, width_ms, tumbling):
            return Range(stream, width_ms, tumbling)
        case read.TriplesWindow(_, count):
            return Triples(stream, count)
        case read.NowWindow():
            return Now(stream)
        case _:
            return All(stream)


def continuous(folder: Path) -> list[tuple[str, str]]:
    """The name and text of every file that is a continuous query; some hold something else around it."""
    found = []
    for path in sorted(path for pattern in FILES for path in folder.glob(pattern)):
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            if parse_query(text).windows:
                found.append((str(path.relative_to(folder)), text))
        except FreshetError:
            continue
    return found


def test_both_read_the_same() -> None:
    queries = continuous(shared("data/citybench"))
    assert len(queries) > 50
    for name, text in queries:
        query, asked = parse_query(text), rewrite(text)
        assert [clause.window for clause in asked.windows] == [window_of(each.window) for each in query.windows], name
        assert (asked.name, asked.output, asked.period_ms) == (query.name, query.output.value, query.period_ms), name
        assert asked.default_graphs == [graph.value for graph in query.default_graphs], name
        assert asked.merged == query.merged, name
