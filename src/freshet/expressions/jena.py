"""Functions of Jena by their IRIs, which queries for C-SPARQL use (https://jena.apache.org/documentation/query/library-function.html)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from freshet.expressions import mathematics
from freshet.expressions.columns import Column, ColumnBatch, Keys
from freshet.expressions.distinct import keys_of, read
from freshet.expressions.lexical import iri, simple_key

SPACES = ("http://jena.apache.org/ARQ/function#", "http://jena.hpl.hp.com/ARQ/function#")
_LOCAL = re.compile(r"[^\W\d][\w.\u00b7-]*\Z")  # what an XML name of an element can be


def split_name(text: str) -> tuple[str, str]:
    """The namespace and the local name of an IRI, as in XML: the longest end that can be a name.

    >>> split_name("http://example.org/a#b1"), split_name("http://example.org/2nd"), split_name("http://example.org/")
    (('http://example.org/a#', 'b1'), ('http://example.org/2', 'nd'), ('http://example.org/', ''))
    """
    found = _LOCAL.search(text)
    at = len(text) if found is None else found.start()
    return text[:at], text[at:]


def _part(number: int, batch: ColumnBatch, argument: Column) -> Keys:
    def part(key: str) -> str | None:
        text = iri(key)
        return None if text is None else simple_key(split_name(text)[number])

    return keys_of(read(batch, argument, part))


_FUNCTIONS: dict[str, Callable[..., Column]] = {
    "namespace": partial(_part, 0),
    "localname": partial(_part, 1),
    "sqrt": mathematics.FUNCTIONS[mathematics.MATH + "sqrt"],
    "pi": mathematics.FUNCTIONS[mathematics.MATH + "pi"],
}
FUNCTIONS = {space + name: function for space in SPACES for name, function in _FUNCTIONS.items()}
