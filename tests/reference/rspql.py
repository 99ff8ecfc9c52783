"""RSP-QL: `FROM NAMED WINDOW w ON s [...]` and `WINDOW w { }`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference.query_text import QueryText, duration_ms
from reference.windows import Count, EventTime, Sliding, Window, read_adaptive

if TYPE_CHECKING:
    from reference.rewriting import Replaced, Rewritten


def window_declaration(query: QueryText, at: int, asked: Rewritten) -> Replaced:
    """`FROM NAMED WINDOW w ON STREAM s [...]`, or `FROM NAMED WINDOW w [...] ON s`"""
    if query.upper[at : at + 3] != ["FROM", "NAMED", "WINDOW"]:
        return None
    start, stop = query.find("[", at), query.find("]", at)
    stream = stop + 2 if start == at + 4 else start - 1
    if query.upper[stream] == "STREAM":
        stream += 1
    window = read_window(query, query.resolve(query.words[stream]), query.words[start + 1 : stop])
    asked.add_window(window, query.resolve(query.words[at + 3]))
    return max(stop, stream) + 1, ""


def read_window(query: QueryText, stream: str, words: list[str]) -> Window:
    """`RANGE w STEP b`, `RANGE w @p STEP b`, `COUNT n STEP m`; STEP may be left out."""
    if adaptive := read_adaptive(stream, words):
        return adaptive
    upper = [word.upper() for word in words]
    step = next((at + 1 for at, word in enumerate(upper) if word in ("STEP", "SLIDE")), None)
    if upper[0] == "COUNT":
        return Count(stream, int(words[1]), 1 if step is None else int(words[step]))
    width_ms = duration_ms(words[1])
    slide_ms = None if step is None else duration_ms(words[step])
    place = next((at for at, word in enumerate(words) if word.startswith("@")), None)
    if place is None:
        return Sliding(stream, width_ms, slide_ms or width_ms)
    end = step - 1 if step is not None and step > place else len(words)
    predicate = query.resolve("".join(words[place:end]).removeprefix("@"))
    return (
        EventTime(stream, width_ms, predicate) if slide_ms is None else Sliding(stream, width_ms, slide_ms, predicate)
    )


def window(query: QueryText, at: int, asked: Rewritten) -> Replaced:
    """`WINDOW w {` is `GRAPH <that window's graph> {`."""
    if query.words[at + 2 : at + 3] != ["{"]:
        return None
    name = query.resolve(query.words[at + 1])
    declared = next((clause for clause in asked.windows if clause.name == name), None)
    if declared is None:
        raise SyntaxError(f"there is no window {name}")
    asked.enter_window(at + 2, query.closing(at + 2), declared.graph)
    return at + 2, f"GRAPH <{declared.graph}>"
