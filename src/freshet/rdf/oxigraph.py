"""pyoxigraph's terms and errors as ours."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pyoxigraph

from freshet.rdf.errors import InputError
from freshet.rdf.terms import MOST_NESTED, TOO_NESTED, XSD, triple_key

_PLACE = re.compile(r"Parser error at (?:line \d+ (?:column \d+|between columns \d+ and \d+)|between .*?): ")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"

ParsedTerm = pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal | pyoxigraph.Triple


def parsed_key(term: ParsedTerm | pyoxigraph.DefaultGraph, blank_scope: str) -> str:
    """The dictionary's key of a parsed term (see `term_key`); blank node labels get the scope in front."""
    if isinstance(term, pyoxigraph.NamedNode):
        return f"<{term.value}>"
    if isinstance(term, pyoxigraph.BlankNode):
        return f"_:{scoped_label(term.value, blank_scope)}"
    if isinstance(term, pyoxigraph.Literal):
        if term.language is not None:
            direction = "" if term.direction is None else f"--{term.direction.value}"
            return f'"{term.value}"@{term.language.lower()}{direction}'
        datatype = term.datatype.value
        return f'"{term.value}"' if datatype == _XSD_STRING else f'"{term.value}"^^<{datatype}>'
    assert isinstance(term, pyoxigraph.Triple)
    return _triple_key(term, blank_scope)


def _triple_key(triple: pyoxigraph.Triple, blank_scope: str) -> str:
    """Of triple terms only the object can be a triple term."""
    outer = [triple]
    while isinstance(object_ := outer[-1].object, pyoxigraph.Triple):
        outer.append(object_)
        if len(outer) > MOST_NESTED:
            raise InputError(TOO_NESTED)
    key = parsed_key(object_, blank_scope)
    for each in reversed(outer):
        key = triple_key(parsed_key(each.subject, blank_scope), parsed_key(each.predicate, blank_scope), key)
    return key


def scoped_label(label: str, blank_scope: str) -> str:
    """The label of a blank node in its scope. A scope has no point in it, so two scopes never share a label."""
    return f"{blank_scope}.{label}" if blank_scope else label


def parse_error(error: SyntaxError, file: str, *, line: int | None = None, column_offset: int = 0) -> InputError:
    """A parser's complaint with our place: `line` where one line was parsed alone, from after `column_offset` on."""
    column = None if error.offset is None else error.offset + column_offset
    message = _PLACE.sub("", error.msg or str(error), count=1)
    return InputError(message, file=file, line=line if line is not None else error.lineno, column=column)


def term_time_ms(term: object) -> int | None:
    """Milliseconds of a date, or of a whole number of them; of a date without a zone in UTC."""
    if not isinstance(term, pyoxigraph.Literal):
        return None
    try:
        if term.datatype.value == XSD + "integer":
            return int(term.value)
        if term.datatype.value not in (XSD + "dateTime", XSD + "dateTimeStamp", XSD + "date"):
            return None
        found = datetime.fromisoformat(term.value)
        found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        return (found - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        return None
