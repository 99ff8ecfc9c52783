"""What a person sees while a pipeline runs: a live view on a terminal, plain lines elsewhere, a summary at the end."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from freshet.rdf.wording import show_bytes, show_count
from freshet.runtime.display import show_seconds, show_time
from freshet.runtime.join_notes import join_line
from freshet.runtime.metrics import Metrics, QueryCounts, Snapshot, StreamCounts, percentiles

LONGEST_LIKELY_LAG_MS = 3_600_000
ROWS_ON_A_LINE = 4


class ShownReport(NamedTuple):
    """A report for a console sink: how many rows it has, the first of them as texts, how good remote data make it."""

    query: str
    time_ms: int
    variables: Sequence[str]
    rows: int
    first_rows: Sequence[Sequence[str]]
    freshness: str = ""


class Progress(Protocol):
    """Shows a run while the `with` block lasts."""

    def report(self, shown: ShownReport) -> None:
        """A report for a console sink."""

    def note(self, message: str) -> None:
        """Something worth a line of its own."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def progress(metrics: Metrics, *, out: Console | None = None, err: Console | None = None) -> Progress:
    """The live view where `out` is a terminal, else plain lines: reports on `out`, progress on `err`."""
    out = out or Console(highlight=False)
    if out.is_terminal and not out.is_dumb_terminal:
        return LiveProgress(metrics, out)
    return PlainProgress(metrics, out, err or Console(stderr=True, highlight=False))


def lag_ms(counts: StreamCounts, now_ms: int) -> int | None:
    """Wall clock less watermark, where event time runs with the wall clock; None for recorded or generated time."""
    if counts.watermark_ms is None:
        return None
    lag = now_ms - counts.watermark_ms
    return lag if 0 <= lag < LONGEST_LIKELY_LAG_MS else None


class _Rate:
    """Records a second over the last few looks."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque(maxlen=12)

    def update(self, now: float, records: int) -> float:
        self._seen.append((now, records))
        (first, before), (last, after) = self._seen[0], self._seen[-1]
        return (after - before) / (last - first) if last > first else 0.0


class PlainProgress:
    """At most one line a second on `err` where something has moved, and one line a report on `out`."""

    def __init__(
        self,
        metrics: Metrics,
        out: Console,
        err: Console,
        *,
        interval_seconds: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._metrics, self._out, self._err = metrics, out, err
        self._interval, self._clock = interval_seconds, clock
        self._shown_at = clock() - interval_seconds
        self._shown = ""
        self._rate = _Rate()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="freshet-progress", daemon=True)

    def report(self, shown: ShownReport) -> None:
        """One line: query, time, number of rows, how good remote data make it, and the first rows."""
        texts = "; ".join(
            " ".join(f"{name}={value}" for name, value in zip(shown.variables, row, strict=True) if value)
            for row in shown.first_rows[:ROWS_ON_A_LINE]
        )
        more = "; ..." if shown.rows > min(len(shown.first_rows), ROWS_ON_A_LINE) else ""
        count = show_count(shown.rows, "row")
        _line(self._out, f"{shown.query} at {show_time(shown.time_ms)}, {count}{shown.freshness}: {texts}{more}")

    def note(self, message: str) -> None:
        """A line on `err`."""
        _line(self._err, message)

    def tick(self) -> None:
        """Print a line where the last is old enough and the counts have changed since."""
        now = self._clock()
        if now - self._shown_at < self._interval:
            return
        snapshot = self._metrics.snapshot()
        counts = _counts(snapshot)
        if counts != self._shown and snapshot.batches:
            rate = self._rate.update(snapshot.now, snapshot.records)
            _line(self._err, f"[{snapshot.elapsed_seconds:.0f} s] {counts}, {rate:,.0f} records/s, {_behind(snapshot)}")
            self._shown, self._shown_at = counts, now

    def _run(self) -> None:
        while not self._stop.wait(self._interval / 4):
            self.tick()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()


class QuietProgress:
    """Shows nothing."""

    def report(self, shown: ShownReport) -> None:
        """Nothing is shown."""

    def note(self, message: str) -> None:
        """Nothing is shown."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to take down."""


