"""`freshet bench citybench`: Wukong+S's table 9, CityBench's queries C1 to C11 over recorded streams of Aarhus.

As in the paper, windows are 3 s every second, and every sensor sends an observation a second (19, 12, 7 and 4 triples);
the stored graph is the repository of sensors with cultural and library events. Each query is alone. `C1_ms` is from the
watermark that closes a window to the reports in hand, the median of the closes; `C1_with_push_ms` has the pushes of
that second's elements in it as well. The baseline is the paper's figure, on one node with 24 cores.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, median

import numpy as np
import pyoxigraph

from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError
from freshet.rdf.ntriples import scan_timed
from freshet.runtime.session import Session
from freshet_benchmarks.citybench import SERVICES, CityBench, Excerpt
from freshet_benchmarks.citybench_queries import NAMES, PUBLISHED_MEAN_MS, PUBLISHED_MS, CityQuery, city_query
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.registered import raise_failures, register, take_rows
from freshet_benchmarks.social_columns import Ints

CLOSES = 200
WARM_CLOSES = 20
STEP_MS = 1_000
PUBLISHED_TRIPLES = 139_000
PUBLISHED = "Wukong+S (published)"
STORED = ("SensorRepository.n3", "AarhusCulturalEvents.n3", "AarhusLibraryEvents.n3")
_WHOLE = Excerpt(0, length_ms=2**60, speed=1)


def shared_folder() -> Path:
    """Where CityBench and Wukong+S's queries are: beside the repository, or where FRESHET_SHARED says."""
    given = os.environ.get("FRESHET_SHARED")
    return (Path(given) if given else Path(__file__).resolve().parents[3] / "shared") / "data"


def citybench_figures(folder: Path | None = None, closes: int = CLOSES) -> Sequence[Figure]:
    """Run the benchmark; where its data are missing it says so, and has no figures."""
    data = shared_folder() if folder is None else folder
    plans = data / "wukong-s" / "continuous" / "citybench"
    missing = [path for path in (data / "citybench", plans) if not path.is_dir()]
    if missing:
        print(f"freshet: citybench: skipped, there is no {missing[0]} (FRESHET_SHARED says where)", file=sys.stderr)
        return []
    bench = CityBench(data / "citybench")
    figures, medians = [], []
    with tempfile.TemporaryDirectory(prefix="freshet-citybench-") as scratch:
        stored = n_triples(bench, Path(scratch))
        for name in NAMES:
            answers, wholes = latencies(bench, stored, city_query(plans, name), closes)
            medians.append(median(answers))
            figures += [
                Figure(f"{name}_ms", medians[-1], "ms", Baseline(PUBLISHED, PUBLISHED_MS[name])),
                Figure(f"{name}_with_push_ms", median(wholes), "ms", Baseline(PUBLISHED, PUBLISHED_MS[name])),
            ]
        triples = Session().load(*stored)
    mean = Figure("geometric_mean_ms", geometric_mean(medians), "ms", Baseline(PUBLISHED, PUBLISHED_MEAN_MS))
    return [*figures, mean, Figure("stored_triples", triples, "triples", Baseline(PUBLISHED, PUBLISHED_TRIPLES))]


def n_triples(bench: CityBench, folder: Path) -> list[Path]:
    """The stored graph as files that a session loads."""
    paths = []
    for name in STORED:
        path = folder / f"{Path(name).stem}.nt"
        source = str(bench.folder / "dataset" / name)
        quads = pyoxigraph.parse(path=source, format=pyoxigraph.RdfFormat.TURTLE, base_iri=SERVICES)
        pyoxigraph.serialize((quad.triple for quad in quads), str(path), pyoxigraph.RdfFormat.N_TRIPLES)
        paths.append(path)
    return paths


def latencies(
    bench: CityBench, stored: Sequence[Path], asked: CityQuery, closes: int
) -> tuple[list[float], list[float]]:
    """Milliseconds of each close: from the watermark to the reports, and with the pushes before it."""
    session = Session()
    session.load(*stored)
    answers, wholes, rows = [], [], 0
    with session.dictionary.pins:  # the elements hold terms that nothing else does yet
        query = register(session, asked.text)
        warm = min(WARM_CLOSES, closes)
        for number, second in enumerate(_seconds(bench, session, asked.streams, warm + closes)):
            began = time.perf_counter()
            for stream, elements in second.items():
                session.push(stream, elements)
            pushed = time.perf_counter()
            for stream in asked.streams:
                session.advance(stream, (number + 1) * STEP_MS)
            rows += take_rows(query)
            done = time.perf_counter()
            if number >= warm:
                answers.append(1_000 * (done - pushed))
                wholes.append(1_000 * (done - began))
    raise_failures(session)
    if not rows:
        raise FreshetError(f"the query {asked.name} had no answers, so that its time says nothing")
    return answers, wholes


def _seconds(
    bench: CityBench, session: Session, streams: Sequence[str], count: int
) -> Iterator[Mapping[str, Elements]]:
    """What comes in each stream second by second: its next row; after its last, its rows begin again."""
    rows = {}
    for at, stream in enumerate(streams):
        text = bench.replay(stream.rpartition("#")[2], _WHOLE)
        text = b"".join(text.splitlines(keepends=True)[: 25 * count])
        elements, _ = scan_timed(text, session.dictionary, stream, blank_scope=f"s{at}")
        # Observations of different properties at one time are one row of the recording.
        order = np.argsort(elements.times, kind="stable")
        ordered = Elements(*(column[order] for column in elements))
        starts = np.flatnonzero(np.diff(ordered.times, prepend=-1))
        rows[stream] = ordered, np.append(starts, len(ordered.times))
    for number in range(count):
        yield {stream: _row(*found, number) for stream, found in rows.items()}


def _row(elements: Elements, cuts: Ints, number: int) -> Elements:
    at = number % (len(cuts) - 1)
    part = Elements(*(column[cuts[at] : cuts[at + 1]] for column in elements))
    return part._replace(times=np.full(len(part.times), number * STEP_MS))
