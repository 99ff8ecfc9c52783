"""What the windows of a one-shot query hold: of each its latest close that all of the query's streams have passed."""

from __future__ import annotations

from collections.abc import Mapping

from freshet.algebra.nodes import Query
from freshet.algebra.windows import SlidingWindow
from freshet.native.plan.window_graphs import has_graphs_in_windows
from freshet.native.streams.stream import BEFORE_ALL_TIME, StreamState
from freshet.oneshot.dataset import GraphReader
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import Iri
from freshet.store.dataset import DatasetSnapshot


def window_contents(
    query: Query, streams: Mapping[str, StreamState], snapshot: DatasetSnapshot
) -> dict[Iri, GraphReader]:
    """By the names of the windows, their contents as graphs, as a snapshot has them: all at their common time."""
    if has_graphs_in_windows(query):
        raise UnsupportedError("a one-shot query with GRAPH in a window is not supported: register it")
    asked = {declared.name: _check_window(declared.window, streams) for declared in query.windows}
    common_ms = min((snapshot.kept(stream).closed_ms for _, stream in asked.values()), default=0)
    contents: dict[Iri, GraphReader] = {}
    for name, (window, stream) in asked.items():
        close_ms = common_ms - (common_ms - window.start_ms) % window.slide_ms
        end_ms = close_ms - window.ago_ms
        open_ms = end_ms - window.width_ms
        if common_ms > BEFORE_ALL_TIME and open_ms < snapshot.kept(stream).from_ms:
            raise InputError(
                f"the stream <{stream}> no longer has its window that closed at {close_ms}: another stream of the query"
                " has come no further than that",
                hint="declare the one with a larger keep_ms, or the other with idle",
            )
        contents[name] = snapshot.window_reader(stream, open_ms, end_ms)
    return contents


def _check_window(window: object, streams: Mapping[str, StreamState]) -> tuple[SlidingWindow, str]:
    """A window that a one-shot query can ask for, and its stream."""
    if not isinstance(window, SlidingWindow) or not isinstance(window.stream, Iri):
        raise UnsupportedError("one-shot queries can ask for windows [RANGE ... STEP ...] of a stream, and no others")
    state = streams.get(window.stream.value)
    if state is None:
        raise InputError(
            f"the query has a window on the stream <{window.stream.value}>, and there is no such stream here:"
            " register the query, or replay recorded streams"
        )
    needed_ms = window.ago_ms + window.width_ms + window.slide_ms
    if state.keep_ms < needed_ms:
        raise InputError(
            f"the stream <{state.iri}> keeps {state.keep_ms} ms of its elements, and a one-shot query over its"
            f" window needs {needed_ms}: declare it with keep_ms"
        )
    return window, state.iri
