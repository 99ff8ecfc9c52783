"""Reports of `freshet replay --why`: beside each row what it was derived from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import FreshetError
from freshet.rdf.wording import show_count
from freshet.results.answers import AnswerBatch
from freshet.results.report import Report
from freshet.results.why import Derivation, Why
from freshet.results.write import report_json
from freshet.runtime.display import show_report, show_term, show_time
from freshet.runtime.registered_query import RegisteredQuery
from freshet.runtime.why import Explanations

_INDENT = "    "


class ExplainedReports:
    """Explains every row of the reports of queries while these are made."""

    def __init__(self, dictionary: Dictionary, format: str) -> None:
        self._dictionary = dictionary
        self._write = self._json if format == "ndjson" else self._text
        self._queries: Mapping[str, RegisteredQuery] = {}

    def begin(self, queries: Mapping[str, RegisteredQuery]) -> None:
        """Take note of the queries, by their names."""
        self._queries = queries

    def write(self, batch: AnswerBatch) -> bytes:
        """The reports of a batch, written with what their rows were derived from."""
        answered_by = self._queries[batch.query].answered_by
        assert answered_by is not None, "it has a window"
        explanations = Explanations(*answered_by, batch.query)
        return b"".join(self._write(report, _explain(report, explanations)) for report in batch.reports())

    def _json(self, report: Report, whys: list[Why | FreshetError]) -> bytes:
        """The report with `why`: an object for each row, as `GET /queries/NAME/why` has it, or the `error`."""
        line = report_json(report, self._dictionary)
        return b'%b,"why":%b}\n' % (line.rstrip()[:-1], orjson.dumps(list(map(_describe, whys))))

    def _text(self, report: Report, whys: list[Why | FreshetError]) -> bytes:
        heading, *lines = show_report(report, self._dictionary).split("\n")
        found = [heading]
        for line, why in zip(lines, whys, strict=True):
            found.append(line)
            found += [f"{_INDENT}{each}" for each in _lines(why)]
        return "".join(f"{line}\n" for line in found).encode()


def _explain(report: Report, explanations: Explanations) -> list[Why | FreshetError]:
    found: list[Why | FreshetError] = []
    for row in range(len(report.shown.rows)):
        try:
            found.append(explanations.why(report, row))
        except FreshetError as error:  # the elements are gone, or an endpoint has changed: the report is right
            found.append(error)
    return found


def _describe(why: Why | FreshetError) -> dict[str, Any]:
    if isinstance(why, FreshetError):
        return {"error": str(why)}
    found = why.json()
    return {name: found[name] for name in ("total", "derivations")}


def _lines(why: Why | FreshetError) -> Iterator[str]:
    if isinstance(why, FreshetError):
        yield f"not explained: {why}"
        return
    for derivation in why.derivations:
        yield from _derivation_lines(derivation)
    if why.total > len(why.derivations):
        yield f"and {show_count(why.total - len(why.derivations), 'other derivation')}"


def _derivation_lines(derivation: Derivation) -> Iterator[str]:
    for element in derivation.elements:
        source = f"answer of {element.query}" if element.query else element.record or element.stream
        yield f"{source}  {show_time(element.time_ms)}  {'  '.join(map(show_term, element.triple))}"
    for stored in derivation.stored:
        graph = "stored" if stored.graph is None else f"stored in <{stored.graph}>"
        yield f"{' '.join([graph, *stored.records])}  {'  '.join(map(show_term, stored.triple))}"
    for remote in derivation.remote:
        yield f"{remote.endpoint}  {'  '.join(f'?{name}={show_term(term)}' for name, term in remote.row)}"
    yield from derivation.branches
    yield from (f"nothing for {text}" for text in (*derivation.unmatched, *derivation.absent))
    yield from (f"within {text}" for text in derivation.slices)
    for members in derivation.members:
        names = ("member of the group", "members of the group") if members.kind == "group" else ("equal solution",)
        yield show_count(members.total, *names)
        for each in members.derivations:
            yield from (f"  {line}" for line in _derivation_lines(each))
        if members.total > len(members.derivations):
            yield f"  and {show_count(members.total - len(members.derivations), 'other')}"
