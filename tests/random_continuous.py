"""Random continuous queries in the three dialects, in fragments that can be left out one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from case_files import EXAMPLE
from comparing import XSD
from random_expressions import Dice, condition, operand, slice_text, total_order
from random_patterns import FEATURED, Fragment, Home, Patterns, Variables, is_graph, smaller_fragment
from random_streams import Timed, Triple
from random_windows import (
    RandomWindow,
    adaptive_window,
    cqels_window,
    csparql_window,
    moving_window,
    rspql_window,
    units,
)

PREFIXES = f"PREFIX : <{EXAMPLE}>\nPREFIX xsd: <{XSD}>\n"
ANY_STREAM = "?stream"


@dataclass(frozen=True)
class RandomQuery:
    """A query of one of the dialects. `head` is what stands after SELECT, or `template` after CONSTRUCT."""

    dialect: str
    name: str
    output: str
    head: tuple[str, ...]
    windows: tuple[RandomWindow, ...]
    where: Fragment
    group_by: str = ""
    order_by: str = ""
    template: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    period_ms: int | None = None
    report: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The query as Freshet and the reference read it."""
        form = f"CONSTRUCT {{ {' '.join(self.template)} }}" if self.template else f"SELECT {' '.join(self.head)}"
        lines = [f"{self.registration}{form}", *self.window_clauses, *self.datasets, f"WHERE {self.where}"]
        return PREFIXES + "\n".join(filter(None, [*lines, self.group_by, self.order_by]))

    @property
    def registration(self) -> str:
        if self.dialect == "rspql":
            return f"REGISTER {self.output} :{self.name} AS "
        if self.dialect == "csparql":
            every = "" if self.period_ms is None else f"COMPUTED EVERY {units(self.period_ms)} "
            return f"REGISTER QUERY {self.name} {every}AS "
        return ""

    @property
    def window_clauses(self) -> list[str]:
        if self.dialect == "rspql":
            return [f"FROM NAMED WINDOW :w{at} ON :{w.stream} [{w.span}]" for at, w in enumerate(self.windows)]
        return [f"FROM STREAM :{w.stream} [{w.span}]" for w in self.windows] if self.dialect == "csparql" else []

    def streams(self, declared: Sequence[str]) -> set[str]:
        """The streams that it waits for by their own time."""
        read = {window.stream for window in self.windows if not window.by_event_time}
        return set(declared) if ANY_STREAM in read else read


@dataclass
class QueriedData:
    """What there is to ask about: streams, the stored default graph, named graphs."""

    streams: Mapping[str, Timed]
    stored: Sequence[Triple]
    graphs: Mapping[str, Sequence[Triple]]
    subjects: Sequence[str]
    dated: bool = False
    moment_ms: int = field(default=0)


def random_query(dice: Dice, name: str, data: QueriedData) -> RandomQuery:
    moving = dice.random() < 0.5
    dialect = dice.choice(["rspql", "rspql", "cqels", "cqels", "csparql"] if moving else ["rspql", "rspql", "csparql"])
    if data.dated:
        dialect = dice.choice(["rspql", "rspql", "rspql", dialect])
    windows = random_windows(dice, dialect, data, moving=moving)
    datasets = random_datasets(dice, data)
    homes = random_homes(dialect, windows, visible(data, datasets))
    blocks = [home for home in homes if home is not None and not is_graph(home)]
    patterns, where, scope = random_pattern(dice, homes, blocks, opener(dialect, windows), data.subjects)
    while dialect == "cqels" and "STREAM" not in str(where):  # its windows stand in the pattern: it would have none
        patterns, where, scope = random_pattern(dice, homes, blocks, opener(dialect, windows), data.subjects)
    query = RandomQuery(
        dialect,
        name,
        dice.choice(["RSTREAM", "ISTREAM", "DSTREAM"]) if dialect == "rspql" else "",
        (),
        windows,
        where,
        datasets=datasets,
        period_ms=dice.choice([1000, 1500, 2500, 4000]) if dialect == "csparql" and dice.random() < 0.3 else None,
        report=random_report(dice) if dialect != "cqels" else (),
    )
    return with_head(dice, query, patterns, list(dict.fromkeys(scope)))


