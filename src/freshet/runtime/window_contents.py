"""What the windows of a one-shot query hold: of each its latest close that the stream's watermark has passed."""

from __future__ import annotations

from collections.abc import Mapping

from freshet.algebra.nodes import Query
from freshet.algebra.windows import SlidingWindow
from freshet.native.streams.stream import StreamState
from freshet.oneshot.dataset import GraphReader
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import Iri
from freshet.store.dataset import StoredDataset


def window_contents(query: Query, streams: Mapping[str, StreamState], stored: StoredDataset) -> dict[Iri, GraphReader]:
    """By the names of the windows, their contents as graphs."""
    contents: dict[Iri, GraphReader] = {}
    for declared in query.windows:
        window = declared.window
        if not isinstance(window, SlidingWindow) or not isinstance(window.stream, Iri):
            raise UnsupportedError(
                "one-shot queries can ask for windows [RANGE ... STEP ...] of a stream, and no others"
            )
        state = streams.get(window.stream.value)
        if state is None:
            raise InputError(
                f"the query has a window on the stream <{window.stream.value}>, and there is no such stream here:"
                " register the query, or replay recorded streams"
            )
        needed_ms = window.width_ms + window.slide_ms
        if state.keep_ms < needed_ms:
            raise InputError(
                f"the stream <{state.iri}> keeps {state.keep_ms} ms of its elements, and a one-shot query over its"
                f" window needs {needed_ms}: declare it with keep_ms"
            )
        # What is in a window that has closed stays as it is, so that readers need not wait for pushes.
        close_ms = state.closed_ms - (state.closed_ms - window.start_ms) % window.slide_ms
        contents[declared.name] = stored.window_reader(state.iri, close_ms - window.width_ms, close_ms)
    return contents
