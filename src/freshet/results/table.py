"""What the readers of all result formats share: terms become keys of the dictionary, and are interned together."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.oxigraph import scoped_label
from freshet.rdf.terms import (
    DIRECTIONS,
    MOST_NESTED,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    TOO_NESTED,
    TRIPLE_START,
    XSD_STRING,
    nesting,
    triple_key,
)
from freshet.results.report import Solutions

_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_NOT_IN_LABEL = re.compile(r'[\x00-\x20<>"]')
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_NOT_SAFE = re.compile(r"[^A-Za-z0-9_-]")
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")


@dataclass(slots=True)
class Table:
    """Solutions as they are read: the keys of row after row, None where a variable is unbound."""

    variables: tuple[str, ...]
    keys: list[str | None] = field(default_factory=list)
    count: int = 0

    def intern(self, dictionary: Dictionary) -> Solutions:
        """The solutions as ids."""
        ids = dictionary.intern_arrow(pa.array(self.keys, pa.large_string()))
        return Solutions(self.variables, ids.reshape(self.count, len(self.variables)).astype(np.int64, copy=False))


@dataclass(frozen=True, slots=True)
class TermKeys:
    """Makes keys (see `term_key`) out of the parts of terms; blank node labels get the scope in front.

    ValueError says what is wrong with a term.
    """

    blank_scope: str

    def iri(self, value: str) -> str:
        if wrong := _NOT_IN_IRI.search(value):
            raise ValueError(f"an IRI cannot have {wrong[0]!r} in it: <{value}>")
        return f"<{value}>"

    def blank_node(self, label: str) -> str:
        if not label or _NOT_IN_LABEL.search(label):
            raise ValueError(f"{label!r} is no label of a blank node")
        return f"_:{scoped_label(safe_label(label), self.blank_scope)}"

    def literal(
        self, lexical: str, language: str | None = None, datatype: str | None = None, direction: str | None = None
    ) -> str:
        if language is not None:
            if not _LANGUAGE.fullmatch(language):
                raise ValueError(f"{language!r} is no language tag")
            if direction not in (None, *DIRECTIONS):
                raise ValueError(f"{direction!r} is no base direction: ltr or rtl")
            implied = RDF_LANG_STRING if direction is None else RDF_DIR_LANG_STRING
            if datatype not in (None, implied.value):
                raise ValueError(f"a literal has a language tag or the datatype <{datatype}>, not both")
            return f'"{lexical}"@{language.lower()}{"" if direction is None else f"--{direction}"}'
        if direction is not None:
            raise ValueError("a literal with a base direction needs a language tag")
        if datatype in (RDF_LANG_STRING.value, RDF_DIR_LANG_STRING.value):
            raise ValueError(f"a literal of <{datatype}> needs a language tag")
        return f'"{lexical}"' if datatype in (None, XSD_STRING.value) else f'"{lexical}"^^{self.iri(datatype or "")}'

    def triple(self, subject: str, predicate: str, object_: str) -> str:
        """The key of a triple term by those of its terms."""
        if subject.startswith(('"', TRIPLE_START)):
            raise ValueError("the subject of a triple term is an IRI or a blank node")
        if not predicate.startswith("<") or predicate.startswith(TRIPLE_START):
            raise ValueError("the predicate of a triple term is an IRI")
        if nesting(object_) >= MOST_NESTED:
            raise ValueError(TOO_NESTED)
        return triple_key(subject, predicate, object_)


def safe_label(label: str) -> str:
    """A label that Turtle can write. JSON and XML let any text be one, and different labels must stay different.

    >>> safe_label("b1.x"), safe_label("nodeID://b1")
    ('b1.x', 'bnodeID·3a··2f··2f·b1')
    """
    if _LABEL.fullmatch(label):
        return label
    return "b" + _NOT_SAFE.sub(lambda found: f"·{ord(found[0]):x}·", label)


def check_variables(names: list[str], file: str | None, line: int | None = None) -> tuple[str, ...]:
    """The variables of a result, where each has a name of its own."""
    for place, name in enumerate(names):
        if not name:
            raise InputError("a variable has no name", file=file, line=line)
        if name in names[:place]:
            raise InputError(f"the variable ?{name} stands twice in the head", file=file, line=line)
    return tuple(names)


def decode_text(data: bytes, file: str | None) -> str:
    """The text of a UTF-8 file, a byte order mark left out."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", file=file, line=data.count(b"\n", 0, error.start) + 1) from None