def random_pattern(
    dice: Dice,
    homes: Mapping[Home, Sequence[Triple]],
    blocks: Sequence[str],
    open_block: Callable[[str], str],
    subjects: Sequence[str],
) -> tuple[Patterns, Fragment, Variables]:
    simple = dice.random() < 0.35
    featured = "" if simple or dice.random() < 0.2 else dice.choice(FEATURED)
    patterns = Patterns(dice, homes, blocks, open_block, subjects, dice.choice([1, 2, 3, 4, 5]), simple, featured)
    beside = Dice(str(dice.getstate()))  # so that queries which do not ask for the time are what they were
    patterns.timed = beside if beside.random() < 0.15 else None
    return patterns, *patterns.whole()


def random_windows(dice: Dice, dialect: str, data: QueriedData, *, moving: bool) -> tuple[RandomWindow, ...]:
    """Of those that are `moving` most move with every element; the others close now and then, or may do either."""
    windows = []
    beside = Dice(str(dice.getstate()))  # so that queries without these windows are what they were
    adapts = beside.random() < 0.15
    for _ in range(dice.choice([1, 1, 2, 2, 3])):
        stream = dice.choice(sorted(data.streams))
        if dialect == "cqels" and dice.random() < 0.1:
            stream = ANY_STREAM
        if adapts and beside.random() < 0.7:
            windows.append(adaptive_window(beside, dialect, stream))
        elif moving and dice.random() < 0.9:
            windows.append(moving_window(dice, dialect, stream, dated=data.dated))
        elif dialect == "rspql":
            windows.append(rspql_window(dice, stream, dated=data.dated))
        elif dialect == "csparql":
            windows.append(csparql_window(dice, stream))
        else:
            windows.append(cqels_window(dice, stream))
    return tuple(windows)


def random_datasets(dice: Dice, data: QueriedData) -> tuple[str, ...]:
    if not data.graphs or dice.random() < 0.6:
        return ()
    return tuple(f"{dice.choice(['FROM', 'FROM NAMED'])} {name}" for name in dice.sample(sorted(data.graphs), 2))


def random_report(dice: Dice) -> tuple[str, ...]:
    return dice.choice([()] * 12 + [("change",), ("non-empty",), ("change", "non-empty")])


def visible(data: QueriedData, datasets: Sequence[str]) -> QueriedData:
    """The stored data that FROM and FROM NAMED let through: without FROM, the default graph is there."""
    if not datasets:
        return data
    merged = [triple for name, triples in data.graphs.items() if f"FROM {name}" in datasets for triple in triples]
    graphs = {name: triples for name, triples in data.graphs.items() if f"FROM NAMED {name}" in datasets}
    return replace(data, stored=merged if len(graphs) < len(datasets) else data.stored, graphs=graphs)


def random_homes(dialect: str, windows: Sequence[RandomWindow], data: QueriedData) -> dict[Home, Sequence[Triple]]:
    """The triples that each window or graph may hold about the time that the query is mostly about."""
    homes: dict[Home, Sequence[Triple]] = {None: data.stored, **data.graphs}
    for at, window in enumerate(windows):
        streams = data.streams if window.stream == ANY_STREAM else {window.stream: data.streams[window.stream]}
        near = [
            triple
            for elements in streams.values()
            for time_ms, triple in elements
            if abs(time_ms - data.moment_ms) <= window.reach_ms
        ]
        if dialect == "csparql":
            homes[None] = [*homes[None], *near]
        else:
            homes[f":w{at}"] = near
    return homes


def opener(dialect: str, windows: Sequence[RandomWindow]) -> Callable[[str], str]:
    """How a block of a window begins."""
    if dialect == "rspql":
        return lambda home: f"WINDOW {home} {{"

    def stream(home: str) -> str:
        window = windows[int(home[2:])]
        name = window.stream if window.stream == ANY_STREAM else f":{window.stream}"
        return f"STREAM {name} [{window.span}] {{"

    return stream


