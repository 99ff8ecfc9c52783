"""RDF 1.1 terms, and the key under which the dictionary knows each."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ABSOLUTE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+")
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True, slots=True)
class Iri:
    """An IRI, without the angle brackets."""

    value: str

    def __str__(self) -> str:
        return f"<{self.value}>"


@dataclass(frozen=True, slots=True)
class BlankNode:
    """A blank node; the label is without `_:`."""

    label: str

    def __str__(self) -> str:
        return f"_:{self.label}"


XSD_STRING = Iri(XSD + "string")
RDF_LANG_STRING = Iri(RDF + "langString")
RDF_TYPE = Iri(RDF + "type")


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal: its lexical form as written, its datatype, and its language tag (in lower case) or None.

    A literal with a language tag has the datatype rdf:langString.
    """

    lexical: str
    datatype: Iri = XSD_STRING
    language: str | None = None

    def __str__(self) -> str:
        escaped = self.lexical.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
        if self.language is not None:
            return f'"{escaped}"@{self.language}'
        return f'"{escaped}"' if self.datatype == XSD_STRING else f'"{escaped}"^^{self.datatype}'


Term = Iri | BlankNode | Literal


def is_absolute_iri(text: str) -> bool:
    """Whether a text can stand as an IRI wherever it is, without angle brackets."""
    return _ABSOLUTE_IRI.fullmatch(text) is not None


def term_key(term: Term) -> str:
    """The dictionary's key of a term: its N-Triples form with nothing escaped.

    Unambiguous, because what follows the last quotation mark is the language tag or datatype, and neither can
    hold one. A literal of xsd:string has no suffix.

    >>> term_key(Literal('say "x"', language="en"))
    '"say "x""@en'
    """
    match term:
        case Iri(value):
            return f"<{value}>"
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical, _, str() as language):
            return f'"{lexical}"@{language}'
        case Literal(lexical, datatype, _):
            return f'"{lexical}"' if datatype == XSD_STRING else f'"{lexical}"^^<{datatype.value}>'


def term_from_key(key: str) -> Term:
    """The term that has this key: `term_from_key(term_key(t)) == t`."""
    if key.startswith("<"):
        return Iri(key[1:-1])
    if key.startswith("_:"):
        return BlankNode(key[2:])
    end = key.rindex('"')
    lexical, suffix = key[1:end], key[end + 1 :]
    if suffix.startswith("@"):
        return Literal(lexical, RDF_LANG_STRING, suffix[1:])
    return Literal(lexical, Iri(suffix[3:-1])) if suffix else Literal(lexical)
