"""When a query is evaluated, and which of these evaluations are reported: what registration says beside the plan."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum

from freshet.algebra import nodes
from freshet.algebra.windows import EventTimeWindow, WindowOperator
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri


class ReportCondition(StrEnum):
    """What must hold for a moment to count. A moment at which it does not is passed over as if it were none."""

    CLOSE = "close"
    CHANGE = "change"
    NON_EMPTY = "non-empty"


@dataclass(frozen=True, slots=True)
class Timing:
    """The windows of a query, how often it is computed where that is not when they move, and its report conditions.

    `absorbed` says that it reads what streams leave in the stored graph, and so waits for these streams too.
    """

    windows: tuple[WindowOperator, ...]
    period_ms: int | None = None
    conditions: frozenset[ReportCondition] = frozenset()
    absorbed: bool = False

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that the windows are over, by the names that clocks know them by."""
        return tuple(dict.fromkeys(source_of(window) for window in self.windows))


def timing_of(
    query: nodes.Query,
    streams: Iterable[str],
    *,
    report: str | Collection[str] = (),
    every_ms: int | None = None,
    file: str | None = None,
) -> Timing:
    """The timing of a query that is registered when these streams are declared."""
    if every_ms is not None and every_ms <= 0:
        raise InputError("a query cannot be computed every 0 ms", file=file)
    declared = tuple(streams)
    windows = [window for given in query.windows for window in windows_of(given.window, declared)]
    if query.windows and not windows:
        raise InputError("STREAM with a variable needs a stream that is declared", file=file)
    return Timing(
        tuple(dict.fromkeys(windows)),
        query.period_ms if every_ms is None else every_ms,
        report_conditions(report, file),
        _reads_default_graph(query),
    )


def windows_of(window: WindowOperator, streams: Iterable[str]) -> tuple[WindowOperator, ...]:
    """The window itself, or, where it is over any stream (CQELS-QL's `STREAM ?s`), one over each."""
    if isinstance(window.stream, Iri):
        return (window,)
    return tuple(replace(window, stream=Iri(stream)) for stream in streams)


def source_of(window: WindowOperator) -> str:
    """The name of the stream that a window is over; that of a derived stream is no IRI."""
    assert isinstance(window.stream, Iri), "windows over any stream have been replaced"
    if isinstance(window, EventTimeWindow):
        return f"{window.stream.value} @{window.predicate.value}"
    return window.stream.value


def report_conditions(words: str | Collection[str], file: str | None = None) -> frozenset[ReportCondition]:
    """Report conditions by their names; `close` always holds, so nothing is left of it."""
    words = [words] if isinstance(words, str) else words
    known = {condition.value: condition for condition in ReportCondition}
    for word in words:
        if word not in known:
            raise InputError(f"'{word}' is no report condition: write {', '.join(known)}", file=file)
    return frozenset(known[word] for word in words) - {ReportCondition.CLOSE}


def _reads_default_graph(query: nodes.Query) -> bool:
    """Whether a pattern of the query matches the stored default graph, into which streams may be absorbed."""
    if query.default_graphs or (query.named_graphs and not query.merged):
        return False
    return query.merged or _has_triples(query.root)


def _has_triples(value: object) -> bool:
    """Whether there are triple patterns outside of windows and of named graphs."""
    if isinstance(value, nodes.TriplePattern | nodes.PathPattern):
        return True
    if isinstance(value, nodes.Window | nodes.Graph | nodes.Service | Iri):
        return False
    if isinstance(value, tuple):
        return any(_has_triples(part) for part in value)
    return is_dataclass(value) and any(_has_triples(getattr(value, field.name)) for field in fields(value))
