"""SPARQL 1.1 Query Results CSV and TSV Formats, https://www.w3.org/TR/sparql11-results-csv-tsv/"""

from __future__ import annotations

import re

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.ids import XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from freshet.rdf.terms import BlankNode, Iri, Literal, Term
from freshet.results.report import Solutions
from freshet.results.rows import CellWriter, Frame, write_rows

_NEEDS_QUOTES = re.compile(r'[",\r\n]')
# how Turtle abbreviates numbers
_NUMBERS = {
    XSD_INTEGER: re.compile(r"[+-]?[0-9]+"),
    XSD_DECIMAL: re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    XSD_DOUBLE: re.compile(r"[+-]?([0-9]+\.[0-9]*|\.?[0-9]+)[eE][+-]?[0-9]+"),
}


def write_csv(solutions: Solutions, dictionary: Dictionary) -> bytes:
    """Values without their types, for spreadsheets; an unbound variable is an empty field."""
    header = ",".join(solutions.variables)
    return _write(solutions, dictionary, _csv_field, header, ",", "\r\n")


def write_tsv(solutions: Solutions, dictionary: Dictionary) -> bytes:
    """Terms as SPARQL writes them; an unbound variable is an empty field."""
    header = "\t".join(f"?{name}" for name in solutions.variables)
    return _write(solutions, dictionary, _tsv_field, header, "\t", "\n")


def _write(
    solutions: Solutions, dictionary: Dictionary, write: CellWriter, header: str, separator: str, line_end: str
) -> bytes:
    leads = ("",) * len(solutions.variables)
    frame = Frame("", line_end, "", leads, separator=separator, keeps_unbound=True)
    return (header + line_end).encode() + write_rows(solutions.rows, dictionary, write, frame)


def _csv_field(term: Term) -> str:
    match term:
        case Iri(value):
            text = value
        case BlankNode(label):
            text = f"_:{label}"
        case Literal(lexical):
            text = lexical
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def _tsv_field(term: Term) -> str:
    if isinstance(term, Literal):
        number = _NUMBERS.get(term.datatype)
        if number and number.fullmatch(term.lexical):
            return term.lexical
    return str(term).replace("\t", "\\t")
