"""Random streams over a vocabulary so small that joins meet, and random ways to hand them over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from random import Random

from case_files import EXAMPLE
from comparing import XSD

Lines = tuple[tuple[int, str | None], ...]
Triple = tuple[str, str, str]
Timed = list[tuple[int, Triple]]

# Two forms of one number never meet (0.5 is a decimal, 2.5 a double), so MIN and MAX have one answer.
NUMBERS = ("0", "1", "2", "3", "0.5", "1.5", '"2.5"^^xsd:double')
# No dates: pyoxigraph subtracts one from the other, which SPARQL 1.1 does not.
VALUES = (*NUMBERS, '"a"', '"b"', '"a"@en', "true")
RESOURCES = (":r0", ":r1", ":r2")
NAMED_SUBJECTS = (*RESOURCES * 3, ":p0")
SUBJECTS = (*NAMED_SUBJECTS, "_:b0", "_:b1")
MEASURE = ":v"  # its objects are numbers
EVENT_TIME = ":at"  # its objects are milliseconds or dates
STEPS_MS = (0, 0, 0, 250, 500, 500, 500, 1000, 1000, 2000)
DISORDER_MS = (*STEPS_MS, 3000, -500, -1000, -2500)
SILENCE_MS = (*STEPS_MS, 12000)


def random_triple(dice: Random, subjects: Sequence[str]) -> Triple:
    if dice.random() < 0.4:
        return dice.choice(subjects), MEASURE, dice.choice(NUMBERS)
    return dice.choice(subjects), dice.choice([":p0", ":p1"]), dice.choice([*subjects * 2, *VALUES])


def random_stream(
    dice: Random, start_ms: int, length: int, subjects: Sequence[str], *, dated: bool = False, fresh: bool = False
) -> Timed:
    """Elements that mostly move on in time; one in five says again what was said before.

    Where it is dated, most elements have one beside them that says when they took place; where it is
    fresh, some have a term that never comes again.
    """
    elements: Timed = []
    now_ms = start_ms
    steps_ms = dice.choice([STEPS_MS, DISORDER_MS, SILENCE_MS])
    while len(elements) < length:
        now_ms += dice.choice(steps_ms)
        again = elements and dice.random() < 0.2
        triple = dice.choice(elements)[1] if again else random_triple(dice, subjects)
        if fresh and not again and dice.random() < 0.4:
            name = f"once{now_ms}x{len(elements)}"
            triple = dice.choice(
                [(triple[0], ":p0", f":{name}"), (triple[0], ":p1", f'"{name}"'), (f":{name}", *triple[1:])]
            )
        elements.append((now_ms, triple))
        if dated and dice.random() < 0.6:
            happened_ms = now_ms + dice.choice([0, 0, -500, -1000, -4000, 300])
            elements.append((now_ms, (triple[0], EVENT_TIME, random_date(dice, happened_ms))))
    return elements[:length]


def random_date(dice: Random, time_ms: int) -> str:
    """A time as milliseconds, or as a date with or without a zone; sometimes something that is no time."""
    if dice.random() < 0.1:
        return '"soon"'
    if dice.random() < 0.6 or time_ms < 0:
        return str(time_ms)
    date = datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{time_ms % 1000:03}".rstrip("0").rstrip(".")  # the only form that pyoxigraph gives back as it is
    return f'"{date}{fraction}{dice.choice(["Z", ""])}"^^xsd:dateTime'


def with_advances(dice: Random, elements: Timed) -> Lines:
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
