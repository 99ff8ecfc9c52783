"""Random continuous queries with random streams to ask, all from one seed.

The vocabulary is so small that joins meet, and most patterns are triples of the data with variables put in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from case_files import EXAMPLE
from comparing import XSD

Lines = tuple[tuple[int, str | None], ...]
Triple = tuple[str, str, str]

# Two forms of one number never meet (0.5 is a decimal, 2.5 a double), so MIN and MAX have one answer.
NUMBERS = ("0", "1", "2", "3", "0.5", "1.5", '"2.5"^^xsd:double')
# No dates: pyoxigraph subtracts one from the other, which SPARQL 1.1 does not.
VALUES = (*NUMBERS, '"a"', '"b"', '"a"@en', "true")
RESOURCES = (":r0", ":r1", ":r2")
SUBJECTS = (*RESOURCES * 3, "_:b0", "_:b1", ":p0")
MEASURE = ":v"  # its objects are numbers
STEPS_MS = (0, 0, 0, 250, 500, 500, 500, 1000, 1000, 2000)
DISORDER_MS = (*STEPS_MS, 3000, -500, -1000, -2500)
FUNCTIONS = ("ABS", "CEIL", "FLOOR", "ROUND", "STR", "LANG", "DATATYPE", "-")
TESTS = ("isIRI", "isBLANK", "isLITERAL", "isNUMERIC", "BOUND", "!BOUND")
PREFIXES = f"PREFIX : <{EXAMPLE}>\nPREFIX xsd: <{XSD}>\n"


@dataclass(frozen=True)
class RandomWindow:
    """One window clause with the patterns and filters inside its braces."""

    stream: str
    width_ms: int
    slide_ms: int
    inside: tuple[str, ...]


@dataclass(frozen=True)
class RandomQuery:
    """RSP-QL in parts that can be left out one by one."""

    name: str
    output: str
    head: tuple[str, ...]
    windows: tuple[RandomWindow, ...]
    outside: tuple[str, ...]
    tail: str

    @property
    def text(self) -> str:
        """The query as Freshet and the reference read it."""
        lines = [f"REGISTER {self.output} :{self.name} AS SELECT {' '.join(self.head)}"]
        for number, window in enumerate(self.windows):
            span = f"RANGE PT{window.width_ms / 1000:g}S STEP PT{window.slide_ms / 1000:g}S"
            lines.append(f"FROM NAMED WINDOW :w{number} ON :{window.stream} [{span}]")
        blocks = [f"  WINDOW :w{number} {{ {' '.join(w.inside)} }}" for number, w in enumerate(self.windows)]
        return PREFIXES + "\n".join([*lines, "WHERE {", *blocks, *self.outside, f"}} {self.tail}".rstrip()])


@dataclass(frozen=True)
class Scenario:
    """Queries over the same streams."""

    queries: tuple[RandomQuery, ...]
    streams: Mapping[str, Lines]
    lateness_ms: Mapping[str, int]
    stored: tuple[str, ...]
    absorb: Mapping[str, bool | tuple[str, ...]]

    def __str__(self) -> str:
        lines = [query.text for query in self.queries]
        for iri, elements in self.streams.items():
            absorbed = self.absorb.get(iri, False)
            lines.append(f"stream {iri}, lateness {self.lateness_ms[iri]} ms, absorbed: {absorbed}")
            lines += [f"  {time_ms}\t{statement or '(advance)'}" for time_ms, statement in elements]
        return "\n".join([*lines, "stored", *(f"  {statement}" for statement in self.stored)])


def scenario(seed: int, query_count: int = 1, length: int | None = None) -> Scenario:
    """Everything that a test needs: the queries, and streams of at most so many elements."""
    dice = Random(seed)
    names = dice.choice([["s"], ["s", "t"], ["s", "t"], ["s", "t", "u"]])
    start_ms = dice.choice([0, 0, 0, 1_700_000_000_000])
    length = length or dice.choice([4, 12, 20, 28])
    timed = {name: random_stream(dice, start_ms, dice.randint(length // 2, length)) for name in names}
    stored = [random_triple(dice) for _ in range(dice.choice([0, 3, 8]))]
    absorbing = dice.random() < 0.25
    told = [*stored, *(triple for lines in timed.values() for _, triple in lines if absorbing)]
    queries = tuple(random_query(dice, f"q{number}", timed, told) for number in range(query_count))
    return Scenario(
        queries,
        {EXAMPLE + name: with_advances(dice, lines) for name, lines in timed.items()},
        {EXAMPLE + name: dice.choice([0, 1000, 3000]) for name in names},
        tuple(map(statement_of, stored)),
        random_absorption(dice, queries) if absorbing else {},
    )


def random_absorption(dice: Random, queries: Sequence[RandomQuery]) -> dict[str, bool | tuple[str, ...]]:
    """Streams that are absorbed, all or in part: only such as every query waits for, or else it is a race."""
    common = set.intersection(*({window.stream for window in query.windows} for query in queries))
    choices: list[bool | tuple[str, ...]] = [False, True, True, (EXAMPLE + "p0",), (EXAMPLE + "p1", EXAMPLE + "v")]
    return {EXAMPLE + stream: dice.choice(choices) for stream in sorted(common)}


def random_triple(dice: Random) -> Triple:
    if dice.random() < 0.4:
        return dice.choice(SUBJECTS), MEASURE, dice.choice(NUMBERS)
    return dice.choice(SUBJECTS), dice.choice([":p0", ":p1"]), dice.choice([*SUBJECTS * 2, *VALUES])


def random_stream(dice: Random, start_ms: int, length: int) -> list[tuple[int, Triple]]:
    """Elements that mostly move on in time; one in five says again what was said before."""
    elements: list[tuple[int, Triple]] = []
    now_ms = start_ms
    steps_ms = dice.choice([STEPS_MS, DISORDER_MS])
    for _ in range(length):
        now_ms = max(0, now_ms + dice.choice(steps_ms))
        again = elements and dice.random() < 0.2
        elements.append((now_ms, dice.choice(elements)[1] if again else random_triple(dice)))
    return elements


def with_advances(dice: Random, elements: Sequence[tuple[int, Triple]]) -> Lines:
    """The lines of a stream, now and then with the word that nothing older will come."""
    lines: list[tuple[int, str | None]] = []
    for time_ms, triple in elements:
        if dice.random() < 0.02:
            lines.append((time_ms + dice.choice([-1000, 0, 700]), None))
        lines.append((time_ms, statement_of(triple)))
    return tuple(lines)


def statement_of(triple: Triple) -> str:
    """N-Triples."""
    return " ".join(map(n_triples, triple)) + " ."


def n_triples(term: str) -> str:
    """A term of the vocabulary as N-Triples writes it."""
    if term.startswith(":"):
        return f"<{EXAMPLE}{term[1:]}>"
    if term.startswith(("_", '"')):
        text, mark, datatype = term.partition("^^xsd:")
        return f"{text}^^<{XSD}{datatype}>" if mark else term
    datatype = "boolean" if term == "true" else "decimal" if "." in term else "integer"
    return f'"{term}"^^<{XSD}{datatype}>'


class Abstraction:
    """Terms of the data become variables, the same term mostly the same variable."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.names: dict[str, str] = {}
        self.bound: list[str] = []
        self.measured: list[str] = []

    def pattern(self, example: Triple) -> tuple[str, list[str]]:
        """A triple pattern that this triple matches (unless a variable was put in by chance), and its variables."""
        subject, predicate, object_ = example
        slots = [self._slot(subject, 0.85), self._slot(predicate, 0.1), self._slot(object_, 0.75)]
        used = [slot for slot in slots if slot.startswith("?")]
        self.bound = list(dict.fromkeys([*self.bound, *used]))
        if slots[1] == MEASURE and slots[2].startswith("?"):
            self.measured.append(slots[2])
        return " ".join(slots) + " .", used

    def _slot(self, term: str, likely: float) -> str:
        if self.bound and self.dice.random() < 0.04:
            return self.dice.choice(self.bound)
        if term.startswith("_:") or self.dice.random() < likely:
            return self.names.setdefault(term, f"?{'abcdefghijklmnopqrstuvw'[len(self.names)]}")
        return term


