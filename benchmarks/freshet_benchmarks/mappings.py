"""`freshet bench mappings`: whole commands over inputs in the manner of KROWN and GTFS-Madrid-Bench, by size.

Time, CPU and peak memory of `freshet map --distinct` for tables with duplicates, and of `freshet map` for all others,
beside morph-kgc, which always removes duplicates. The number of statements is checked.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from freshet.rdf.errors import FreshetError
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.krown import scenarios, write_scenario
from freshet_benchmarks.peers import peer_python
from freshet_benchmarks.rml_commands import UNITS, Taken, peer_command, run_command
from freshet_benchmarks.transit import make_feed, write_feed

RECORDS = 100_000
MORPH_KGC = "morph-kgc==2.10.0"
_RECORDS_OF_SCALE_1 = 10_600


class Input(NamedTuple):
    """A mapping, and how many statements it makes; `distinct`: equal ones are removed."""

    name: str
    mapping: Path
    statements: int
    distinct: bool = False


def mappings_figures(records: int | None = None) -> Sequence[Figure]:
    """Run the benchmark, for a tenth of the records and for all of them."""
    most = records or RECORDS
    peer = peer_python(MORPH_KGC)
    figures = []
    with tempfile.TemporaryDirectory(prefix="freshet-bench-") as folder:
        for count in (max(1, most // 10), most):
            for each in inputs(Path(folder) / str(count), count):
                figures += _figures(f"mappings_{each.name}_{count}", *_measure(each, peer))
    return figures


def inputs(folder: Path, records: int) -> Iterator[Input]:
    """The inputs of a size, written one after the other."""
    for scenario in scenarios(records):
        home = folder / scenario.name
        home.mkdir(parents=True)
        distinct = bool(scenario.duplicates)
        statements = scenario.different if distinct else scenario.statements
        yield Input(scenario.name, write_scenario(scenario, home), statements, distinct)
    home = folder / "transit"
    home.mkdir(parents=True)
    feed = make_feed(records / _RECORDS_OF_SCALE_1)
    yield Input("transit", write_feed(feed, home), feed.statements)


def measure_here(mapping: Path, *, distinct: bool = False) -> Taken:
    """What the command takes for a mapping, in one process; the output is beside the mapping."""
    folder = mapping.parent
    command = [sys.executable, "-m", "freshet", "map", "-m", str(mapping), "-o", str(folder / "out.nq")]
    return run_command([*command, "--on", "process", *(["--distinct"] if distinct else [])], folder)


def _measure(given: Input, peer: Path | None) -> tuple[Taken, Taken | None]:
    folder = given.mapping.parent
    ours = measure_here(given.mapping, distinct=given.distinct)
    with (folder / "out.nq").open("rb") as lines:
        made = sum(1 for _ in lines)
    if made != given.statements:
        raise FreshetError(f"{made} statements were made of {given.name}, not {given.statements}")
    return ours, None if peer is None else _measure_peer(given, peer)


def _measure_peer(given: Input, peer: Path) -> Taken | None:
    """What morph-kgc takes; None where it fails, as 2.10.0 does where a table is joined with itself."""
    folder = given.mapping.parent
    try:
        return run_command(peer_command(folder, given.mapping, peer), folder)
    except FreshetError as error:
        print(f"{MORPH_KGC} is not measured on {given.name}: {error.message.splitlines()[-1]}", file=sys.stderr)
        return None


def _figures(name: str, ours: Taken, theirs: Taken | None) -> list[Figure]:
    return [
        Figure(
            f"{name}_{field}",
            getattr(ours, field),
            unit,
            None if theirs is None else Baseline(MORPH_KGC, getattr(theirs, field)),
        )
        for field, unit in UNITS.items()
    ]
