"""`freshet bench sizes`: what an element or a batch costs by the size of windows, of the stored graph, and by queries.

- Windows: AVG by 1,000 groups and a join of two windows, of 10 thousand rows and more; every element an instant.
- Queries: LSBench's Q2 about different persons, registered at once and one a batch, and queries that differ in more
  than a constant; a batch is 100 ms of posts.
- Stored: a batch of all streams of LSBench with L1 to L6 registered, by the triples of the network.
- Absorbing: a batch with and without a compaction in the background, by the clock.
- Memory: bytes an absorbed triple with no, one and three queries that ask for what is absorbed; and joins of two to
  eight windows of 10,000 rows beside the paper's table 2 (operator-aware structures), each in a process of its own.

Times are by processor time, of all threads. `sizes_plot` draws the first three.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import cast

import numpy as np

from freshet.rdf.elements import Elements
from freshet.runtime.session import Session
from freshet_benchmarks.children import in_child, resident_bytes
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.lsbench_play import Player
from freshet_benchmarks.lsbench_queries import NAMES
from freshet_benchmarks.many_queries import MOST_ONE_A_BATCH, Run, make_world
from freshet_benchmarks.many_queries import run as run_queries
from freshet_benchmarks.operator_forms import BASE, Data, Form, Top
from freshet_benchmarks.registered import push_batch, register, take_rows, throughput
from freshet_benchmarks.social_columns import Encoder
from freshet_benchmarks.social_streams import RATE
from freshet_benchmarks.social_triples import network_of

LARGEST = 1_000_000
SMALLEST_WINDOW, LARGEST_WINDOW = 10_000, 10_000_000
SMALLEST_STORED, LARGEST_STORED = 100_000, 100_000_000
TRIPLES_PER_QUERY, LARGEST_QUERIES = 1_000, 100_000  # a query for each thousand of the largest size
ABSORBED = 500_000
ABSORBING_QUERIES = (0, 1, 3)
BATCH = 1_000
TABLE2_MB = {2: 12.36, 3: 13.41, 4: 14.74, 6: 16.95, 8: 18.69}
TABLE2_ROWS = 10_000
PUBLISHED = "CQELS (published)"


def sizes_figures(largest: int | None = None, *, seconds: float = 1.0) -> Sequence[Figure]:
    """Run the benchmark up to windows and graphs of that number of rows, and a thousandth as many queries."""
    most = largest or LARGEST
    return [
        *window_figures(powers(min(SMALLEST_WINDOW, most), min(LARGEST_WINDOW, most)), seconds),
        *query_figures(powers(1, min(LARGEST_QUERIES, max(1, most // TRIPLES_PER_QUERY)))),
        *stored_figures(powers(min(SMALLEST_STORED, most), min(LARGEST_STORED, most))),
        *absorbed_figures(ABSORBED),
        *compaction_figures(ABSORBED),
        *table2_figures(),
    ]


def powers(least: int, most: int) -> list[int]:
    """From the least by tens up to the most."""
    found = []
    while least <= most:
        found.append(least)
        least *= 10
    return found


def window_figures(sizes: Sequence[int], seconds: float) -> list[Figure]:
    """Microseconds an element, by the rows of the window."""
    figures = []
    for rows in sizes:
        for form in (
            Form("average", 1, rows, 1, 1_000, Top.AVERAGE),
            Form("join", 2, rows, rows, rows),
        ):
            figures.append(
                Figure(f"window_{form.name}_{rows}_rows_microseconds", element_microseconds(form, seconds), "µs")
            )
    return figures


def element_microseconds(form: Form, seconds: float) -> float:
    """The processor time of an element in batches of 1,000."""
    session = Session()
    with session.dictionary.pins:
        query = register(session, form.query(), form.name)
        data = Data(form, Encoder(session.dictionary))
        push_batch(session, data.fill())
        batches = data.batches(BATCH)
        push_batch(session, next(batches))
        take_rows(query)
        return 1e6 / throughput(session, [query], batches, seconds=seconds).elements_per_second


def query_figures(counts: Sequence[int]) -> list[Figure]:
    """Milliseconds a batch and megabytes, by how many queries there are and when they came."""
    figures = []
    for form, sizes in (("cqels", counts), ("rspql", sorted({counts[0], counts[-1]}))):
        for count in sizes:
            at_once, growth = in_child(_queries, form, count, False)
            name = f"queries_{form}_{count}"
            figures += [
                Figure(f"{name}_ms", 1_000 * at_once.batch_seconds, "ms"),
                Figure(f"{name}_megabytes", growth / 1e6, "MB"),
                Figure(f"{name}_register_ms", 1_000 * at_once.register_seconds / count, "ms a query"),
            ]
            if count <= MOST_ONE_A_BATCH:
                figures += _one_a_batch_figures(name, form, count, 1_000 * at_once.batch_seconds, growth / 1e6)
    varied, _ = in_child(_queries, "varied", counts[-1], False)
    return [*figures, Figure(f"queries_varied_{counts[-1]}_ms", 1_000 * varied.batch_seconds, "ms")]


def _one_a_batch_figures(name: str, form: str, count: int, at_once_ms: float, at_once_mb: float) -> list[Figure]:
    found, growth = in_child(_queries, form, count, True)
    return [
        Figure(f"{name}_one_a_batch_ms", 1_000 * found.batch_seconds, "ms", Baseline("registered at once", at_once_ms)),
        Figure(f"{name}_one_a_batch_megabytes", growth / 1e6, "MB", Baseline("registered at once", at_once_mb)),
    ]


def _queries(form: str, count: int, one_a_batch: bool) -> tuple[Run, int]:
    with tempfile.TemporaryDirectory() as folder:
        # As many users as there are persons to ask about.
        world = make_world(Path(folder), users=max(1_000, count))
        run_queries(world, form, 1, batches=1)  # compiles what is not compiled yet
        before = resident_bytes()
        found = run_queries(world, form, count, one_a_batch=one_a_batch, keep=kept)
        dictionary = cast(Session, kept[-1]).sizes()["dictionary"]  # which grows with the batches, not with queries
        return found, max(0, resident_bytes() - before - dictionary)


kept: list[object] = []  # sessions whose memory is measured after the run


def stored_figures(sizes: Sequence[int]) -> list[Figure]:
    """Milliseconds for a batch of 100 ms with L1 to L6, by the triples of the network."""
    return [
        Figure(f"stored_{triples}_triples_batch_ms", in_child(batch_milliseconds, triples), "ms") for triples in sizes
    ]


def batch_milliseconds(triples: int, batches: int = 20) -> float:
    """The median batch, by the clock: a player's own measure."""
    player = Player(network_of(triples), RATE)
    player.load()
    with player.asking(NAMES):
        for batch in player.batches(12):  # more than a window
            player.play(batch)
        return 1_000 * median(player.play(batch).whole for batch in player.batches(batches))


