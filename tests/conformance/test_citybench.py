"""CityBench's queries over its recorded streams, in every dialect they are published in: native equals the reference.

Files that as published can have no answers, or are no queries, are in a table with the reason and the smallest change
that mends them; both forms are run. The three that are no queries are pinned in `unit/syntax/test_citybench.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from citybench_world import dialect_of, query_files, query_text, world_of
from freshet.rdf.errors import QuerySyntaxError
from published_runs import compared
from shared_data import shared

FILES = query_files() or ["cqels_query/Q1.txt"]  # where ../shared is missing, one test says so


@dataclass(frozen=True)
class Mend:
    """Why a file as published has no answers, and what to put in place of what (regular expressions)."""

    reason: str
    changes: tuple[tuple[str, str], ...]


def _filter_outside(window: str) -> tuple[tuple[str, str], ...]:
    """A FILTER at the end of a window's braces, moved behind them."""
    return ((rf"(WINDOW {window} .*?)(FILTER [^\n]*)\s*\}}", r"\1} \2"),)


WRONG_VALUE = Mend(
    "asks for ssn:hasValue, observations have sao:hasValue",
    (("ssn:hasValue", "<http://purl.oclc.org/NET/sao/hasValue>"),),
)
SAME_OBSERVATION = Mend(
    "asks for one observation that two parking places have made", ((r"(WINDOW <w2> \{\s*)\?obId1", r"\1?obId2"),)
)
NO_SUCH_PROPERTY = Mend("asks for the property ses:observedProperty", (("ses:observedProperty", "?p1"),))
NOT_GROUPED = Mend("selects ?p, which is not grouped by", ((r"SELECT \?service \?p", "SELECT ?service"),))
MISSPELT = Mend("asks for ct:hasLongtitude", (("hasLongtitude", "hasLongitude"),))
KINDS_OUTSIDE = (r"(WINDOW <w\d> \{)\s*(\?p\d\s+a ct:\w+ \.)", r"\2 \1")

ASKS = "csparql_query/Q11.txt"
MENDS = {
    "rspql-from-rsp4j/q1.rspql": WRONG_VALUE,
    "rspql-from-rsp4j/q2.rspql": WRONG_VALUE,
    "rspql-from-rsp4j/q3.rspql": WRONG_VALUE,
    "rspql-from-rsp4j/q4.rspql": Mend(
        "asks a stream of traffic for positions, and compares them where the events' are out of scope",
        (("ses:AarhusTrafficData158505", "ses:UserLocationService"), *_filter_outside("<w1>")),
    ),
    "rspql-from-rsp4j/q5.rspql": Mend(
        "asks a stream of positions for traffic, and the stream for what is stored",
        (
            (r"ON ses:UserLocationService", "ON ses:AarhusTrafficData158505"),
            (r"ct:has(\w+ \?(lat|lon)2)", r"ct:hasStart\1"),
            (r"WINDOW <w1> \{(.*?)(\?obId2 a )", r"\1 WINDOW <w1> { \2"),
            *_filter_outside("<w1>"),
        ),
    ),
    "rspql-from-rsp4j/q6.rspql": NO_SUCH_PROPERTY,
    "rspql-from-rsp4j/q7.rspql": SAME_OBSERVATION,
    "rspql-from-rsp4j/q12.rspql": NOT_GROUPED,
    "aligned/rspql_query/Q3.txt": Mend("asks the streams for kinds of properties, which are stored", (KINDS_OUTSIDE,)),
    "aligned/rspql_query/Q5.txt": Mend(
        "asks the stream for what is stored", ((r"WINDOW <w1> \{(.*?)(\?obId2 a )", r"\1 WINDOW <w1> { \2"),)
    ),
    "aligned/rspql_query/Q6.txt": NO_SUCH_PROPERTY,
    "aligned/rspql_query/Q7.txt": SAME_OBSERVATION,
    "aligned/rspql_query/Q8.txt": Mend(
        "asks a graph that is not there for events, and the streams for kinds of properties",
        ((r"GRAPH <[^>]*> \{(.*?)\}", r"\1"), KINDS_OUTSIDE),
    ),
    "aligned/rspql_query/Q9.txt": Mend("has a stray bracket", (("ssn:observedBy>", "ssn:observedBy"),)),
    "aligned/rspql_query/Q12.txt": NOT_GROUPED,
    ASKS: Mend(
        "asks whether what is bound is not bound, which is never so",
        (("Ask", "select ?obId1"), (r"Filter \(!bound\(\?obId1\)\)", "")),
    ),
    "csparql_query/location_parking_1.txt": MISSPELT,
    "cqels_query/location_parking_1.txt": MISSPELT,
}


def mended(file: str) -> str:
    text = query_text(file)
    for old, new in MENDS[file].changes:
        text, count = re.subn(old, new, text, flags=re.DOTALL)
        assert count, f"{file}: there is no {old}"
    return text


@pytest.mark.parametrize("file", FILES)
def test_as_published(file: str, tmp_path: Path) -> None:
    shared("data/citybench")
    text = query_text(file)
    try:
        world = world_of(file, text)
    except QuerySyntaxError:
        assert file in MENDS
        return
    found = compared(text, world.streams, world.graphs, dialect=dialect_of(file), folder=tmp_path)
    if file == ASKS:
        assert {row["ask"]["value"] for report in found for row in report["bindings"]} == {"false"}
    else:
        assert bool(found) == (file not in MENDS)


@pytest.mark.parametrize("file", sorted(MENDS))
def test_mended(file: str, tmp_path: Path) -> None:
    shared("data/citybench")
    text = mended(file)
    world = world_of(file, text)
    assert compared(text, world.streams, world.graphs, dialect=dialect_of(file), folder=tmp_path)
