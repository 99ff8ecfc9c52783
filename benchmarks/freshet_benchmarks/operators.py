"""`freshet bench operators`: registered queries over windows that move with every element, beside from scratch.

Each query is registered in a session of its own. Its windows are filled at one instant; then come batches of 1,000
elements, each an instant of its own, and the reports are taken after every batch. So a batch has a thousand
evaluations. The baseline is Arrow's hash join and aggregation over the same windows, **once a batch**: it answers one
instant in a thousand. Rates are by processor time, of all threads. Latencies are by the clock, from the push of one
element, a tuple of terms, until `take()` has given its report (`registered.one_element_figures`); such a push evaluates
one instant, or closes a window.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from freshet.rdf.errors import FreshetError
from freshet.runtime.session import Session
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.independent_streams import independent_figures
from freshet_benchmarks.operator_forms import Data, Form, Top, from_scratch, stream
from freshet_benchmarks.registered import one_element_figures, push_batch, register, take_rows, throughput
from freshet_benchmarks.social_columns import Encoder

BATCH = 1_000
WINDOW = 1_000_000
SCRATCH = "Arrow from scratch, once a batch"


@dataclass(frozen=True, slots=True)
class Length:
    """How long each form is measured: processor time in all, batches for the baseline, single elements."""

    seconds: float = 3.0
    from_scratch: int = 3
    singles: int = 2_000
    warm_singles: int = 500
    rounds: int = 10


USUAL = Length()
SHORT = Length(0.0, 1, 20, 10, 1)


def forms(window: int = WINDOW) -> Sequence[Form]:
    """All forms; windows of joins without state on top are a hundredth of the window, that of RSTREAM has 100 rows."""
    tenth, hundredth = max(window // 10, 10), max(window // 100, 10)
    small = min(100, hundredth)
    return (
        Form("average_of_million", 1, window, 1, 1_000, Top.AVERAGE),
        Form("min_selectivity_1", 2, window, window, window, Top.LEAST),
        Form("three_way_join", 3, hundredth, hundredth, hundredth),
        Form("three_way_join_rstream", 3, small, small, small, rstream=True),
        Form("distinct", 2, tenth, tenth, 1_000, Top.DISTINCT),
        Form("distinct_rare", 2, tenth, tenth, tenth, Top.DISTINCT),
        Form("closing_average", 1, hundredth, 1, 1_000, Top.AVERAGE, closing=True),
        Form("closing_join", 2, hundredth, hundredth, hundredth, closing=True),
    )


def operators_figures(window: int | None = None, length: Length = USUAL) -> Sequence[Figure]:
    """Run the benchmark; `window` is the number of rows of the largest windows."""
    rows = window or WINDOW
    for form in forms(100):  # compiles what is not compiled yet
        measure_form(form, SHORT)
    figures = [figure for form in forms(rows) for figure in measure_form(form, length)]
    for size in (BATCH, 10 * BATCH):
        figures += independent_figures(
            size, window=max(rows // 100, 10), rounds=length.rounds, pushes=max(1, 50_000 // size)
        )
    return [*figures, Figure("window_rows", rows, "rows")]


def measure_form(form: Form, length: Length) -> list[Figure]:
    """How many elements a second a query takes, every instant evaluated, and how long one element takes."""
    session = Session()
    with session.dictionary.pins:  # the batches hold terms that nothing else does yet
        query = register(session, form.query(), form.name)
        data = Data(form, Encoder(session.dictionary))
        push_batch(session, data.fill())
        batches = data.batches(BATCH)
        push_batch(session, next(batches))
        filled = take_rows(query)
        found = throughput(session, [query], batches, seconds=0.0 if form.closing else length.seconds)
    singles = data.singles(2 * (length.singles + length.warm_singles))
    streams = [stream(at) for at in range(form.patterns)]
    taken = one_element_figures(
        form.name, session, query, streams, singles, count=length.singles, warm=length.warm_singles
    )
    if not filled + found.rows:
        raise FreshetError(f"{form.name} has reported nothing")
    if form.closing:  # how fast windows are that close says `freshet bench closes`
        return taken
    scratch = median(_scratch_seconds(form, data) for _ in range(length.from_scratch))
    return [
        Figure(
            f"{form.name}_elements_per_second",
            found.elements_per_second,
            "elements/s",
            Baseline(SCRATCH, BATCH / scratch),
        ),
        Figure(f"{form.name}_rows_per_element", found.rows / found.elements, "rows"),
        *taken,
    ]


def _scratch_seconds(form: Form, data: Data) -> float:
    began = time.process_time()
    from_scratch(form, data.contents)
    return max(time.process_time() - began, 1e-9)
