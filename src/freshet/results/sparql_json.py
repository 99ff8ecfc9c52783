"""SPARQL 1.2 Query Results JSON Format, https://www.w3.org/TR/sparql12-results-json/"""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from freshet.kernels.json_terms import json_terms
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.terms import MOST_NESTED, TOO_NESTED
from freshet.results.report import BooleanAnswer, Solutions
from freshet.results.rows import Frame, write_pieces, write_rows
from freshet.results.table import Table, TermKeys, check_variables

_MAYBE_TEXT = (str, NoneType)


def json_pieces(answer: Solutions | BooleanAnswer, dictionary: Dictionary) -> Iterator[bytes]:
    if isinstance(answer, BooleanAnswer):
        yield b'{"head":{},"boolean":%b}\n' % orjson.dumps(answer.value)
        return
    yield b'{"head":%b,"results":{"bindings":[' % orjson.dumps({"vars": answer.variables})
    yield from write_pieces(answer.rows, dictionary, json_terms, bindings_frame(answer.variables))
    yield b"]}}\n"


def write_bindings(variables: tuple[str, ...], rows: NDArray[np.int64], dictionary: Dictionary) -> bytes:
    """The JSON array of the solutions; an unbound variable is left out of its object."""
    return b"[%b]" % write_rows(rows, dictionary, json_terms, bindings_frame(variables))


def bindings_frame(variables: tuple[str, ...]) -> Frame:
    """What stands around the terms of solutions."""
    leads = tuple(f"{orjson.dumps(name).decode()}:" for name in variables)
    return Frame("{", "}", ",", leads, separator=",")


def read_json(data: bytes, keys: TermKeys, file: str | None) -> Table | bool:
    """What a document says; members that the specification does not know are skipped."""
    try:
        document = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise InputError(f"is not JSON: {error.msg}", file=file, line=error.lineno, column=error.colno) from None
    match document:
        case {"boolean": bool(value)}:
            return value
        case {"head": {"vars": [*names]}, "results": {"bindings": [*bindings]}}:
            if not all(isinstance(name, str) for name in names):
                raise InputError('not all of "vars" are strings', file=file)
            return _read_bindings(check_variables(names, file), bindings, keys, file)
    message = 'is no SPARQL result: it has neither "boolean" nor "head" with "vars" and "results" with "bindings"'
    raise InputError(message, file=file)


def _read_bindings(variables: tuple[str, ...], bindings: list[Any], keys: TermKeys, file: str | None) -> Table:
    table = Table(variables, count=len(bindings))
    known = set(variables)
    for number, binding in enumerate(bindings, 1):
        if not isinstance(binding, dict):
            raise InputError(f"solution {number} is no object", file=file)
        if not binding.keys() <= known:
            name = min(binding.keys() - known)
            raise InputError(f"solution {number} has the variable ?{name}, which the head has not", file=file)
        for name in variables:
            try:
                table.keys.append(_term_key(binding[name], keys) if name in binding else None)
            except ValueError as error:
                raise InputError(f"?{name} of solution {number}: {error}", file=file) from None
    return table


def _term_key(term: Any, keys: TermKeys, depth: int = 0) -> str:
    if isinstance(term, dict) and term.get("type") == "triple" and isinstance(parts := term.get("value"), dict):
        if depth == MOST_NESTED:
            raise ValueError(TOO_NESTED)
        if parts.keys() >= {"subject", "predicate", "object"}:
            return keys.triple(
                *[_term_key(parts[role], keys, depth + 1) for role in ("subject", "predicate", "object")]
            )
    if isinstance(term, dict) and isinstance(value := term.get("value"), str):
        kind = term.get("type")
        if kind == "uri":
            return keys.iri(value)
        if kind == "bnode":
            return keys.blank_node(value.removeprefix("_:"))
        if kind in ("literal", "typed-literal"):  # the W3C's first note, of 2007, had the second; some still write it
            parts = term.get("xml:lang"), term.get("datatype"), term.get("its:dir")
            if not all(isinstance(part, _MAYBE_TEXT) for part in parts):
                raise ValueError("xml:lang, its:dir and datatype are strings")
            return keys.literal(value, *parts)
    raise ValueError(f"this is no term: {orjson.dumps(term).decode()[:80]}")
