"""Reads answers in the W3C formats."""

from __future__ import annotations

from collections.abc import Callable

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.results.read_xml import read_xml
from freshet.results.report import BooleanAnswer, Solutions
from freshet.results.sparql_csv import read_csv
from freshet.results.sparql_json import read_json
from freshet.results.sparql_tsv import read_tsv
from freshet.results.table import Table, TermKeys

READERS: dict[str, Callable[[bytes, TermKeys, str | None], Table | bool]] = {
    "json": read_json,
    "csv": read_csv,
    "tsv": read_tsv,
    "xml": read_xml,
}


def read_answer(
    data: bytes, format: str, dictionary: Dictionary, *, file: str | None = None, blank_scope: str | None = None
) -> Solutions | BooleanAnswer:
    """The answer to SELECT or ASK in one of the formats `json`, `csv`, `tsv`, `xml`.

    Blank nodes belong to this reading, or to the scope given; `file` is only named in errors.
    """
    if format not in READERS:
        raise InputError(f"results cannot be read as `{format}`", hint=f"one of {', '.join(READERS)}")
    scope = dictionary.fresh_scope() if blank_scope is None else blank_scope
    found = READERS[format](data, TermKeys(scope), file)
    return BooleanAnswer(found) if isinstance(found, bool) else found.intern(dictionary)


def read_solutions(
    data: bytes, format: str, dictionary: Dictionary, *, file: str | None = None, blank_scope: str | None = None
) -> Solutions:
    """The answer to SELECT, as `read_answer`; the answer to ASK is an error."""
    answer = read_answer(data, format, dictionary, file=file, blank_scope=blank_scope)
    if isinstance(answer, BooleanAnswer):
        raise InputError("is the answer to ASK, where solutions are expected", file=file)
    return answer
