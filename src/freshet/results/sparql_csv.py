"""SPARQL 1.1 Query Results CSV Format, https://www.w3.org/TR/sparql11-results-csv-tsv/#csv"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.terms import TRIPLE_START
from freshet.results.report import BooleanAnswer, Solutions
from freshet.results.rows import Frame, Ids, each_cell, literal_parts, write_pieces, write_rows
from freshet.results.table import Table, TermKeys, check_variables, decode_text

_NEEDS_QUOTES = re.compile(r'[",\r\n]')
_FIELD = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r\n|\n|\r|\Z)')

Field = str | None


def csv_pieces(answer: Solutions | BooleanAnswer, dictionary: Dictionary) -> Iterator[bytes]:
    """Values without their types, for spreadsheets; an unbound variable is an empty field, the empty string is `""`.

    The specification leaves ASK out: it is one line, `true` or `false`.
    """
    if isinstance(answer, BooleanAnswer):
        yield b"true\r\n" if answer.value else b"false\r\n"
        return
    yield csv_header(answer.variables)
    yield from write_pieces(answer.rows, dictionary, each_cell(_field), _frame(len(answer.variables)))


def csv_header(names: Sequence[str]) -> bytes:
    """The first line."""
    return f"{','.join(names)}\r\n".encode()


def csv_rows(rows: Ids, dictionary: Dictionary) -> bytes:
    """Rows of ids as lines."""
    return write_rows(rows, dictionary, each_cell(_field), _frame(rows.shape[1]))


def _frame(width: int) -> Frame:
    return Frame("", "\r\n", "", ("",) * width, separator=",", keeps_unbound=True)


def _field(key: str) -> str:
    text = _csv_text(key)
    return '"' + text.replace('"', '""') + '"' if not text or _NEEDS_QUOTES.search(text) else text


def _csv_text(key: str) -> str:
    if key.startswith(TRIPLE_START):
        return key
    if key.startswith("<"):
        return key[1:-1]
    return key if key.startswith("_") else literal_parts(key)[0]


def read_csv(data: bytes, keys: TermKeys, file: str | None) -> Table | bool:
    """What a file says. CSV has lost the types: `_:label` is a blank node, everything else a plain literal.

    A file of one line `true` or `false` is the answer to ASK.
    """
    text = decode_text(data, file)
    if text.strip() in ("true", "false"):
        return text.strip() == "true"
    records = _records(text, file)
    _, header = next(records, (0, []))
    if not header:
        raise InputError("is empty: a line with the names of the variables is missing", file=file)
    table = Table(check_variables([name or "" for name in header] if header != [None] else [], file, 1))
    width = len(table.variables)
    for start, fields in records:
        if len(fields) != max(width, 1) or (width == 0 and fields != [None]):
            message = f"{len(fields)} fields, where the header has {width}"
            raise InputError(message, file=file, line=_line(text, start))
        table.keys += [_key(field, keys) for field in fields[:width]]
        table.count += 1
    return table


def _records(text: str, file: str | None) -> Iterator[tuple[int, list[Field]]]:
    """The records (RFC 4180), each with where it starts; a field of nothing at all is None."""
    start = at = 0
    fields: list[Field] = []
    while at < len(text) or fields:
        found = _FIELD.match(text, at)
        if not found:
            message = "a quotation mark that is not doubled, or has no end"
            raise InputError(message, file=file, line=_line(text, at))
        quoted, plain, end = found.groups()
        fields.append(quoted.replace('""', '"') if quoted is not None else plain or None)
        at = found.end()
        if end != ",":
            yield start, fields
            start, fields = at, []


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _key(field: Field, keys: TermKeys) -> str | None:
    if field is None:
        return None
    if field.startswith("_:"):
        try:
            return keys.blank_node(field[2:])
        except ValueError:  # a literal that only starts like one
            pass
    return keys.literal(field)
