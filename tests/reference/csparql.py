"""C-SPARQL `FROM STREAM s [...]`, SPARQLstream `FROM NAMED STREAM s [...]`: windows go into the default graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference import cqels
from reference.query_text import QueryText, duration_ms
from reference.windows import Count, Sliding, Window, read_adaptive

if TYPE_CHECKING:
    from reference.rewriting import Replaced, Rewritten


def stream_declaration(query: QueryText, at: int, asked: Rewritten) -> Replaced:
    """`FROM STREAM s [...]`, `FROM NAMED STREAM s [...]`"""
    if query.upper[at : at + 3] == ["FROM", "NAMED", "STREAM"]:
        at += 1
    elif query.upper[at : at + 2] != ["FROM", "STREAM"]:
        return None
    stop = query.find("]", at)
    if is_cqels(query):
        return stop + 1, cqels.declare(query, at, stop, asked)
    asked.merged = True
    asked.add_window(read_window(query.resolve(query.words[at + 2]), query.words[at + 4 : stop]))
    return stop + 1, ""


def is_cqels(query: QueryText) -> bool:
    """Whether a stream that FROM declares is asked for by `STREAM s { }`."""
    words = query.upper
    return any(word == "STREAM" and "{" in words[at + 2 : at + 3] for at, word in enumerate(words))


def read_window(stream: str, words: list[str]) -> Window:
    """`RANGE w STEP b`, `RANGE TRIPLES n STEP m`, `NOW - w SLIDE b`, `NOW - w TO NOW - v SLIDE b`.

    TUMBLING is a step as wide as the window.

    Without a step a window of time is tumbling, and one of triples moves with every one.
    """
    if adaptive := read_adaptive(stream, words):
        return adaptive
    upper = [word.upper() for word in words]
    step = next((at for at, word in enumerate(upper) if word in ("STEP", "SLIDE")), None)
    if "NOW" in upper:
        begin = upper.index("NOW") + 2
        end = upper.index("TO") if "TO" in upper else step
        width_ms, ago_ms = duration_ms("".join(words[begin:end])), 0
        if end is not None and words[end + 2 : end + 3] == ["-"]:
            ago_ms = duration_ms("".join(words[end + 3 : step]))
        width_ms -= ago_ms
        slide_ms = width_ms if step is None else duration_ms("".join(words[step + 1 :]))
        return Sliding(stream, width_ms, slide_ms, ago_ms=ago_ms)
    tumbling = upper[-1] == "TUMBLING"
    if upper[1] == "TRIPLES":
        count = int(words[2])
        return Count(stream, count, count if tumbling else 1 if step is None else int(words[step + 1]))
    width_ms = duration_ms("".join(words[1 : len(words) - 1 if tumbling else step]))
    return Sliding(stream, width_ms, width_ms if step is None else duration_ms("".join(words[step + 1 :])))