def absorbed_figures(triples: int) -> list[Figure]:
    """Bytes an absorbed triple, by the number of queries that ask for it."""
    found = {count: in_child(absorbed_bytes, triples, count) for count in ABSORBING_QUERIES}
    return [
        Figure(
            f"absorbed_triple_{count}_queries_bytes",
            each,
            "bytes",
            Baseline("no query", found[0]) if count else None,
        )
        for count, each in found.items()
    ]


def absorbed_bytes(triples: int, count: int) -> float:
    """How much memory grows for each triple that is absorbed; its terms are known before.

    It is looked at when the store has done what it does in the background, and queries have seen that.
    """
    with absorbing(triples, count) as (session, push):
        push(0)
        before = resident_bytes()
        for first in range(BATCH, triples, BATCH):
            if first + BATCH >= triples:
                session.stored.wait_for_compaction()
            push(first)
        return (resident_bytes() - before) / max(1, triples - BATCH)


def compaction_figures(triples: int) -> list[Figure]:
    """What a batch takes while absorbed triples become part of the base, and while they do not."""
    during, between = in_child(push_milliseconds, triples)
    figures = []
    for part in (50, 99):
        usual = float(np.percentile(between, part))
        figures.append(Figure(f"absorb_p{part}_ms", usual, "ms"))
        if during:  # else there was none
            found = float(np.percentile(during, part))
            figures.append(Figure(f"absorb_in_compaction_p{part}_ms", found, "ms", Baseline("without one", usual)))
    return figures


