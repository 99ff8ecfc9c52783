"""f:timestamp over random streams: the latest time of each triple in the window, however the elements come."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import freshet
from counts import count

E = "http://example.org/"
PREFIXES = f"PREFIX : <{E}> PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#> "
Row = tuple[int, str, str]
Answers = dict[int, set[tuple[str, str, int]]]


def random_elements(seed: int) -> list[Row]:
    """Times in order, of a few triples."""
    generator = random.Random(seed)
    times = sorted(generator.randrange(0, 12_000, 250) for _ in range(30))
    return [(time, generator.choice("abc"), generator.choice("pq")) for time in times]


def answers(elements: list[Row], query: str, folder: Path | None, seed: int) -> Answers:
    """What is reported where elements come a few at a time; with a folder, with a restart in between."""
    generator = random.Random(seed)
    cuts = sorted({0, len(elements), *(generator.randrange(len(elements)) for _ in range(8))})
    session = freshet.Session(checkpoint=folder)
    session.stream(E + "s")
    session.register(query, name="q")
    reports: list[freshet.Report] = []
    for first, end in itertools.pairwise(cuts):
        lines = (f"{time}\t<{E}{s}> <{E}{p}> <{E}o> .\n" for time, s, p in elements[first:end])
        session.push(E + "s", "".join(lines))
        reports += session.registered("q").take()
        if folder is not None:
            session.checkpoint()
            session.close()
            session = freshet.Session(checkpoint=folder)
    session.finish()
    reports += session.registered("q").take()
    found = {report.time_ms: report.bindings() for report in reports}
    session_rows = {
        time: {(row["s"].value[-1], row["p"].value[-1], int(row["at"].lexical)) for row in rows}
        for time, rows in found.items()
    }
    session.close()
    return session_rows


def latest(elements: list[Row]) -> set[tuple[str, str, int]]:
    return {(s, p, max(time for time, *triple in elements if triple == [s, p])) for _, s, p in elements}


def sliding(elements: list[Row]) -> Iterator[tuple[int, list[Row]]]:
    for close in range(1000, 20_000, 1000):
        yield close, [each for each in elements if close - 3000 <= each[0] < close]


def counted(elements: list[Row]) -> Iterator[tuple[int, list[Row]]]:
    for end in range(2, len(elements) + 1, 2):
        time = elements[end - 1][0]
        last = max(at for at in range(2, len(elements) + 1, 2) if elements[at - 1][0] <= time)
        yield time, elements[max(0, last - 5) : last]


def ranges(elements: list[Row]) -> Iterator[tuple[int, list[Row]]]:
    for time in sorted({each[0] for each in elements}):
        yield time, [each for each in elements if time - 3000 <= each[0] <= time]


WINDOWS = {
    "sliding": ("FROM NAMED WINDOW <w> ON :s [RANGE 3s STEP 1s] WHERE { WINDOW <w> { ?s ?p ?o", sliding),
    "count": ("FROM NAMED WINDOW <w> ON :s [COUNT 5 STEP 2] WHERE { WINDOW <w> { ?s ?p ?o", counted),
    "range": ("WHERE { STREAM :s [RANGE 3s] { ?s ?p ?o", ranges),
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("restarts", [False, True])
def test_latest_times(window: str, restarts: bool, tmp_path: Path) -> None:
    written, contents = WINDOWS[window]
    query = f"{PREFIXES} SELECT RSTREAM ?s ?p ?at {written} BIND (f:timestamp(?s, ?p, ?o) AS ?at) }} }}"
    for seed in range(count(3 if restarts else 20)):
        elements = random_elements(seed)
        expected = {time: latest(content) for time, content in contents(elements) if content}
        folder = tmp_path / f"{seed}" if restarts else None
        assert answers(elements, query, folder, seed) == expected, f"seed {seed}"