class LiveProgress:
    """A table of the streams and the last report of each query, drawn four times a second in place."""

    def __init__(self, metrics: Metrics, console: Console) -> None:
        self._metrics, self._console = metrics, console
        self._rates: dict[str, _Rate] = {}
        self._live = Live(console=console, get_renderable=self.render, refresh_per_second=4, vertical_overflow="crop")

    def report(self, shown: ShownReport) -> None:
        """The view shows each query's last report already."""

    def note(self, message: str) -> None:
        """A line above the view."""
        _line(self._console, message)

    def render(self) -> RenderableType:
        """The view at this moment."""
        snapshot = self._metrics.snapshot()
        heading = _heading(f"{snapshot.elapsed_seconds:.0f} s{_windows(snapshot)}")
        tables: list[RenderableType] = [heading, self._streams(snapshot)]
        # Heading, names and "more" take four lines a query; the rest is shared, so that none is pushed off the screen.
        room = (self._console.height - len(snapshot.streams) - 4) // max(1, len(snapshot.queries)) - 4
        tables += [_last_report(name, counts, max(1, room)) for name, counts in snapshot.queries.items()]
        return Group(*tables)

    def _streams(self, snapshot: Snapshot) -> Table:
        table = _table()
        table.add_column("stream")
        for heading in ("records", "per s", "rejected", "late", "batches", "waited", "last batch", "event time", "lag"):
            table.add_column(heading, justify="right", no_wrap=True)
        for name, counts in snapshot.streams.items():
            rate = self._rates.setdefault(name, _Rate()).update(snapshot.now, counts.records)
            lag = lag_ms(counts, snapshot.now_ms)
            table.add_row(
                Text(name),
                f"{counts.records:,}",
                f"{rate:,.0f}",
                Text(f"{counts.rejected:,}", style="red" if counts.rejected else ""),
                Text(f"{counts.late:,}", style="yellow" if counts.late else ""),
                f"{counts.batches:,}",
                Text(f"{counts.waited:,}", style="yellow" if counts.waited else ""),
                show_seconds(counts.last_batch_seconds),
                show_time(counts.watermark_ms),
                _since(counts, snapshot) if lag is None else show_seconds(lag / 1000),
            )
        return table

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)


def summary(metrics: Metrics) -> str:
    """What a run did, in a few lines."""
    snapshot = metrics.snapshot()
    seconds = snapshot.active_seconds
    rate = f", {snapshot.records / seconds:,.0f} a second" if seconds > 0 else ""
    lines = [
        f"{show_count(snapshot.records, 'record')} in {show_seconds(seconds)}{rate}"
        f" ({snapshot.rejected:,} rejected, {snapshot.late:,} late,"
        f" {show_count(snapshot.batches, 'batch', 'batches')})",
        f"{show_count(snapshot.reports, 'window')} reported, {show_count(snapshot.rows, 'answer')}",
    ]
    if snapshot.waited:
        lines.append(f"{show_count(snapshot.waited, 'batch', 'batches')} waited until windows had room")
    lines += [f"  join of {name}: {join_line(counts)}" for name, counts in snapshot.joins.items()]
    for name, counts in snapshot.queries.items():
        lines.append(
            f"  {name}: {show_count(counts.reports, 'window')}, {show_count(counts.rows, 'answer')}{_latency(counts)}"
        )
        if counts.failure is not None:
            lines.append(f"  {name} failed and was removed: {counts.failure}")
    if marks := percentiles(snapshot.latencies_ms, 50, 99):
        lines.append(f"from arrival to report: p50 {marks[0]:,.0f} ms, p99 {marks[1]:,.0f} ms")
    if snapshot.first_report_seconds is not None:
        lines.append(f"first report after {show_seconds(snapshot.first_report_seconds)}{_backlog(snapshot.backlog)}")
    return "\n".join(lines)


