"""CQELS-QL: `STREAM s [...] { }`, also `STREAM ?s [...] { }` for any stream."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from reference.query_text import QueryText, duration_ms
from reference.windows import All, Now, Range, Triples, Window, read_adaptive

if TYPE_CHECKING:
    from reference.rewriting import Rewritten


def declare(query: QueryText, at: int, stop: int, asked: Rewritten) -> str:
    """`FROM STREAM s [...]`, which the pattern asks for by `STREAM s { }`."""
    stream = resolve(query, query.words[at + 2])
    asked.add_window(read_window(stream, query.words[at + 4 : stop]), stream)
    asked.output = "istream"
    return ""


def resolve(query: QueryText, name: str) -> str:
    return query.resolve(name) if ":" in name or name.startswith("<") else name


def stream(query: QueryText, at: int, asked: Rewritten, streams: Collection[str]) -> tuple[int, str]:
    """`STREAM s [...] { P }` is `GRAPH <the window's graph> { P }`. With a variable it is that for any of the streams:
    `{ { GRAPH <g1> { P } VALUES ?s { <s1> } } UNION { GRAPH <g2> { P } VALUES ?s { <s2> } } }`
    """
    if query.words[at + 2] == "{":
        wanted = resolve(query, query.words[at + 1])
        graph = next(clause.graph for clause in asked.windows if clause.name == wanted)
        asked.enter_window(at + 2, query.closing(at + 2), graph)
        return at + 2, f"GRAPH <{graph}>"
    start, end = query.find("[", at), query.find("]", at)
    name = query.words[end + 1] if start == at + 1 else query.words[at + 1]
    words = query.words[start + 1 : end]
    brace = query.find("{", end)
    asked.output = "istream"
    if not name.startswith(("?", "$")):
        graph = asked.add_window(read_window(query.resolve(name), words))
        asked.enter_window(brace, query.closing(brace), graph)
        return brace, f"GRAPH <{graph}>"
    stop = query.closing(brace) + 1
    pattern = query.text(brace, stop)
    one_each = [
        f"{{ GRAPH <{asked.add_window(read_window(iri, words))}> {pattern} VALUES {name} {{ <{iri}> }} }}"
        for iri in streams
    ]
    return stop, f"{{ {' UNION '.join(one_each) or f'VALUES {name} {{}}'} }}"


def read_window(stream: str, words: list[str]) -> Window:
    """`RANGE w SLIDE b`, `RANGE w TUMBLING`, `NOW`, `TRIPLES n`, `ALL`"""
    if adaptive := read_adaptive(stream, words):
        return adaptive
    upper = [word.upper() for word in words]
    if upper[0] == "NOW":
        return Now(stream)
    if upper[0] == "ALL":
        return All(stream)
    if upper[0] == "TRIPLES":
        return Triples(stream, int(words[1]))
    step = next((at for at, word in enumerate(upper) if word in ("STEP", "SLIDE")), None)
    tumbling = upper[-1] == "TUMBLING"
    width_ms = duration_ms("".join(words[1 : len(words) - 1 if tumbling else step]))
    return Range(stream, width_ms, tumbling)
