"""Answers, reports and plans as notebooks show them. Every text that comes from data is escaped."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import Any

from freshet.rdf.terms import XSD
from freshet.results.arrow import record_batch
from freshet.results.report import Answer, BooleanAnswer, Freshness, Report, Solutions
from freshet.results.terms import dictionary_of, shown_rows
from freshet.results.typed_keys import term_texts

MOST_ROWS = 20
_NUMBERS = {XSD + name for name in ("integer", "decimal", "double", "float", "int", "long")}


def answer_html(answer: Answer | Report) -> str:
    """A table of the first rows, with a note of how many more there are."""
    if isinstance(answer, BooleanAnswer):
        return f"<p><b>{str(answer.value).lower()}</b></p>"
    shown = shown_rows(answer)
    first = Solutions(shown.variables, shown.rows[:MOST_ROWS])
    batch = record_batch(first, dictionary_of(answer))
    caption = _caption(answer) if isinstance(answer, Report) else ""
    head = "".join(f"<th>{escape(name)}</th>" for name in shown.variables)
    titles = [term_texts(column).to_pylist() for column in batch.columns]
    columns = [
        [_cell(term, title) for term, title in zip(column.to_pylist(), texts, strict=True)]
        for column, texts in zip(batch.columns, titles, strict=True)
    ]
    rows = "".join(f"<tr>{''.join(cells)}</tr>" for cells in zip(*columns, strict=True))
    more = len(shown.rows) - len(first.rows)
    note = f"{len(shown.rows):,} {'row' if len(shown.rows) == 1 else 'rows'}"
    note += f", {more:,} more not shown" if more else ""
    fresh = _fresh(answer.freshness) if isinstance(answer, Report) and answer.freshness is not None else ""
    table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<div>{table}<p>{note}{fresh}</p></div>"


def text_html(text: str) -> str:
    """A plan, or any text whose spaces and lines count."""
    return f'<pre style="line-height: 1.2">{escape(text)}</pre>'


def _cell(term: dict[str, Any] | None, title: str | None) -> str:
    if term is None:
        return "<td></td>"
    side = ' style="text-align: right"' if term["datatype"] in _NUMBERS else ""
    value = f"_:{term['value']}" if term["type"] == "bnode" else term["value"]
    return f'<td{side} title="{escape(title or "")}">{escape(value)}</td>'


def _caption(report: Report) -> str:
    words = f"{report.query} at {_time(report.time_ms)}, {report.stream}"
    return f"<caption>{escape(words)}</caption>"


def _time(time_ms: int) -> str:
    """The time as a date where the calendar has it, else in milliseconds."""
    try:
        moment = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{time_ms} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fresh(freshness: Freshness) -> str:
    parts = [
        f"accuracy {freshness.accuracy:.2f}",
        f"{freshness.refreshes:,} refreshed",
        f"{freshness.latency_ms:,.1f} ms",
        *(f"{name} missed" for name in freshness.missed),
        *([] if freshness.failing is None else [freshness.failing]),
    ]
    return escape("; " + ", ".join(parts))
