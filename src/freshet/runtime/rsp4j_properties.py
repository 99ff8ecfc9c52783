"""Properties files of RSP4J (`rsp_engine.*`): what they say of names, formats and reports, as options of a replay."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from freshet.rdf.errors import InputError
from freshet.rdf.terms import is_absolute_iri
from freshet.runtime.text_file import read_text

_LINE = re.compile(r"\s*([^\s#!:=][^\s:=]*)\s*[:=]?\s*(.*?)\s*")
_PREFIX = "rsp_engine."
_RDF = "rdf"
_FORMATS = {
    **dict.fromkeys(
        ("json-ld", "jsonld", "ttl", "turtle", "n3", "n-triples", "n-triple", "nt", "trig", "rdf/xml"), _RDF
    ),
    **dict.fromkeys(("json", "application/json"), "ndjson"),
    **dict.fromkeys(("csv", "text/csv"), "csv"),
    **dict.fromkeys(("table", "text", "text/plain"), "table"),
}
_REPORTS = {"on_content_change": "change", "non_empty_content": "non-empty"}


@dataclass(frozen=True, slots=True)
class Rsp4jSettings:
    """What a file says. `form` is a format of reports; `notes` are settings that a replay cannot have."""

    base: str | None = None
    form: str | None = None
    report: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def format_of(self, *, all_graphs: bool) -> str:
        """How reports are written: RDF only where all of them are graphs."""
        return "text" if self.form is None or (self.form == _RDF and not all_graphs) else self.form


def read_rsp4j(path: Path) -> Rsp4jSettings:
    """The settings of a file; a value that makes no sense is an InputError with its line."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if (match := _LINE.fullmatch(line)) and match[1].startswith(_PREFIX):
            key = match[1].removeprefix(_PREFIX)
            values[key], lines[key] = match[2], number

    base = values.get("base_uri") or None
    if base is not None and not is_absolute_iri(base):
        raise InputError(f"rsp_engine.base_uri is not an absolute IRI: {base}", file=str(path), line=lines["base_uri"])
    form = values.get("response_format") or None
    if form is not None and form.lower() not in _FORMATS:
        problem = f"rsp_engine.response_format is not known here: {form}"
        raise InputError(problem, file=str(path), line=lines["response_format"])
    report = tuple(condition for key, condition in _REPORTS.items() if _is_true(values, key))
    return Rsp4jSettings(base, None if form is None else _FORMATS[form.lower()], report, tuple(_notes(values, path)))


def _is_true(values: dict[str, str], key: str) -> bool:
    return values.get(key, "").lower() == "true"


def _notes(values: dict[str, str], path: Path) -> list[str]:
    found = []
    if _is_true(values, "periodic"):
        found.append("rsp_engine.periodic: --every gives the period")
    if _is_true(values, "reasoning"):
        found.append("rsp_engine.reasoning: nothing is inferred")
    if values.get("time", "EventTime").lower() != "eventtime":
        found.append("rsp_engine.time: times are those of the recording")
    if values.get("t0", "ZERO").upper() != "ZERO":
        found.append("rsp_engine.t0: windows close at multiples of their step since 1970")
    return [f"{path}: {note}" for note in found]
