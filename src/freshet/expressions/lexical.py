"""Keys of terms, read into what functions take, and written again. See `freshet.rdf.terms.term_key` for their form."""

from __future__ import annotations

from typing import NamedTuple

from freshet.rdf.deadline import QueryStoppedError, current
from freshet.rdf.terms import TRIPLE_START, XSD

LONGEST_TEXT = 1 << 27  # characters that a function gives; a longer one could not be looked at between two checks


class Text(NamedTuple):
    """A string literal: its lexical form, and `@tag` or nothing."""

    lexical: str
    tag: str

    def key(self) -> str:
        return f'"{self.lexical}"{self.tag}'


def make_room(size: int) -> None:
    """Check that a text of this length may be made."""
    if size > LONGEST_TEXT:
        raise QueryStoppedError(f"the query makes a text of more than {LONGEST_TEXT:,} characters")
    current().reserve(size)


def literal(key: str) -> tuple[str, str] | None:
    """The lexical form of a literal and what follows it: nothing, `@tag` or `^^<datatype>`."""
    if not key.startswith('"'):
        return None
    end = key.rindex('"')
    return key[1:end], key[end + 1 :]


def text(key: str) -> Text | None:
    """A string literal, with or without a language tag (17.4.3.1)."""
    parts = literal(key)
    return Text(*parts) if parts is not None and not parts[1].startswith("^") else None


def simple(key: str) -> str | None:
    """The lexical form of a simple literal or xsd:string."""
    parts = literal(key)
    return parts[0] if parts is not None and not parts[1] else None


def iri(key: str) -> str | None:
    """An IRI without its brackets."""
    return key[1:-1] if key.startswith("<") and not key.startswith(TRIPLE_START) else None


def simple_key(lexical: str) -> str:
    return f'"{lexical}"'


def typed_key(lexical: str, name: str) -> str:
    """The key of a literal of one of XML Schema's datatypes, but xsd:string."""
    return f'"{lexical}"^^<{XSD}{name}>'