def random_query(
    dice: Random, name: str, timed: Mapping[str, list[tuple[int, Triple]]], stored: list[Triple]
) -> RandomQuery:
    """RSP-QL over 1 to 3 windows with 1 to 3 patterns each, and up to 2 stored patterns."""
    abstraction = Abstraction(dice)
    moment_ms = dice.choice([time_ms for elements in timed.values() for time_ms, _ in elements] or [0])
    window_count = dice.choice([1, 1, 2, 2, 3])
    pattern_counts = [1, 1, 2, 3] if window_count == 1 else [1, 1, 2]
    windows, chosen = [], []
    for _ in range(window_count):
        stream = dice.choice(sorted(timed))
        width_ms = dice.choice([1000, 2000, 3000, 4000, 5000, 5000, 7000, 7000, 10000, 10000])
        slide_ms = dice.choice([1000, 1500, 2000, 2000, 3000, 4000, 5000])
        near = [triple for time_ms, triple in timed[stream] if abs(time_ms - moment_ms) < width_ms]
        examples = []
        for _ in range(dice.choice(pattern_counts)):
            examples.append(related(dice, near, [*chosen, *examples]))
        chosen += examples
        windows.append(RandomWindow(stream, width_ms, slide_ms, random_group(dice, abstraction, examples)))
    outside = []
    for _ in range(dice.choice([0, 0, 1, 2])):
        chosen.append(related(dice, stored, chosen))
        outside.append(abstraction.pattern(chosen[-1])[0])
    if abstraction.bound and dice.random() < 0.25:
        outside.append(f"FILTER({condition(dice, abstraction.bound + abstraction.measured * 4)})")
    head, tail = head_and_tail(dice, abstraction.bound or ["?a"], abstraction.measured)
    output = dice.choice(["RSTREAM", "RSTREAM", "ISTREAM", "DSTREAM"])
    return RandomQuery(name, output, head, tuple(windows), tuple(outside), tail)


