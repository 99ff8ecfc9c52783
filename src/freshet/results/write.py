"""Writes answers: solutions in the W3C formats, and reports as lines of JSON."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.results.report import Report, Solutions
from freshet.results.sparql_json import write_bindings, write_json
from freshet.results.sparql_separated import write_csv, write_tsv
from freshet.results.sparql_xml import write_xml

WRITERS: dict[str, Callable[[Solutions, Dictionary], bytes]] = {
    "json": write_json,
    "csv": write_csv,
    "tsv": write_tsv,
    "xml": write_xml,
}


def write_solutions(solutions: Solutions, dictionary: Dictionary, format: str) -> bytes:
    """Solutions in one of the formats `json`, `csv`, `tsv`, `xml`."""
    if format not in WRITERS:
        raise InputError(f"there is no format `{format}` for solutions", hint=f"one of {', '.join(WRITERS)}")
    return WRITERS[format](solutions, dictionary)


def report_json(report: Report, dictionary: Dictionary) -> bytes:
    """A report as one line: `{"query": name, "time": ms, "stream": "rstream", "bindings": [...]}`."""
    return b'{"query":%b,"time":%d,"stream":%b,"bindings":%b}\n' % (
        orjson.dumps(report.query),
        report.time_ms,
        orjson.dumps(report.stream),
        write_bindings(report.variables, report.rows, dictionary),
    )
