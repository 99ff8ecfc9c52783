"""SPARQL 1.2 Query Results TSV Format, https://www.w3.org/TR/sparql12-results-csv-tsv/#tsv"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.ids import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from freshet.rdf.terms import MOST_NESTED, TOO_NESTED, key_text
from freshet.results.report import BooleanAnswer, Solutions
from freshet.results.rows import Frame, each_cell, literal_parts, write_pieces
from freshet.results.table import Table, TermKeys, check_variables, decode_text

# how Turtle abbreviates numbers
_NUMBERS = {
    XSD_INTEGER: re.compile(r"[+-]?[0-9]+"),
    XSD_DECIMAL: re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    XSD_DOUBLE: re.compile(r"[+-]?([0-9]+\.[0-9]*|\.?[0-9]+)[eE][+-]?[0-9]+"),
}
_SUFFIXES = {f"^^{datatype}": pattern for datatype, pattern in _NUMBERS.items()}
_ABBREVIATED = {**_NUMBERS, XSD_BOOLEAN: re.compile("true|false")}
_IRI = re.compile(r"<([^<>]*)>")
_LITERAL = re.compile(
    r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)(?:--([a-z]+))?|\^\^<([^<>]*)>)?"""
)
_PART = re.compile(rf"\s*({_IRI.pattern}|{_LITERAL.pattern}|[^\s<>\"']+)\s*")
_TRIPLE = re.compile(r"<<\((.*)\)>>")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


def tsv_pieces(answer: Solutions | BooleanAnswer, dictionary: Dictionary) -> Iterator[bytes]:
    """Terms as Turtle writes them; an unbound variable is an empty field.

    The specification leaves ASK out: it is one line, `true` or `false`.
    """
    if isinstance(answer, BooleanAnswer):
        yield b"true\n" if answer.value else b"false\n"
        return
    frame = Frame("", "\n", "", ("",) * len(answer.variables), separator="\t", keeps_unbound=True)
    header = "\t".join(f"?{name}" for name in answer.variables)
    yield f"{header}\n".encode()
    yield from write_pieces(answer.rows, dictionary, each_cell(_field), frame)


def _field(key: str) -> str:
    if key.startswith('"'):
        lexical, suffix = literal_parts(key)
        number = _SUFFIXES.get(suffix)
        if number and number.fullmatch(lexical):
            return lexical
    return key_text(key)


def read_tsv(data: bytes, keys: TermKeys, file: str | None) -> Table | bool:
    """What a file says. Lines end in LF or CR LF; one line `true` or `false` is the answer to ASK."""
    text = decode_text(data, file)
    if text.strip() in ("true", "false"):
        return text.strip() == "true"
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    table = Table(_header(lines[0], file))
    width = len(table.variables)
    known: dict[str, str | None] = {"": None}
    for number, line in enumerate(lines[1:], 2):
        fields = line.split("\t")
        if len(fields) != max(width, 1) or (width == 0 and line):
            raise InputError(f"{len(fields)} fields, where the header has {width}", file=file, line=number)
        for field in fields[:width]:
            if field not in known:
                try:
                    known[field] = _key(field.strip(" "), keys)
                except ValueError as error:
                    raise InputError(str(error), file=file, line=number) from None
            table.keys.append(known[field])
        table.count += 1
    return table


def _header(line: str, file: str | None) -> tuple[str, ...]:
    names = [name.strip(" ") for name in line.split("\t")] if line else []
    for name in names:
        if name[:1] not in ("?", "$"):
            raise InputError(f"a variable in the header starts with `?`, not {name!r}", file=file, line=1)
    return check_variables([name[1:] for name in names], file, 1)


def _key(text: str, keys: TermKeys) -> str | None:
    if not text:
        return None
    if found := _TRIPLE.fullmatch(text):
        if text.count("<<(") > MOST_NESTED:
            raise ValueError(TOO_NESTED)
        return _triple_key(found[1], keys)
    if found := _IRI.fullmatch(text):
        return keys.iri(_unescape(found[1]))
    if text.startswith("_:"):
        return keys.blank_node(text[2:])
    if found := _LITERAL.fullmatch(text):
        double, single, language, direction, datatype = found.groups()
        lexical = _unescape(double if double is not None else single)
        return keys.literal(lexical, language, None if datatype is None else _unescape(datatype), direction)
    for iri, pattern in _ABBREVIATED.items():
        if pattern.fullmatch(text):
            return keys.literal(text, None, iri.value)
    raise ValueError(f"this is no term as Turtle writes it: {text[:80]}")


def _triple_key(text: str, keys: TermKeys) -> str:
    """The key of a triple term by what is between its brackets."""
    at, parts = 0, []
    for _ in range(2):
        found = _PART.match(text, at)
        if found is None:
            break
        parts.append(_key(found[1], keys))
        at = found.end()
    parts.append(_key(text[at:].strip(), keys))
    if len(parts) < 3 or None in parts:
        raise ValueError(f"this is no triple term as Turtle writes it: <<({text[:80]})>>")
    subject, predicate, object_ = cast("list[str]", parts)
    return keys.triple(subject, predicate, object_)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(escape: re.Match[str]) -> str:
    short, long, other = escape.groups()
    if other is None:
        code = int(short or long, 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise ValueError(f"{escape[0]} is no character")
        return chr(code)
    if other not in _CHARACTERS:
        raise ValueError(f"{escape[0]} is no escape that a string can have")
    return _CHARACTERS[other]
