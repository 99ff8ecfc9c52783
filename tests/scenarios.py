"""Random continuous queries with random streams to ask, all from one seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from case_files import EXAMPLE
from random_continuous import QueriedData, RandomQuery, random_query, smaller_query, varied, without_one
from random_expressions import Dice
from random_streams import (
    NAMED_SUBJECTS,
    SUBJECTS,
    Lines,
    n_triples,
    random_stream,
    random_triple,
    statement_of,
    with_advances,
)

Absorbed = bool | str | tuple[str, ...] | dict[str, int]


@dataclass(frozen=True)
class GraphChange:
    """An update of the stored graphs when all streams have come to a time, in N-Quads."""

    time_ms: int
    deleted: tuple[str, ...]
    inserted: tuple[str, ...]


@dataclass(frozen=True)
class Scenario:
    """Queries over the same streams. A query that is `passing` comes while they run, and goes again.

    Where the graphs change, the lines of each stream before that, and an advance to its time, come first.
    """

    queries: tuple[RandomQuery, ...]
    streams: Mapping[str, Lines]
    lateness_ms: Mapping[str, int]
    stored: tuple[str, ...]
    absorb: Mapping[str, Absorbed]
    passing: RandomQuery | None = None
    change: GraphChange | None = None
    retracts: bool = False  # whether elements of the streams can delete

    def __str__(self) -> str:
        lines = []
        for query in self.queries:
            lines += [query.text] + ([f"report: {', '.join(query.report)}"] if query.report else [])
        if self.passing:
            lines += ["passing", self.passing.text]
        for iri, elements in self.streams.items():
            absorbed = self.absorb.get(iri, False)
            lines.append(f"stream {iri}, lateness {self.lateness_ms[iri]} ms, absorbed: {absorbed}")
            lines += [f"  {time_ms}\t{statement or '(advance)'}" for time_ms, statement in elements]
        if self.change:
            lines.append(str(self.change))
        return "\n".join([*lines, "stored", *(f"  {statement}" for statement in self.stored)])


def scenario(
    seed: int,
    query_count: int = 1,
    length: int | None = None,
    *,
    changing: bool = False,
    replacing: bool = False,
    retracting: bool = False,
) -> Scenario:
    """Everything that a test needs: the queries, and streams of at most `length` elements.

    With `changing` much is stored, and mostly changed by an update. With `replacing` a stream is absorbed whose
    elements replace others. With `retracting` elements delete what came before, and one stream at most is absorbed.
    """
    dice = Dice(seed)
    names = dice.choice([["s"], ["s"], ["s", "t"], ["s", "t"], ["s", "t", "u"]])
    start_ms = dice.choice([0, 0, 5000, 1_700_000_000_000, -7000])
    # Blank nodes have no order, so a query over them can have no ORDER BY that leaves nothing open.
    subjects = dice.choice([SUBJECTS, NAMED_SUBJECTS])
    dated = dice.random() < 0.2
    fresh = dice.random() < 0.15
    dice.operators = "*/" if dated else dice.operators
    length = length or dice.choice([4, 8, 12, 20, 25])
    each = max(2, length // len(names))
    timed = {
        name: random_stream(dice, start_ms, dice.randint((each + 1) // 2, each), subjects, dated=dated, fresh=fresh)
        for name in names
    }
    stored = [random_triple(dice, subjects) for _ in range(dice.choice([3, 8, 12] if changing else [0, 3, 8]))]
    graphs = {}
    if stored and dice.random() < 0.4:
        graphs = {f":g{at}": [random_triple(dice, subjects) for _ in range(dice.randint(1, 5))] for at in range(2)}
    absorbing = dice.random() < (0.5 if changing else 0.25) or replacing
    known = [*stored, *(triple for lines in timed.values() for _, triple in lines if absorbing)]
    moment_ms = dice.choice([time_ms for elements in timed.values() for time_ms, _ in elements])
    data = QueriedData(timed, known, graphs, subjects, dated, moment_ms)
    queries = random_queries(dice, data, query_count)
    passing = random_query(dice, "passing", data) if query_count > 1 and dice.random() < 0.5 else None
    quads = [*map(statement_of, stored)]
    quads += [
        f"{statement_of(triple)[:-1]}{n_triples(name)} ." for name, triples in graphs.items() for triple in triples
    ]
    streams = {EXAMPLE + name: with_advances(dice, lines) for name, lines in timed.items()}
    absorption = random_absorption(dice, [*queries, *filter(None, [passing])], names) if absorbing else {}
    if replacing:
        common = sorted(set.intersection(*(query.streams(names) for query in queries)))
        absorption = {EXAMPLE + Random(seed).choice(common): "latest"} if common else {}
    if retracting:
        streams = {iri: with_deletions(Random(f"{seed} {iri}"), lines) for iri, lines in streams.items()}
        common = sorted(set.intersection(*(query.streams(names) for query in queries)))
        choices: list[Absorbed] = [False, True, True, "latest", (EXAMPLE + "p0",)]
        if all(query.streams(names) == queries[0].streams(names) for query in queries):  # all wait for the same
            choices += [{"keep": 700}, {"keep": 2000}]
        absorption = {EXAMPLE + Random(seed).choice(common): Random(seed + 1).choice(choices)} if common else {}
    change = None
    if not dated and quads + list(absorption) and (changing or Random(seed).random() < 0.1):
        change = random_change(Random(seed), streams, quads, subjects)
        streams = {iri: cut_at(lines, change.time_ms) for iri, lines in streams.items()}
    return Scenario(
        queries,
        streams,
        {EXAMPLE + name: dice.choice([0, 1000, 3000]) for name in names},
        tuple(quads),
        absorption,
        passing,
        change,
        retracting,
    )


def random_change(
    dice: Random, streams: Mapping[str, Lines], quads: Sequence[str], subjects: Sequence[str]
) -> GraphChange:
    """Some of what is stored goes, or of what streams bring, which may be absorbed; and something comes."""
    elements = [line for lines in streams.values() for line in lines if line[1] is not None]
    known = [*quads, *(statement for _, statement in elements if statement and not statement.startswith("-"))]
    deleted = [statement for statement in known if "_:" not in statement and dice.random() < 0.5]
    inserted = [statement_of(random_triple(dice, subjects)) for _ in range(dice.choice([0, 0, 1, 3]))]
    inserted += [statement for statement in deleted if dice.random() < 0.2]
    inserted = [statement for statement in inserted if "_:" not in statement]
    times_ms = sorted(time_ms for time_ms, _ in elements)
    return GraphChange(dice.choice(times_ms[len(times_ms) // 3 :]), tuple(deleted), tuple(inserted))


def with_deletions(dice: Random, lines: Lines) -> Lines:
    """Some lines delete what one of the lines so far has, or something else."""
    found: list[tuple[int, str | None]] = []
    for time_ms, statement in lines:
        found.append((time_ms, statement))
        said = [known for _, known in found if known is not None and not known.startswith("-")]
        while said and dice.random() < 0.35:
            found.append((time_ms, f"- {dice.choice(said[-4:])}"))
            if dice.random() < 0.3:
                found.append((time_ms, dice.choice(said)))
    return tuple(found)


def cut_at(lines: Lines, time_ms: int) -> Lines:
    """What is before a time, an advance to it, and the rest."""
    before, after = (tuple(line for line in lines if (line[0] < time_ms) == is_before) for is_before in (True, False))
    return (*before, (time_ms, None), *after)


def random_queries(dice: Dice, data: QueriedData, count: int) -> tuple[RandomQuery, ...]:
    """Queries, half of them the first one again with other constants."""
    queries = [random_query(dice, "q0", data)]
    for number in range(1, count):
        name = f"q{number}"
        queries.append(varied(dice, queries[0], name) if dice.random() < 0.5 else random_query(dice, name, data))
    return tuple(queries)


def random_absorption(
    dice: Random, queries: Sequence[RandomQuery], names: Sequence[str]
) -> dict[str, bool | tuple[str, ...]]:
    """Streams that are absorbed, all or in part: only such as every query waits for, or else it is a race."""
    common = set.intersection(*(query.streams(names) for query in queries))
    choices: list[bool | tuple[str, ...]] = [False, True, True, (EXAMPLE + "p0",), (EXAMPLE + "p1", EXAMPLE + "v")]
    return {EXAMPLE + stream: dice.choice(choices) for stream in sorted(common)}


def smaller(case: Scenario) -> Iterator[Scenario]:
    """The same with one thing left out, for finding the smallest that still fails."""
    if len(case.queries) > 1:
        yield from (replace(case, queries=queries) for queries in without_one(case.queries))
    for iri, lines in case.streams.items():
        for kept in without_one(lines):
            if case.change is None or (case.change.time_ms, None) in kept:
                yield replace(case, streams={**case.streams, iri: kept})
    yield from (replace(case, stored=kept) for kept in without_one(case.stored))
    for at, query in enumerate(case.queries):
        for less in smaller_query(query):
            yield replace(case, queries=(*case.queries[:at], less, *case.queries[at + 1 :]))
    if case.passing:
        yield replace(case, passing=None)
        yield from (replace(case, passing=less) for less in smaller_query(case.passing))
    if case.change:
        change = case.change
        yield from (replace(case, change=replace(change, deleted=kept)) for kept in without_one(change.deleted))
        yield from (replace(case, change=replace(change, inserted=kept)) for kept in without_one(change.inserted))
    if case.absorb:
        yield replace(case, absorb={})
    for iri, lateness_ms in case.lateness_ms.items():
        if lateness_ms:
            yield replace(case, lateness_ms={**case.lateness_ms, iri: 0})