def push_milliseconds(triples: int, count: int = ABSORBING_QUERIES[-1]) -> tuple[list[float], list[float]]:
    """By the clock, for each batch: of those in which a compaction ran, also for a part of the time, and of others."""
    during: list[float] = []
    between: list[float] = []
    with absorbing(triples, count) as (session, push):
        for first in range(0, triples, BATCH):
            was_compacting = session.stored.is_compacting
            started = perf_counter()
            push(first)
            taken = 1_000 * (perf_counter() - started)
            (during if was_compacting or session.stored.is_compacting else between).append(taken)
    return during, between[len(between) // 10 :]  # the first compile, or load, their kernels


@contextmanager
def absorbing(triples: int, count: int) -> Iterator[tuple[Session, Callable[[int], None]]]:
    """A session with queries that ask for what a stream leaves, and what pushes its triples from one on, a batch."""
    session = Session()
    absorbed, asked = BASE + "absorbed", BASE + "asked"
    session.stream(absorbed, absorb=True)
    session.stream(asked)
    for number in range(count):
        session.register(
            f"SELECT * WHERE {{ STREAM <{asked}> [RANGE {1 + number}s] {{ ?x <{BASE}p> ?y }} ?y <{BASE}q> ?z }}",
            name=f"q{number}",
        )
    with session.dictionary.pins:
        encoder, random = Encoder(session.dictionary), np.random.default_rng(3)
        numbers = random.integers(0, triples, 2 * triples).reshape(2, -1)
        subjects, objects = (encoder.numbered(f"<{BASE}n", ">", column) for column in numbers)
        stored, streamed = encoder.iri(BASE + "q"), encoder.iri(BASE + "p")

        def push(first: int) -> None:
            rows = slice(first, first + BATCH)
            times = np.arange(first, first + len(subjects[rows]))
            session.push(absorbed, Elements(times, subjects[rows], np.full(len(times), stored), objects[rows]))
            # Without an element of its own no query is evaluated, and none takes notice of what was absorbed.
            session.push(asked, Elements(times[-1:], subjects[rows][:1], np.array([streamed]), objects[rows][:1]))

        yield session, push


def table2_figures() -> list[Figure]:
    """The memory of joins of count windows."""
    return [
        Figure(f"table2_join_{ways}_way_megabytes", in_child(join_bytes, ways) / 1e6, "MB", Baseline(PUBLISHED, paper))
        for ways, paper in TABLE2_MB.items()
    ]


def join_bytes(ways: int, rows: int = TABLE2_ROWS) -> int:
    """How much memory a session takes for a join of a number of windows, its dictionary and elements left aside."""
    _full_session(Form("small", ways, 10, 10, 10))  # compiles what is not compiled yet
    before = resident_bytes()
    session, numbers = _full_session(Form("join", ways, rows, rows, rows))
    return max(0, resident_bytes() - before - session.sizes()["dictionary"] - numbers)


def _full_session(form: Form) -> tuple[Session, int]:
    """A session with full windows that have moved on, and the bytes of what fed it."""
    session = Session()
    pins = session.dictionary.pins
    pins.__enter__()  # as long as the session is
    query = register(session, form.query(), form.name)
    data = Data(form, Encoder(session.dictionary))
    push_batch(session, data.fill())
    for _, batch in zip(range(20), data.batches(BATCH), strict=False):
        push_batch(session, batch)
        take_rows(query)
    kept.append((session, query))
    return session, sum(column.nbytes for columns in data.contents for column in columns)