def random_group(dice: Random, abstraction: Abstraction, examples: Sequence[Triple]) -> tuple[str, ...]:
    """Patterns, and perhaps a filter, that stand inside the braces of a window."""
    parts, used = [], []
    for example in examples:
        pattern, variables = abstraction.pattern(example)
        parts.append(turned(pattern) if dice.random() < 0.05 else pattern)
        used += variables
    if used and dice.random() < 0.15:
        # Now and then about a variable that these braces do not bind.
        parts.append(f"FILTER({condition(dice, used * 4 + abstraction.measured * 4 + abstraction.bound)})")
        if dice.random() < 0.3:
            parts[-2:] = [f"{{ {parts[-2]} {parts[-1]} }}"]
    return tuple(parts)


def turned(pattern: str) -> str:
    """The same pattern from its other end, by an inverse path."""
    subject, predicate, object_, _ = pattern.split(" ")
    writable = not predicate.startswith("?") and object_.startswith(("?", ":"))
    return f"{object_} ^{predicate} {subject} ." if writable else pattern


def related(dice: Random, candidates: Sequence[Triple], chosen: Sequence[Triple]) -> Triple:
    """A triple that shares a resource with those chosen, if one does."""
    if not candidates:
        return random_triple(dice)
    terms = {term for triple in chosen for term in (triple[0], triple[2])}
    close = [triple for triple in candidates if triple[0] in terms or triple[2] in terms]
    return dice.choice(close if close and dice.random() < 0.9 else candidates)


def operand(dice: Random, variables: Sequence[str], depth: int = 1) -> str:
    if depth and dice.random() < 0.3:
        left, right = operand(dice, variables, 0), operand(dice, variables, 0)
        return f"({left} {dice.choice('+-*/')} {right})"
    if depth and dice.random() < 0.15:
        return f"{dice.choice(FUNCTIONS)}({operand(dice, variables, 0)})"
    if depth and dice.random() < 0.05:
        choices = ", ".join(operand(dice, variables, 0) for _ in range(2))
        return dice.choice([f"IF({condition(dice, variables, 0)}, {choices})", f"COALESCE({choices})"])
    return dice.choice([*variables * 3, *NUMBERS, '"a"', ":r0"])


