"""The naive evaluator: every window from scratch, every answer by pyoxigraph. It imports nothing of Freshet.

It follows "Time and windows" of the design sentence by sentence; it is slow on purpose.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import inf

import pyoxigraph as ox

from reference.moments import evaluation_moments, multiples
from reference.query_text import NO_BASE
from reference.rewriting import ANY_GRAPH, END_OF_ANY_GRAPH, GRAPH_NAME, Rewritten, WindowClause, rewrite
from reference.streams import XSD, Element, Received, StreamLine, Term, derive, keep_lexical_form, receive
from reference.templates import instantiate, template_variables
from reference.windows import Adaptive, Moment, Sliding, Source, Window, source

NOW = re.compile(r"\bNOW\s*\(\s*\)", re.IGNORECASE)
WITH_ANY_GRAPH = re.compile(ANY_GRAPH.format("(.*?)", "(.*?)") + "(.*?)" + END_OF_ANY_GRAPH, re.DOTALL)
Solution = frozenset[tuple[str, Term]]
Contents = dict[str, list[Element]]

__all__ = ["Answer", "StreamLine", "Term", "evaluate"]


@dataclass(frozen=True)
class Answer:
    """What one evaluation puts out: solutions in order, and for CONSTRUCT the triples made of them."""

    time_ms: int
    rows: tuple[Solution, ...]
    triples: tuple[ox.Triple | ox.Quad, ...] | None = None

    @property
    def solutions(self) -> Counter[Solution]:
        """The solutions as a bag."""
        return Counter(self.rows)

    def bindings(self) -> list[dict[str, Term]]:
        """The solutions as dictionaries, a repeated one as often as it occurs."""
        return [dict(solution) for solution in self.rows]


@dataclass(frozen=True)
class StoredChange:
    """What is deleted from the stored graphs when all streams have come to a time, and inserted after that."""

    time_ms: int
    deleted: tuple[ox.Quad, ...]
    inserted: tuple[ox.Quad, ...]


@dataclass(frozen=True)
class World:
    """All that a query is asked of: streams at their end, stored data, and what streams leave in it."""

    received: dict[Source, Received]
    stored: list[ox.Quad]
    absorbed: list[Element]
    change: StoredChange | None = None
    replacing: bool = False  # whether what is absorbed takes the place of other values of its subject and predicate


def evaluate(
    query: str,
    streams: Mapping[str, Sequence[StreamLine]],
    *,
    lateness_ms: Mapping[str, int] | None = None,
    stored: Iterable[ox.Quad] = (),
    absorb: Mapping[str, bool | str | Collection[str] | Mapping[str, int]] | None = None,
    report: Collection[str] = (),
    change: StoredChange | None = None,
    since_ms: float = -inf,
) -> list[Answer]:
    """All answers that a continuous query delivers over whole streams, in time order.

    `streams` maps a stream's IRI to its lines in order of arrival. `absorb` says of a stream whether all (True),
    none (False) or only the named predicates of its triples go to the stored graph, or, where one stream is absorbed as
    "latest", whether they take the place of other values, or at what age they go again ({"keep": milliseconds}).
    `report` may ask for "change" and "non-empty". The query sees the elements of its streams from `since_ms` on.
    """
    asked = rewrite(query, streams)
    world = replace(world_of(asked, streams, lateness_ms or {}, stored, absorb or {}), change=change)
    world = replace(world, received={name: received_since(each, since_ms) for name, each in world.received.items()})
    answers: list[Answer] = []
    before: list[Solution] = []
    given: tuple[Contents, list[ox.Quad]] = {}, []
    for moment, contents in reported_moments(asked, world, report):
        now, last = before, given
        given = contents, stored_at(moment, world)
        if given != last or asks_time(asked):  # windows that close every millisecond mostly stay as they are
            now = solve(asked, *given, moment.time_ms) if any(contents.values()) else []
        put_out = {"rstream": now, "istream": difference(now, before), "dstream": difference(before, now)}[asked.output]
        triples = None if asked.template is None else instantiate(asked.template, put_out)
        if put_out if triples is None else triples:
            answers.append(Answer(moment.time_ms, tuple(put_out), triples))
        before = now
    return answers


def world_of(
    asked: Rewritten,
    streams: Mapping[str, Sequence[StreamLine]],
    lateness_ms: Mapping[str, int],
    stored: Iterable[ox.Quad],
    absorb: Mapping[str, bool | str | Collection[str] | Mapping[str, int]],
) -> World:
    """Everything that comes in, before any question is asked."""
    received: dict[Source, Received] = {
        (iri, None): receive(lines, lateness_ms.get(iri, 0), scope=number)
        for number, (iri, lines) in enumerate(streams.items())
    }
    for clause in asked.windows:
        base = received.setdefault((clause.window.stream, None), receive([], 0))
        if clause.window.predicate is not None:
            received[source(clause.window)] = derive(base, clause.window.predicate)
    asked.windows[:] = among_others(asked.windows, received)
    quads = list(stored)
    for quad in quads:
        keep_lexical_form(quad.object)
    absorbed = [
        element
        for iri, choice in absorb.items()
        for element in received[iri, None].elements
        if choice in (True, "latest") or "keep" in choices(choice) or element.triple.predicate.value in choices(choice)
    ]
    ages = [choice["keep"] for choice in absorb.values() if isinstance(choice, Mapping)]
    if ages:
        end_ms = min(received[clause.window.stream, None].watermark_ms for clause in asked.windows)
        absorbed = with_ends(absorbed, ages[0], end_ms)
    return World(received, quads, absorbed, replacing="latest" in absorb.values())


def choices(choice: object) -> Collection[str]:
    return choice if isinstance(choice, Collection) and not isinstance(choice, str) else ()


def with_ends(elements: list[Element], keep_ms: int, end_ms: float) -> list[Element]:
    """Elements in order of time, and deletions of those that have not come again within an age."""
    arrivals = [each for each in elements if not each.deletes]
    ends = [
        Element(each.time_ms + keep_ms, -1, each.triple, True)
        for each in arrivals
        if each.time_ms + keep_ms <= end_ms
        and not any(
            each.triple == other.triple
            and (each.time_ms, each.arrival) < (other.time_ms, other.arrival)
            and other.time_ms <= each.time_ms + keep_ms
            for other in arrivals
        )
    ]
    return sorted([*elements, *ends], key=lambda each: (each.time_ms, each.arrival))


def among_others(clauses: Sequence[WindowClause], received: Mapping[Source, Received]) -> list[WindowClause]:
    """Windows that adapt know the other streams of the query."""
    sources = {source(clause.window) for clause in clauses}
    return [
        replace(clause, window=clause.window.among(received, sources))
        if isinstance(clause.window, Adaptive)
        else clause
        for clause in clauses
    ]


def reported_moments(asked: Rewritten, world: World, report: Collection[str]) -> Iterator[tuple[Moment, Contents]]:
    """The moments at which the query is evaluated, with what its windows hold then."""
    windows = [clause.window for clause in asked.windows]
    last: Moment | None = None
    for moment in evaluation_moments(windows, asked.period_ms, world.received):
        contents = {
            clause.graph: clause.window.content(moment, world.received[source(clause.window)].elements)
            for clause in asked.windows
        }
        if "non-empty" in report and not any(contents.values()):
            continue
        if "change" in report and not any(changed(window, last, moment, world) for window in windows):
            continue
        last = moment
        yield moment, contents


def changed(window: Window, last: Moment | None, moment: Moment, world: World) -> bool:
    """Has an element entered or left since the last evaluation, also one that came and went in between?"""
    elements = world.received[source(window)].elements
    before = [] if last is None else window.content(last, elements)
    if before != window.content(moment, elements):
        return True
    if not isinstance(window, Sliding) or not elements:
        return False
    first_ms = elements[0].time_ms if last is None else last.time_ms + 1
    closes_ms = multiples(window.slide_ms, first_ms, moment.time_ms)
    return any(window.content(Moment(close_ms, False), elements) != before for close_ms in closes_ms)


def difference(left: Sequence[Solution], right: Sequence[Solution]) -> list[Solution]:
    """The difference of bags, in the order of the first."""
    rest, kept = Counter(right), []
    for solution in left:
        if rest[solution]:
            rest[solution] -= 1
        else:
            kept.append(solution)
    return kept


def stored_at(moment: Moment, world: World) -> list[ox.Quad]:
    """The stored data as an evaluation sees it."""
    change = world.change
    seen = [element for element in world.absorbed if moment.sees(element.time_ms)]
    if change is None or not moment.sees(change.time_ms):
        return with_elements(world.stored, seen, world)
    before = with_elements(world.stored, [each for each in seen if each.time_ms < change.time_ms], world)
    before = [*(quad for quad in before if quad not in change.deleted), *change.inserted]
    return with_elements(before, [each for each in seen if each.time_ms >= change.time_ms], world)


def received_since(received: Received, since_ms: float) -> Received:
    """A stream as a query sees it that begins at a time."""
    return replace(received, elements=tuple(each for each in received.elements if each.time_ms >= since_ms))


def with_elements(quads: list[ox.Quad], elements: Iterable[Element], world: World) -> list[ox.Quad]:
    """Stored data with what a stream leaves in them, in order of time."""
    for _, _, triple, deletes, _ in elements:
        if deletes:
            quads = [each for each in quads if each != ox.Quad(*triple)]
            continue
        if world.replacing:
            quads = [
                each
                for each in quads
                if (each.subject, each.predicate, each.graph_name)
                != (triple.subject, triple.predicate, ox.DefaultGraph())
            ]
        quads = [*quads, ox.Quad(*triple)]
    return quads


def standing(elements: Iterable[Element]) -> list[ox.Triple]:
    """The triples of a window: those of which the last element does not delete."""
    last = {element.triple: element for element in elements}
    return [triple for triple, element in last.items() if not element.deletes]


def quads_of(window: str, elements: Iterable[Element]) -> Iterator[ox.Quad]:
    """The graphs of a window, each under a name of its own, and a graph that says which has which name."""
    for element in elements:
        if element.graph is not None:
            name = stored_name(window, element.graph)
            yield ox.Quad(*element.triple, name)
            yield ox.Quad(name, ox.NamedNode(GRAPH_NAME), element.graph, ox.NamedNode(f"{window}:graphs"))


def stored_name(window: str, graph: ox.NamedNode | ox.BlankNode) -> ox.NamedNode:
    return ox.NamedNode(f"{window}:graph:{graph.value}")


def in_each_graph(window: str, variable: str, pattern: str, contents: Contents) -> str:
    """A pattern in any graph of a window: pyoxigraph does not keep to the graph in a sub-select in `GRAPH ?g`."""
    graphs = dict.fromkeys(element.graph for element in contents[window] if element.graph is not None)
    each = [
        f"{{ GRAPH <{window}:graphs> {{ {name} <{GRAPH_NAME}> {variable} }} GRAPH {name} {pattern} }}"
        for name in (stored_name(window, graph) for graph in graphs)
    ]
    return f"{{ {' UNION '.join(each) or f'VALUES {variable} {{}}'} }}"


def asks_time(asked: Rewritten) -> bool:
    return NOW.search(asked.sparql) is not None


def solve(asked: Rewritten, contents: Contents, stored: list[ox.Quad], time_ms: int) -> list[Solution]:
    """One evaluation: a fresh store with the query's dataset and its windows. NOW() is the time of the evaluation."""
    now = (datetime(1970, 1, 1) + timedelta(milliseconds=time_ms)).isoformat(timespec="milliseconds")
    sparql = NOW.sub(f'"{now}Z"^^<{XSD}dateTime>', asked.sparql)
    sparql = WITH_ANY_GRAPH.sub(lambda found: in_each_graph(*found.groups(), contents), sparql)
    store = ox.Store()
    store.extend(dataset_of(asked, stored))
    for name, elements in contents.items():
        graph = ox.DefaultGraph() if asked.merged else ox.NamedNode(name)
        store.add_graph(graph)
        store.extend(ox.Quad(*triple, graph) for triple in standing(elements))
        store.extend(quads_of(name, elements))
    solutions = store.query(sparql, base_iri=NO_BASE)
    if isinstance(solutions, ox.QueryBoolean):
        return [frozenset({("ask", ox.Literal(bool(solutions)))})]
    names = [variable.value for variable in solutions.variables]
    if asked.template is not None:  # of the solutions only what the template asks for counts: else triples come again
        names = [name for name in names if f"?{name}" in template_variables(asked.template)]
    return [frozenset((name, solution[name]) for name in names if solution[name] is not None) for solution in solutions]


def dataset_of(asked: Rewritten, stored: list[ox.Quad]) -> Iterator[ox.Quad]:
    """FROM and FROM NAMED as SPARQL has them (13.2): what they do not name is not there.

    Only the stored default graph is there also where there is a FROM NAMED and no FROM.
    """
    whole = not asked.default_graphs and not asked.named_graphs
    for quad in stored:
        name = None if isinstance(quad.graph_name, ox.DefaultGraph) else quad.graph_name.value
        if name is None:
            if not asked.default_graphs:
                yield quad
            continue
        if whole or name in asked.named_graphs:
            yield quad
        if name in asked.default_graphs:
            yield ox.Quad(*quad.triple)
