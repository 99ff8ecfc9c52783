"""The naive evaluator: every window from scratch, every answer by pyoxigraph. It imports nothing of Freshet.

It follows "Time and windows" of the design sentence by sentence; it is slow on purpose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import pyoxigraph as ox

from reference.rewriting import NO_BASE, Rewritten, WindowClause, rewrite

Term = ox.NamedNode | ox.BlankNode | ox.Literal
Solution = frozenset[tuple[str, Term]]

# A line of a stream: (time, N-Triples or N-Quads statement); (time, None) sets the watermark to `time` or more.
StreamLine = tuple[int, "str | ox.Triple | None"]


class Element(NamedTuple):
    """A timed triple that was not dropped."""

    time_ms: int
    triple: ox.Triple


@dataclass(frozen=True)
class Received:
    """A stream at its end: what it kept, how many it dropped, and how far its watermark came."""

    elements: tuple[Element, ...]
    dropped: int
    watermark_ms: float


@dataclass(frozen=True)
class Answer:
    """What one evaluation puts out: solutions as a bag."""

    time_ms: int
    solutions: Counter[Solution]

    def bindings(self) -> list[dict[str, Term]]:
        """The solutions as dictionaries, a repeated one as often as it occurs."""
        return [dict(solution) for solution in self.solutions.elements()]


def evaluate(
    query: str,
    streams: Mapping[str, Sequence[StreamLine]],
    *,
    lateness_ms: Mapping[str, int] | None = None,
    stored: Iterable[ox.Quad] = (),
    absorb: Mapping[str, bool | Collection[str]] | None = None,
) -> list[Answer]:
    """All answers that a continuous query delivers over whole streams, in time order.

    `streams` maps a stream's IRI to its lines in order of arrival. `absorb` says of a stream whether all (True),
    none (False) or only the named predicates of its triples go to the stored graph.
    """
    asked = rewrite(query)
    received = {
        iri: receive(lines, (lateness_ms or {}).get(iri, 0), scope=number)
        for number, (iri, lines) in enumerate(streams.items())
    }
    for window in asked.windows:
        received.setdefault(window.stream, receive([], 0))
    base = list(stored)
    for quad in base:
        keep_lexical_form(quad.object)
    absorbed = [
        element
        for iri, choice in (absorb or {}).items()
        for element in received[iri].elements
        if choice is True or (choice and element.triple.predicate.value in choice)
    ]
    answers, before = [], Counter()
    for time_ms in evaluation_times(asked.windows, received):
        contents = {window: content(window, time_ms, received) for window in asked.windows}
        now: Counter[Solution] = Counter()
        if any(contents.values()):
            seen = [ox.Quad(*element.triple) for element in absorbed if element.time_ms < time_ms]
            now = solve(asked, contents, base + seen)
        put_out = {"rstream": now, "istream": now - before, "dstream": before - now}[asked.output]
        if put_out:
            answers.append(Answer(time_ms, put_out))
        before = now
    return answers


def receive(lines: Sequence[StreamLine], lateness_ms: int, scope: int = 0) -> Received:
    """Drop what comes behind the watermark: the largest time seen so far, less the lateness."""
    elements: list[Element] = []
    dropped, watermark_ms = 0, -inf
    for time_ms, statement in lines:
        if statement is None:
            watermark_ms = max(watermark_ms, time_ms)
        elif time_ms < watermark_ms:
            dropped += 1
        else:
            elements.append(Element(time_ms, read_statement(statement, scope)))
            watermark_ms = max(watermark_ms, time_ms - lateness_ms)
    return Received(tuple(elements), dropped, watermark_ms)


def read_statement(statement: str | ox.Triple, scope: int) -> ox.Triple:
    """One statement, its graph name set aside, its blank nodes told apart from those of other streams."""
    if isinstance(statement, str):
        quad = next(iter(ox.parse(statement, ox.RdfFormat.N_QUADS)))
        statement = quad.triple
    return ox.Triple(*(keep_lexical_form(_scoped(term, scope)) for term in statement))


def _scoped(term: Term, scope: int) -> Term:
    return ox.BlankNode(f"{term.value}.{scope}") if isinstance(term, ox.BlankNode) else term


def keep_lexical_form(term: Term) -> Term:
    """Refuse what pyoxigraph's store would not give back as it is: it writes `1.0` as `1`, and so merges terms."""
    store = ox.Store()
    store.add(ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), term))
    if next(iter(store)).object != term:
        raise ValueError(f"the reference cannot tell the forms of one value apart: {term}")
    return term


def evaluation_times(windows: Sequence[WindowClause], received: Mapping[str, Received]) -> list[int]:
    """Every close of any window, up to the watermark of all streams or, if later, as long as any has content.

    Nothing can happen before the first element, so the closes are counted from there.
    """
    times = [element.time_ms for window in windows for element in received[window.stream].elements]
    if not times:
        return []
    watermark_ms = min(received[window.stream].watermark_ms for window in windows)
    last_ms = max(watermark_ms, *(last_instant(window, received) for window in windows))
    closes: set[int] = set()
    for window in windows:
        first_ms = min(times) // window.slide_ms * window.slide_ms
        closes.update(range(first_ms, int(max(last_ms, first_ms)) + 1, window.slide_ms))
    return sorted(close for close in closes if close <= last_ms)


def last_instant(window: WindowClause, received: Mapping[str, Received]) -> float:
    """The last instant at which the window has content, as it stands from its last close with content to the next.

    An element at t is in [c - w, c) for every close c in (t, t + w].
    """
    instants = [-inf]
    for element in received[window.stream].elements:
        close_ms = (element.time_ms + window.width_ms) // window.slide_ms * window.slide_ms
        if close_ms > element.time_ms:
            instants.append(close_ms + window.slide_ms - 1)
    return max(instants)


def content(window: WindowClause, time_ms: int, received: Mapping[str, Received]) -> set[ox.Triple]:
    """The window as it was at its latest close not after `time_ms`."""
    close_ms = time_ms // window.slide_ms * window.slide_ms
    open_ms = close_ms - window.width_ms
    return {element.triple for element in received[window.stream].elements if open_ms <= element.time_ms < close_ms}


def solve(
    asked: Rewritten, contents: Mapping[WindowClause, set[ox.Triple]], stored: Iterable[ox.Quad]
) -> Counter[Solution]:
    """One evaluation: a fresh store with the stored graph and, under names no data can have, the windows."""
    store = ox.Store()
    store.extend(stored)
    for window, triples in contents.items():
        graph = ox.NamedNode(window.graph)
        store.add_graph(graph)
        store.extend(ox.Quad(*triple, graph) for triple in triples)
    solutions = store.query(asked.sparql, base_iri=NO_BASE)
    names = [variable.value for variable in solutions.variables]
    return Counter(
        frozenset((name, solution[name]) for name in names if solution[name] is not None) for solution in solutions
    )