def _last_report(name: str, counts: QueryCounts, room: int) -> RenderableType:
    if counts.failure is not None:
        return _heading(f"{name} failed and was removed: {counts.failure}")
    if not counts.reports:
        return _heading(f"{name}: no report yet{_freshness(counts)}")
    table = _table()
    for variable in counts.variables:
        table.add_column(Text(variable), overflow="ellipsis", no_wrap=True)
    shown = counts.last_rows[:room]
    for row in shown:
        table.add_row(*(Text(value) for value in row))
    if len(shown) < counts.last_row_count and counts.variables:
        table.add_row(Text(f"... {counts.last_row_count - len(shown):,} more", style="dim"))
    heading = (
        f"{name} at {show_time(counts.last_time_ms)}: {show_count(counts.last_row_count, 'row')}"
        f" ({show_count(counts.reports, 'report')} so far{_latency(counts)})"
    )
    return Group(_heading(heading), table)


def _heading(text: str) -> Text:
    return Text("\n" + text, style="bold", no_wrap=True, overflow="ellipsis")


def _table() -> Table:
    return Table(box=None, pad_edge=False, header_style="dim")


def _backlog(reports: int) -> str:
    if not reports:
        return ""
    are = "is" if reports == 1 else "are"
    return f"; {show_count(reports, 'report')} over data that was there before it {are} not in these latencies"


def _latency(counts: QueryCounts) -> str:
    marks = percentiles(counts.latencies_ms.values(), 50, 99)
    return (f", p50 {marks[0]:,.0f} ms, p99 {marks[1]:,.0f} ms" if marks else "") + _freshness(counts)


def _freshness(counts: QueryCounts) -> str:
    """How good the last answer with remote data was, and how often its owner's constraints were missed."""
    if counts.freshness is None:
        return ""
    oldest_ms, failing = counts.freshness.oldest_ms, counts.freshness.failing
    refreshes = show_count(counts.refreshes, "refresh", "refreshes")
    line = f", accuracy about {counts.freshness.accuracy:.2f}, {refreshes}"
    line += f", oldest {show_seconds(oldest_ms / 1000)}" if oldest_ms else ""
    if counts.missed:
        line += f", constraints missed {show_count(counts.missed, 'time')} ({' and '.join(counts.last_missed)})"
    return line + (f", {failing}" if failing else "")


def _windows(snapshot: Snapshot) -> str:
    """What windows hold of what they may, once a batch is in."""
    if not snapshot.most_window_bytes:
        return ""
    return f", windows hold {show_bytes(snapshot.window_bytes)} of {show_bytes(snapshot.most_window_bytes)}"


def _counts(snapshot: Snapshot) -> str:
    waited = f" ({snapshot.waited:,} waited for room in windows)" if snapshot.waited else ""
    return (
        f"{show_count(snapshot.records, 'record')}, {snapshot.rejected:,} rejected, {snapshot.late:,} late,"
        f" {show_count(snapshot.batches, 'batch', 'batches')}{waited},"
        f" {show_count(snapshot.reports, 'window')} reported"
    )


def _behind(snapshot: Snapshot) -> str:
    """The worst lag of the streams, or how far event time has come where it does not run with the wall clock."""
    lags = [lag for counts in snapshot.streams.values() if (lag := lag_ms(counts, snapshot.now_ms)) is not None]
    if lags:
        return f"lag {show_seconds(max(lags) / 1000)}"
    marks = [counts.watermark_ms for counts in snapshot.streams.values() if counts.watermark_ms is not None]
    return f"event time {show_time(min(marks, default=None))}"


def _since(counts: StreamCounts, snapshot: Snapshot) -> str:
    if counts.last_batch_at is None:
        return "-"
    return f"batch {show_seconds(snapshot.now - counts.last_batch_at)} ago"


def _line(console: Console, text: str) -> None:
    console.print(Text(text), soft_wrap=True)
