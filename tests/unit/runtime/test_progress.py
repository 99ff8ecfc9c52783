from __future__ import annotations

import io
from itertools import count

import pytest
from rich.console import Console

from freshet.rdf.terms import XSD, BlankNode, Iri, Literal
from freshet.results.report import Freshness
from freshet.rml.join_counts import JoinCounts
from freshet.runtime.display import show_freshness, show_seconds, show_term, show_time
from freshet.runtime.metrics import Metrics
from freshet.runtime.progress import LiveProgress, PlainProgress, ShownReport, lag_ms, progress, summary

MORNING_MS = 1_772_438_400_000


class ManualClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def busy_metrics(clock: ManualClock) -> Metrics:
    """Counts after ten seconds of two streams and two queries."""
    seconds = count()
    metrics = Metrics(["traffic", "parking"], ["congestion", "quiet"], clock=clock, wall=lambda: next(seconds))
    metrics.batch("traffic", records=1_000, rejected=3, late=2, watermark_ms=MORNING_MS, seconds=0.1)
    clock.now = 10.0
    metrics.batch("traffic", records=2_000, watermark_ms=MORNING_MS + 60_000, seconds=0.2)
    for latency_ms in (10_000.0, 40.0, 60.0):
        metrics.report(
            "congestion",
            time_ms=MORNING_MS,
            variables=["district", "speed"],
            rows=2,
            first_rows=[("Old [bold]Town", "12.50"), ("Harbour", "8.00")],
            latency_ms=latency_ms,
        )
    return metrics


def plain(clock: ManualClock, metrics: Metrics) -> tuple[PlainProgress, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    consoles = Console(file=out, width=60), Console(file=err, width=60)
    return PlainProgress(metrics, *consoles, clock=clock), out, err


def test_a_plain_line_says_what_happened() -> None:
    clock = ManualClock()
    view, _, err = plain(clock, busy_metrics(clock))
    view.tick()
    assert err.getvalue() == (
        "[10 s] 3,000 records, 3 rejected, 2 late, 2 batches, 3 windows reported, 0 records/s,"
        " event time 2026-03-02 08:01:00\n"
    )


def test_at_most_one_line_a_second_and_only_for_news() -> None:
    clock = ManualClock()
    metrics = busy_metrics(clock)
    view, _, err = plain(clock, metrics)
    for now, records in ((10.0, 1), (10.5, 1), (10.9, 1), (11.0, 1), (12.0, 0), (13.0, 0), (13.5, 1)):
        clock.now = now
        if records:
            metrics.batch("parking", records=records)
        view.tick()
    lines = err.getvalue().splitlines()
    assert [line.split(" records")[0] for line in lines] == ["[10 s] 3,001", "[11 s] 3,004", "[14 s] 3,005"]


def test_nothing_is_said_before_anything_came() -> None:
    clock = ManualClock()
    view, out, err = plain(clock, Metrics(["s"], ["q"], clock=clock))
    view.tick()
    assert out.getvalue() + err.getvalue() == ""


def test_a_report_is_one_line_on_the_other_console() -> None:
    clock = ManualClock()
    view, out, err = plain(clock, Metrics(clock=clock))
    rows = [(f"road {number}", "", "50") for number in range(9)]
    view.report(ShownReport("slow", MORNING_MS, ["road", "why", "limit"], 9, rows))
    view.report(ShownReport("slow", 5_000, ["road", "why", "limit"], 1, [("[red]a", "rain", "30")]))
    assert out.getvalue().splitlines() == [
        "slow at 2026-03-02 08:00:00, 9 rows: road=road 0 limit=50; road=road 1 limit=50; road=road 2 limit=50;"
        " road=road 3 limit=50; ...",
        "slow at 5000 ms, 1 row: road=[red]a why=rain limit=30",
    ]
    assert err.getvalue() == ""


def test_how_good_remote_data_make_a_query_is_shown() -> None:
    clock = ManualClock()
    metrics = Metrics(queries=["famous"], clock=clock)
    gone = Freshness(0.0, 1, 12.0, 0, ("accuracy",), "<http://data.example.org/> cannot be reached: no connection")
    metrics.silent_evaluation("famous", gone)
    console = Console(file=io.StringIO(), force_terminal=True, width=200, height=20, color_system=None)
    console.print(LiveProgress(metrics, console).render())
    assert isinstance(console.file, io.StringIO)
    assert (
        "famous: no report yet, accuracy about 0.00, 0 refreshes, constraints missed 1 time (accuracy),"
        " <http://data.example.org/> cannot be reached: no connection" in console.file.getvalue()
    )
    metrics.report("famous", time_ms=1, rows=1, freshness=Freshness(0.8, 3, 12.0, 2000))
    assert "accuracy about 0.80, 3 refreshes, oldest 2.0 s, constraints missed 1 time (accuracy)" in summary(metrics)
    view, out, _ = plain(clock, metrics)
    view.report(ShownReport("famous", 5_000, ["n"], 1, [("30",)], show_freshness(gone)))
    assert out.getvalue() == (
        "famous at 5000 ms, 1 row, accuracy about 0.00, 1 refresh, missed: accuracy,"
        " <http://data.example.org/> cannot be reached: no connection: n=30\n"
    )


def test_the_view_stops_its_thread() -> None:
    clock = ManualClock()
    view, _, err = plain(clock, busy_metrics(clock))
    with view:
        view.note("3 records rejected")
    assert not view._thread.is_alive()
    assert "3 records rejected\n" in err.getvalue()


def test_the_live_view_shows_streams_and_last_reports() -> None:
    clock = ManualClock()
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=140, height=40, color_system=None)
    view = LiveProgress(busy_metrics(clock), console)
    console.print(view.render())
    text = out.getvalue()
    for part in ("traffic", "3,000", "parking", "congestion at 2026-03-02 08:00:00: 2 rows", "Old [bold]Town", "12.50"):
        assert part in text
    assert "p50 50 ms" in text
    assert "quiet: no report yet" in text