def condition(dice: Random, variables: Sequence[str], depth: int = 2) -> str:
    """A filter's expression; it may well be an error for some solutions."""
    kind = dice.randint(0, 11) if depth else 0
    if kind == 11:
        return f"{dice.choice(TESTS)}({dice.choice(variables)})"
    if kind >= 9:
        return f"{dice.choice(variables)} != {operand(dice, variables, 0)}"
    if kind <= 4:
        operator = dice.choice(["=", "!=", "!=", "<", "<=", ">", ">="])
        return f"{operand(dice, variables)} {operator} {operand(dice, variables)}"
    if kind == 5:
        return f'{dice.choice(variables)} {dice.choice(["", "NOT "])}IN (1, 0.5, :r1, "a")'
    inner = condition(dice, variables, depth - 1)
    if kind == 6:
        return f"!({inner})"
    return f"({inner}) {'&&' if kind == 7 else '||'} ({condition(dice, variables, depth - 1)})"


def head_and_tail(dice: Random, bound: list[str], measured: list[str]) -> tuple[tuple[str, ...], str]:
    """What SELECT shows, and GROUP BY with what belongs to it."""
    some = dice.sample(bound, min(len(bound), dice.randint(1, 3)))
    if dice.random() < 0.55:
        worked_out = f"({operand(dice, bound + measured)} AS ?x)"
        return dice.choice([("*",), tuple(some), (*some, worked_out), ("DISTINCT", *some)]), ""
    keys = some[: dice.randint(0, 2)]
    aggregates = []
    for number in range(dice.randint(1, 3)):
        choices = ["COUNT(*)", f"COUNT({dice.choice(bound)})", f"COUNT(DISTINCT {dice.choice(bound)})"]
        choices += [f"{name}({dice.choice(measured or bound)})" for name in ("SUM", "AVG", "SUM")]
        choices += [f"SUM({operand(dice, measured or bound)})"]
        choices += [f"{name}({dice.choice(measured)})" for name in ("MIN", "MAX") if measured]
        aggregates.append(f"({dice.choice(choices)} AS ?x{number})")
    having = "HAVING (COUNT(*) > 1)" if keys and dice.random() < 0.2 else ""
    by = list(keys)
    if keys and dice.random() < 0.1:
        by, keys = [*keys, f"({operand(dice, measured or bound)} + 1 AS ?key)"], [*keys, "?key"]
    return (*keys, *aggregates), f"GROUP BY {' '.join(by)} {having}".rstrip() if keys else ""


def batches(streams: Mapping[str, Lines], dice: Random) -> list[tuple[str, Lines]]:
    """The streams cut into batches of any size, in any order that keeps each stream's own."""
    rest = {iri: lines for iri, lines in streams.items() if lines}
    pushed = []
    while rest:
        iri = dice.choice(sorted(rest))
        size = dice.choice([1, 1, 1, 2, 3, 5, 8, 50])
        pushed.append((iri, rest[iri][:size]))
        rest[iri] = rest[iri][size:]
        if not rest[iri]:
            del rest[iri]
    return pushed


def smaller(case: Scenario) -> Iterator[Scenario]:
    """The same with one thing left out, for finding the smallest that still fails."""
    if len(case.queries) > 1:
        yield from (replace(case, queries=queries) for queries in without_one(case.queries))
    for iri, lines in case.streams.items():
        yield from (replace(case, streams={**case.streams, iri: kept}) for kept in without_one(lines))
    yield from (replace(case, stored=kept) for kept in without_one(case.stored))
    for at, query in enumerate(case.queries):
        for less in smaller_query(query):
            yield replace(case, queries=(*case.queries[:at], less, *case.queries[at + 1 :]))


def smaller_query(query: RandomQuery) -> Iterator[RandomQuery]:
    if len(query.windows) > 1:
        yield from (replace(query, windows=windows) for windows in without_one(query.windows))
    for at, window in enumerate(query.windows):
        for inside in without_one(window.inside):
            less = (*query.windows[:at], replace(window, inside=inside), *query.windows[at + 1 :])
            yield replace(query, windows=less)
    yield from (replace(query, outside=outside) for outside in without_one(query.outside))
    if len(query.head) > 1:
        yield from (replace(query, head=head) for head in without_one(query.head))


def without_one(things: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Each way to leave out a half (if there are many) or one of them."""
    if len(things) > 4:
        middle = len(things) // 2
        yield tuple(things[:middle])
        yield tuple(things[middle:])
    for at in range(len(things)):
        yield (*things[:at], *things[at + 1 :])