def with_head(dice: Dice, query: RandomQuery, patterns: Patterns, scope: Variables) -> RandomQuery:
    """What the query shows of its solutions, and how: in groups, in order, as triples."""
    scope = scope or ["?a"]
    nameable = not any(name.startswith("_:") for name in patterns.subjects)
    kind = dice.random()
    if kind < 0.12:
        order_by = f"{total_order(dice, scope)} {slice_text(dice)}".strip() if nameable and dice.random() < 0.4 else ""
        return replace(query, template=random_template(dice, scope), order_by=order_by)
    some = dice.sample(scope, min(len(scope), dice.randint(1, 3)))
    group_by = ""
    if kind < 0.6:
        worked_out = f"({operand(dice, patterns.known(scope))} AS ?x)"
        choices = [("*",), tuple(some), (*some, worked_out), ("DISTINCT", *some), ("DISTINCT", *some, worked_out)]
        head = dice.choice(choices[1:] if ANY_STREAM in {w.stream for w in query.windows} else choices)
    else:
        head, group_by = grouped(dice, patterns, scope, some)
    query = replace(query, head=head, group_by=group_by)
    if nameable and head != ("*",) and dice.random() < 0.3:
        shown = [fragment.rpartition(" ")[2].rstrip(")") for fragment in head if fragment != "DISTINCT"]
        return replace(query, order_by=f"{total_order(dice, shown)} {slice_text(dice)}".strip())
    return query


def grouped(dice: Dice, patterns: Patterns, scope: Variables, some: Variables) -> tuple[tuple[str, ...], str]:
    keys = some[: dice.randint(0, 2)]
    by = list(keys)
    aggregates = [f"({patterns.aggregate(scope, keys)} AS ?x{at})" for at in range(dice.randint(1, 3))]
    if dice.random() < 0.15:
        aggregates.append(f"({patterns.aggregate(scope, keys)} {dice.choice('+-*/')} COUNT(*) AS ?y)")
    having = ""
    compared = [key for key in keys if key not in patterns.stepless]
    if compared and dice.random() < 0.3:
        having = dice.choice(["HAVING (COUNT(*) > 1)", f"HAVING ({condition(dice, compared, 1)})"])
    if keys and dice.random() < 0.1:
        by, keys = [*keys, f"({operand(dice, patterns.known(scope))} + 1 AS ?key)"], [*keys, "?key"]
    return (*keys, *aggregates), f"GROUP BY {' '.join(by)} {having}".rstrip() if keys else ""


def random_template(dice: Dice, scope: Variables) -> tuple[str, ...]:
    """Triples of what is bound, some about a new blank node, some in graphs; not all of them can be triples."""
    ends = [*scope * 2, ":r0", "_:new"]
    predicates = [":made", ":made", ":of", *scope[:1]]
    objects = [*ends, "1", '"a"']
    graphs = [":g", *scope] if dice.random() < 0.3 else []

    def triple() -> str:
        made = f"{dice.choice(ends)} {dice.choice(predicates)} {dice.choice(objects)} ."
        return f"GRAPH {dice.choice(graphs)} {{ {made} }}" if graphs and dice.random() < 0.6 else made

    return tuple(triple() for _ in range(dice.randint(1, 3)))


def varied(dice: Dice, query: RandomQuery, name: str) -> RandomQuery:
    """The same query with other constants in it."""
    return replace(query, name=name, where=with_other_constants(dice, query.where))


def with_other_constants(dice: Dice, fragment: Fragment) -> Fragment:
    if fragment.fragments:
        return replace(fragment, fragments=tuple(with_other_constants(dice, inner) for inner in fragment.fragments))
    other = re.sub(r"(?<=:r)[0-2]\b", lambda _: str(dice.randrange(3)), fragment.start)
    other = re.sub(r"(?<![\w.?:\"])[0-3](?![\w.\"])", lambda _: str(dice.randrange(4)), other)
    return replace(fragment, start=other)


def smaller_query(query: RandomQuery) -> Iterator[RandomQuery]:
    """The same with one thing left out."""
    for name in ("order_by", "report", "datasets", "period_ms"):
        if getattr(query, name):
            yield replace(query, **{name: type(getattr(query, name))() if name != "period_ms" else None})
    if len(query.windows) > 1:
        yield replace(query, windows=query.windows[:-1])
        if query.dialect != "rspql":
            yield from (replace(query, windows=windows) for windows in without_one(query.windows))
    yield from (replace(query, where=less) for less in smaller_fragment(query.where))
    for name in ("head", "template", "report"):
        if len(getattr(query, name)) > 1:
            yield from (replace(query, **{name: less}) for less in without_one(getattr(query, name)))
    if query.output not in ("RSTREAM", ""):
        yield replace(query, output="RSTREAM")


def without_one(things: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Each way to leave out a half (if there are many) or one of them."""
    if len(things) > 4:
        middle = len(things) // 2
        yield tuple(things[:middle])
        yield tuple(things[middle:])
    for at in range(len(things)):
        yield (*things[:at], *things[at + 1 :])
