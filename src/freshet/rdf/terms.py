"""RDF 1.2 terms, and the key under which the dictionary knows each."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ABSOLUTE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+")
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_NEEDS_ESCAPES = re.compile(r'["\\\t\n\r]')
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_ESCAPE = re.compile(r"\\(?:u([0-9A-F]{4})|(.))")
_CHARACTERS = {"t": "\t", "n": "\n", "r": "\r"}
_PART = re.compile(r""" (?:(<(?!<)[^>]*>|_:[^ ]+)|"((?:[^"\\]++|\\.)*+)"([^ ]*)|(<<\(.*\)>>)(?= \)>>$))""")

TRIPLE_START, TRIPLE_END = "<<(", " )>>"
MOST_NESTED = 100  # triple terms within one another
TOO_NESTED = f"more than {MOST_NESTED} triple terms within one another"

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
RDF_DIR_LANG_STRING = Iri(RDF + "dirLangString")
RDF_REIFIES = Iri(RDF + "reifies")
RDF_TYPE = Iri(RDF + "type")


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal: its lexical form as written, its datatype, and its language tag (in lower case) or None.

    A literal with a language tag has the datatype rdf:langString; one that has a base direction (`ltr` or `rtl`) too
    has rdf:dirLangString.
    """

    lexical: str
    datatype: Iri = XSD_STRING
    language: str | None = None
    direction: str | None = None

    def __str__(self) -> str:
        escaped = self.lexical.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
        if self.language is not None:
            return f'"{escaped}"@{self.tag}'
        return f'"{escaped}"' if self.datatype == XSD_STRING else f'"{escaped}"^^{self.datatype}'

    @property
    def tag(self) -> str | None:
        """The language and the base direction as N-Triples writes them: `ar--rtl`."""
        return self.language if self.direction is None else f"{self.language}--{self.direction}"


@dataclass(frozen=True, slots=True)
class TripleTerm:
    """A triple as a term. Only objects of triples can be triple terms; that a triple is one does not assert it."""

    subject: Iri | BlankNode
    predicate: Iri
    object: Term

    def __str__(self) -> str:
        return f"<<( {self.subject} {self.predicate} {self.object} )>>"


Term = Iri | BlankNode | Literal | TripleTerm

DIRECTIONS = ("ltr", "rtl")


def has_blank_node(term: Term) -> bool:
    """Whether a term is a blank node, or a triple term with one in it."""
    match term:
        case TripleTerm(subject, _, object_):
            return has_blank_node(subject) or has_blank_node(object_)
        case _:
            return isinstance(term, BlankNode)


def is_absolute_iri(text: str) -> bool:
    """Whether a text can stand as an IRI wherever it is, without angle brackets."""
    return _ABSOLUTE_IRI.fullmatch(text) is not None


def term_key(term: Term) -> str:
    """The dictionary's key of a term: its N-Triples form with nothing escaped.

    Unambiguous, because what follows the last quotation mark is the language tag or datatype, and neither can
    hold one. A literal of xsd:string has no suffix. The key of a triple term is its N-Triples form, escapes and all.

    >>> term_key(Literal('say "x"', language="en"))
    '"say "x""@en'
    >>> term_key(TripleTerm(Iri("a:b"), Iri("a:c"), Literal('say "x"')))
    '<<( <a:b> <a:c> "say \\\\"x\\\\"" )>>'
    """
    match term:
        case Iri(value):
            return f"<{value}>"
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical, _, str()):
            return f'"{lexical}"@{term.tag}'
        case Literal(lexical, datatype, _):
            return f'"{lexical}"' if datatype == XSD_STRING else f'"{lexical}"^^<{datatype.value}>'
        case TripleTerm(subject, predicate, object_):
            return triple_key(term_key(subject), term_key(predicate), term_key(object_))


def term_from_key(key: str) -> Term:
    """The term that has this key: `term_from_key(term_key(t)) == t`."""
    if key.startswith(TRIPLE_START):
        subject, predicate, object_ = map(term_from_key, triple_parts(key))
        assert isinstance(subject, Iri | BlankNode)
        assert isinstance(predicate, Iri)
        return TripleTerm(subject, predicate, object_)
    if key.startswith("<"):
        return Iri(key[1:-1])
    if key.startswith("_:"):
        return BlankNode(key[2:])
    end = key.rindex('"')
    lexical, suffix = key[1:end], key[end + 1 :]
    if suffix.startswith("@"):
        language, _, direction = suffix[1:].partition("--")
        return Literal(lexical, RDF_DIR_LANG_STRING if direction else RDF_LANG_STRING, language, direction or None)
    return Literal(lexical, Iri(suffix[3:-1])) if suffix else Literal(lexical)


def key_text(key: str) -> str:
    """The N-Triples form of a term by its key. What cannot stand in an IRI, and none should have, is escaped."""
    if key.startswith(TRIPLE_START):
        return key
    if key.startswith("<"):
        return f"<{_NOT_IN_IRI.sub(_iri_escape, key[1:-1])}>"
    if key.startswith("_"):
        return key
    end = key.rindex('"')
    lexical = key[1:end]
    return f'"{lexical.translate(_ESCAPES)}{key[end:]}' if _NEEDS_ESCAPES.search(lexical) else key


def triple_key(subject: str, predicate: str, object_: str) -> str:
    """The key of a triple term by the keys of its terms."""
    return f"{TRIPLE_START} {key_text(subject)} {key_text(predicate)} {key_text(object_)}{TRIPLE_END}"


def nesting(key: str) -> int:
    """How many triple terms stand within one another in a term, by its key: their ends stand in a row.

    >>> nesting('<<( <a:b> <a:c> <<( <a:b> <a:c> "<<(" )>> )>>'), nesting('"<<( )>>"')
    (2, 0)
    """
    count, end = 0, len(key)
    while key.startswith(TRIPLE_END, end - len(TRIPLE_END)):
        count, end = count + 1, end - len(TRIPLE_END)
    return count if key.startswith(TRIPLE_START) else 0


def triple_parts(key: str) -> tuple[str, str, str]:
    """The keys of the terms of a triple term by its key: `triple_key` backwards.

    >>> triple_parts('<<( <a:b> <a:c> "say \\\\"x\\\\""@en )>>')
    ('<a:b>', '<a:c>', '"say "x""@en')
    """
    at, parts = len(TRIPLE_START), []
    for _ in range(3):
        found = _PART.match(key, at)
        assert found is not None, key
        node, lexical, suffix, triple = found.groups()
        at = found.end()
        parts.append(triple or _unescaped(node or f'"{lexical}"{suffix}'))
    subject, predicate, object_ = parts
    return subject, predicate, object_


def _iri_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04X}"


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    code, letter = found.groups()
    return chr(int(code, 16)) if code else _CHARACTERS.get(letter, letter)
