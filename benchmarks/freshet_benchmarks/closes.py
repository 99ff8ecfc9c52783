"""`freshet bench closes`: RSP-QL windows of 10 s every 1 s and every 0.1 s, beside re-evaluating each from scratch.

10,000 readings a second come in batches of 100 ms. Two queries: the join of the window with a stored pattern, and AVG
by sensor, as RSTREAM and as ISTREAM. Polars and DuckDB evaluate the same windows from scratch at every close, on plain
columns of numbers in the same run; all three must put out as many rows. The baseline is the faster of the two. Rates
are triples by processor time, of all threads. Ours are taken as Arrow after every push: numbers typed, IRIs
dictionary-encoded; those of the peers are columns of numbers. What is pushed is made before the clock runs: encoded
ids, Arrow tables of ids and of terms, and text (timed N-Triples) are figures of their own.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from freshet.rdf.errors import FreshetError
from freshet.runtime.session import Session
from freshet_benchmarks.closes_data import BATCH_MS, ROOM, STREAM, VALUE, WAYS, Readings, make_readings, stored
from freshet_benchmarks.closes_peers import AVERAGE, JOIN, Close, peers
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.registered import raise_failures, register, take_rows
from freshet_benchmarks.social_columns import Encoder

RATE = 10_000
TRIPLES = 100_000
WIDTH_MS = 10_000
STEPS_MS = (1_000, 100)
UNIT = "triples/s of processor time"

_QUERY = """REGISTER {output} <{form}> AS SELECT {select}
FROM NAMED WINDOW <w> ON <{stream}> [RANGE PT{width:g}S STEP PT{step:g}S]
WHERE {{ WINDOW <w> {{ ?sensor <{value}> ?v }} {more} }} {group}"""


@dataclass(frozen=True, slots=True)
class Case:
    """A query: its form, what it puts out, and how often its window closes."""

    form: str
    istream: bool
    step_ms: int

    @property
    def name(self) -> str:
        output = "istream" if self.istream else "rstream"
        return f"{self.form}_{output}_every_{self.step_ms}_ms"

    def query(self) -> str:
        """In RSP-QL."""
        join = self.form == JOIN
        return _QUERY.format(
            output="ISTREAM" if self.istream else "RSTREAM",
            form=self.name,
            select="?sensor ?v ?room" if join else "?sensor (AVG(?v) AS ?mean)",
            stream=STREAM,
            width=WIDTH_MS / 1_000,
            step=self.step_ms / 1_000,
            value=VALUE,
            more=f"?sensor <{ROOM}> ?room" if join else "",
            group="" if join else "GROUP BY ?sensor",
        )


CASES = tuple(
    Case(form, istream, step_ms) for step_ms in STEPS_MS for form in (JOIN, AVERAGE) for istream in (False, True)
)


@dataclass(frozen=True, slots=True)
class Run:
    """Triples by seconds of processor time, and how many rows were put out."""

    triples_per_second: float
    rows: int


def closes_figures(triples: int | None = None, rate: int | None = None) -> Sequence[Figure]:
    """Run the benchmark with a number of triples after the first window, at a rate per second."""
    rate = rate or RATE
    readings = make_readings(rate, WIDTH_MS / 1_000 + (triples or TRIPLES) / rate)
    with tempfile.TemporaryDirectory(prefix="freshet-closes-") as folder:
        rooms = Path(folder, "rooms.nt")
        rooms.write_text(stored())
        figures = _case_figures(readings, rooms)
        for form in (JOIN, AVERAGE):
            runs = {way: run(Case(form, True, STEPS_MS[0]), readings, rooms, way) for way in WAYS}
            text = Baseline("pushing text", runs["text"].triples_per_second)
            figures += [
                Figure(f"{form}_pushed_as_{way}", found.triples_per_second, UNIT, None if way == "text" else text)
                for way, found in runs.items()
            ]
    return figures


def _case_figures(readings: Readings, rooms: Path) -> list[Figure]:
    others = peers()
    if not others:
        print("freshet: closes: neither Polars nor DuckDB can be had, so there is no baseline", file=sys.stderr)
    figures = []
    for case in CASES:
        run(case, readings, rooms)  # compiles what is not compiled yet, and loads what seldom runs
        ours = run(case, readings, rooms)
        theirs = {name: run_peer(case, readings, make(case.form, case.istream)) for name, make in others.items()}
        check_rows(case, ours, theirs)
        figures.append(Figure(case.name, ours.triples_per_second, UNIT, _best(theirs)))
        figures += [
            Figure(f"{case.name}_{name.lower()}_from_scratch", each.triples_per_second, UNIT)
            for name, each in theirs.items()
        ]
    return figures


def _best(runs: Mapping[str, Run]) -> Baseline | None:
    if not runs:
        return None
    name = max(runs, key=lambda each: runs[each].triples_per_second)
    return Baseline(f"{name} from scratch", runs[name].triples_per_second)


def check_rows(case: Case, ours: Run, theirs: Mapping[str, Run]) -> None:
    """An error where a peer puts out another number of rows; means are rounded, which may hide a change or two."""
    for name, run_ in theirs.items():
        if abs(run_.rows - ours.rows) > ours.rows / 1_000:
            raise FreshetError(f"{case.name}: Freshet puts out {ours.rows} rows, {name} {run_.rows}")


def run(case: Case, readings: Readings, rooms: Path, way: str = "ids") -> Run:
    """Push readings, and take what each close reports; the clock runs from the first full window on."""
    session = Session()
    session.load(rooms)
    seconds, rows, triples = 0.0, 0, 0
    with session.dictionary.pins:  # the batches hold terms that nothing else does yet
        query = register(session, case.query())
        encoder = Encoder(session.dictionary)
        for number, chosen in enumerate(readings.batches()):
            pushed = readings.pushed(chosen, way, encoder)
            began = time.process_time()
            session.push(STREAM, pushed)
            session.advance(STREAM, (number + 1) * BATCH_MS)
            reported = take_rows(query)
            taken = time.process_time() - began
            if (number + 1) * BATCH_MS > WIDTH_MS:
                seconds += taken
                rows += reported
                triples += chosen.stop - chosen.start
    raise_failures(session)
    return Run(triples / max(seconds, 1e-9), rows)


def run_peer(case: Case, readings: Readings, close: Close) -> Run:
    """Evaluate every window from scratch; the clock runs from the first full window on."""
    seconds, rows, triples = 0.0, 0, 0
    for number, chosen in enumerate(readings.batches()):
        close_ms = (number + 1) * BATCH_MS
        counts = close_ms > WIDTH_MS
        triples += chosen.stop - chosen.start if counts else 0
        if close_ms % case.step_ms:
            continue
        window = readings.window(close_ms - WIDTH_MS, close_ms)
        began = time.process_time()
        put_out = close(readings, window)
        if counts:
            seconds += time.process_time() - began
            rows += put_out
    return Run(triples / max(seconds, 1e-9), rows)
