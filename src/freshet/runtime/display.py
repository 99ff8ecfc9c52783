"""Numbers, times and terms as a person reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from freshet.native.streams.stream import StreamState
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import BlankNode, Iri, Literal, Term, TripleTerm
from freshet.rdf.wording import show_count
from freshet.results.report import Freshness, Report

_LONG_FRACTION = re.compile(r"-?\d+\.\d{3,}")
_FIRST_LIKELY_MS = 10**11  # 1973: smaller times are test data that count from nought, and are shown as they are


def show_time(time_ms: int | None) -> str:
    """Event time as date and time of day.

    >>> show_time(1_772_438_400_000), show_time(5_000)
    ('2026-03-02 08:00:00', '5000 ms')
    """
    if time_ms is None:
        return "-"
    if not _FIRST_LIKELY_MS < time_ms < 253_402_300_800_000:
        return f"{time_ms} ms"
    moment = datetime.fromtimestamp(time_ms / 1000, UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S") + (f".{time_ms % 1000:03d}" if time_ms % 1000 else "")


def show_seconds(seconds: float) -> str:
    """A span of time with a unit that suits it.

    >>> show_seconds(0.0421), show_seconds(3.14), show_seconds(75)
    ('42 ms', '3.1 s', '1 min 15 s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def show_dropped(state: StreamState) -> Iterator[str]:
    """What windows over the time of a predicate did not get of a stream."""
    for predicate, counts in state.derived.items():
        if counts.late:
            yield f"dropped {show_count(counts.late, 'element')} of <{state.iri}> that came late by <{predicate}>"
        if counts.untimed:
            yield f"{show_count(counts.untimed, 'element')} of <{state.iri}> had no time by <{predicate}> for a window"


def show_term(term: Term | None) -> str:
    """A term in brief: the end of an IRI, the text of a literal, long fractions rounded. Unbound is empty.

    >>> show_term(Iri("http://example.org/city/road/7"))
    'road/7'
    """
    match term:
        case None:
            return ""
        case Iri(value):
            parts = re.split(r"[/#]", value.rstrip("/#"))
            return "#".join(parts[-1:]) if "#" in value else "/".join(parts[-2:])
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical):
            return f"{float(lexical):.2f}" if _LONG_FRACTION.fullmatch(lexical) else lexical
        case TripleTerm(subject, predicate, object_):
            return f"<<( {show_term(subject)} {show_term(predicate)} {show_term(object_)} )>>"


def show_freshness(freshness: Freshness | None) -> str:
    """How good an answer with remote data is, in brief, with a comma in front; nothing where there are none."""
    if freshness is None:
        return ""
    parts = [f", accuracy about {freshness.accuracy:.2f}, {show_count(freshness.refreshes, 'refresh', 'refreshes')}"]
    parts += [f"oldest {show_seconds(freshness.oldest_ms / 1000)}"] if freshness.oldest_ms else []
    parts += [f"missed: {' and '.join(freshness.missed)}"] if freshness.missed else []
    parts += [freshness.failing] if freshness.failing else []
    return ", ".join(parts)


def show_table(report: Report, dictionary: Dictionary) -> str:
    """A report as a heading and a table with a column for each variable."""
    shown = report.shown
    cells = [[show_term(term) for term in dictionary.decode_many(row)] for row in shown.rows]
    widths = [max(map(len, column)) for column in zip(shown.variables, *cells, strict=True)]
    heading, *_ = show_report(report, dictionary).splitlines()
    rows = [list(shown.variables), ["-" * width for width in widths], *cells]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([heading, *(f"  {line}" for line in lines)])


def _unit(report: Report) -> str:
    if report.graph is None:
        return "row"
    return "triple" if report.graph.graphs is None else "quad"


def show_report(report: Report, dictionary: Dictionary) -> str:
    """A report as a heading and a line a solution, or a line a triple."""
    shown = report.shown
    count = show_count(len(shown.rows), _unit(report))
    heading = f"{report.query} at {show_time(report.time_ms)} ({report.stream.value}, {count}"
    lines = [f"{heading}{show_freshness(report.freshness)})"]
    for row in shown.rows:
        if report.graph is not None:
            terms = dictionary.decode_many(row)
            lines.append("  " + "  ".join(show_term(term) for term in terms if term is not None))
            continue
        cells = zip(shown.variables, dictionary.decode_many(row), strict=True)
        lines.append("  " + "  ".join(f"?{name}={show_term(term)}" for name, term in cells if term is not None))
    return "\n".join(lines)