@pytest.mark.parametrize(("width", "height"), [(140, 40), (30, 8), (1, 1)])
def test_the_live_view_runs_on_any_terminal(width: int, height: int) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, height=height)
    with progress(busy_metrics(ManualClock()), out=console) as view:
        view.report(ShownReport("congestion", MORNING_MS, ["district"], 1, [("Harbour",)]))
        view.note("a note")
    assert isinstance(view, LiveProgress)
    assert "\x1b[" in out.getvalue(), "it draws in place"


def test_rows_that_do_not_fit_are_counted() -> None:
    metrics = Metrics(queries=["q"])
    metrics.report("q", time_ms=1, variables=["x"], rows=100, first_rows=[(str(number),) for number in range(100)])
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, height=14, color_system=None)
    console.print(LiveProgress(metrics, console).render())
    assert "... 94 more" in out.getvalue()
    assert len(out.getvalue().splitlines()) <= 14


def test_no_terminal_gives_plain_lines() -> None:
    assert isinstance(progress(Metrics(), out=Console(file=io.StringIO())), PlainProgress)


@pytest.mark.parametrize(
    ("behind_ms", "lag"), [(1_500, 1_500), (0, 0), (-1, None), (3_600_000, None), (10_000_000_000, None)]
)
def test_lag_only_where_event_time_is_the_wall_clock(behind_ms: int, lag: int | None) -> None:
    metrics = Metrics()
    metrics.batch("s", records=1, watermark_ms=MORNING_MS)
    assert lag_ms(metrics.snapshot().streams["s"], MORNING_MS + behind_ms) == lag


def test_the_summary() -> None:
    clock = ManualClock()
    assert summary(busy_metrics(clock)).splitlines() == [
        "3,000 records in 10.0 s, 300 a second (3 rejected, 2 late, 2 batches)",
        "3 windows reported, 6 answers",
        "  congestion: 3 windows, 6 answers, p50 50 ms, p99 60 ms",
        "  quiet: 0 windows, 0 answers",
        "from arrival to report: p50 50 ms, p99 60 ms",
        "first report after 10.0 s; 1 report over data that was there before it is not in these latencies",
    ]


def test_the_summary_tells_of_joins() -> None:
    metrics = Metrics()
    metrics.add_join_counts(
        "speed with flow by lane", JoinCounts(children=1200, parents=3, pairs=2, keyless=7, waiting=5)
    )
    metrics.add_join_counts("speed with flow by lane", JoinCounts(children=1, late=1, waiting=4))
    assert summary(metrics).splitlines()[2:] == [
        "  join of speed with flow by lane: 2 pairs of 1,201 and 3 records, 7 without a key, 1 too late, 4 waiting"
    ]


def test_the_summary_of_nothing() -> None:
    assert summary(Metrics()).splitlines() == [
        "0 records in 0 ms (0 rejected, 0 late, 0 batches)",
        "0 windows reported, 0 answers",
    ]


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (None, ""),
        (Iri("http://example.org/city#Road"), "Road"),
        (Iri("http://example.org/city/road/7"), "road/7"),
        (Iri("urn:x:y"), "urn:x:y"),
        (BlankNode("b0"), "_:b0"),
        (Literal("Old Mill"), "Old Mill"),
        (Literal("23.166666666666666667", Iri(XSD + "decimal")), "23.17"),
        (Literal("23.5", Iri(XSD + "decimal")), "23.5"),
        (Literal("17", Iri(XSD + "integer")), "17"),
    ],
)
def test_terms_for_the_eye(term: Iri | BlankNode | Literal | None, text: str) -> None:
    assert show_term(term) == text


def test_times_for_the_eye() -> None:
    assert show_time(None) == "-"
    assert show_time(MORNING_MS + 250) == "2026-03-02 08:00:00.250"
    assert show_time(10**17) == f"{10**17} ms"
    assert [show_seconds(seconds) for seconds in (0.042, 3.14, 75)] == ["42 ms", "3.1 s", "1 min 15 s"]


def test_batches_that_waited_and_what_windows_hold_are_shown() -> None:
    clock = ManualClock()
    metrics = busy_metrics(clock)
    metrics.waits("traffic")
    metrics.waits("traffic")
    metrics.windows_hold(1536, 2 << 30)
    console = Console(file=io.StringIO(), width=150, height=40, force_terminal=False)
    console.print(LiveProgress(metrics, console).render())
    shown = console.file.getvalue()
    assert "windows hold 1.5 KiB of 2.0 GiB" in shown
    header, traffic, parking = shown.splitlines()[2:5]
    assert header.split()[:8] == ["stream", "records", "per", "s", "rejected", "late", "batches", "waited"]
    assert traffic.split()[6] == "2"
    assert parking.split()[6] == "0"
    assert "2 batches waited until windows had room" in summary(metrics)
    view, _, err = plain(clock, metrics)
    view.tick()
    assert "2 batches (2 waited for room in windows), 3 windows reported" in err.getvalue()
