"""The prologue and terms: IRIs, prefixed names, literals, variables."""

from __future__ import annotations

import re
from collections.abc import Callable

from freshet.algebra.expressions import Variable
from freshet.rdf.deadline import current
from freshet.rdf.terms import (
    RDF,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    RDF_TYPE,
    XSD,
    BlankNode,
    Iri,
    Literal,
    Term,
    TripleTerm,
)
from freshet.syntax.iris import resolve
from freshet.syntax.source import Source, codepoint
from freshet.syntax.tree import Child, Token, Tree, make_token, offset, tokens, trees

RDF_FIRST, RDF_REST, RDF_NIL = Iri(RDF + "first"), Iri(RDF + "rest"), Iri(RDF + "nil")

_LARGEST = 2**63 - 1
_STRING_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_IRI_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_LOCAL_ESCAPE = re.compile(r"\\(.)")
_ESCAPES_AT_ONCE = (1 << 14) - 1  # between two looks at the deadline
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_DATATYPES = {
    "INTEGER": Iri(XSD + "integer"),
    "DECIMAL": Iri(XSD + "decimal"),
    "DOUBLE": Iri(XSD + "double"),
    "TRUE": Iri(XSD + "boolean"),
    "FALSE": Iri(XSD + "boolean"),
}


def _bad_escape(escape: str) -> str:
    if escape in ("\\u", "\\U"):
        return f"{escape} needs {'four' if escape.islower() else 'eight'} hexadecimal digits"
    return f"{escape} is no character" if len(escape) > 2 else f"{escape} is no escape that a string can have"


def unescape(escape: re.Pattern[str], character: Callable[[re.Match[str]], str], text: str) -> str:
    """The text with its escapes replaced: there may be millions of them."""
    deadline, count = current(), 0

    def checked(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        if not count & _ESCAPES_AT_ONCE:
            deadline.check()
        return character(match)

    return escape.sub(checked, text)


def tagged_literal(lexical: str, tag: str) -> Literal:
    """A literal with a language, and perhaps a base direction.

    >>> tagged_literal("a", "ar-EG--rtl").tag
    'ar-eg--rtl'
    """
    language, _, direction = tag.lower().partition("--")
    return Literal(lexical, RDF_DIR_LANG_STRING if direction else RDF_LANG_STRING, language, direction or None)


def _escaped(match: re.Match[str]) -> str:
    return match[1]


class TermTransformer:
    """Reads terms; knows the base and the prefixes that the prologue has declared."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.base: str | None = None
        self.prefixes: dict[str, str] = {}

    def prologue(self, branch: Tree) -> None:
        """Take over BASE and PREFIX declarations, in order: each sees those before it."""
        for declaration in trees(branch):
            if declaration.data == "base":
                self.base = self.iri(tokens(declaration)[0]).value
            elif declaration.data == "version":
                self._check_version(tokens(declaration)[0])
            else:
                name, namespace = tokens(declaration)
                if name.index(":") != len(name) - 1:
                    raise self.source.error(f"expected a prefix such as ex:, but found '{name}'", offset(name))
                self.prefixes[name[:-1]] = self.iri(namespace).value

    def _check_version(self, token: Token) -> None:
        """Whichever version is announced, all of SPARQL 1.2 is read."""
        if token[:3] in ('"""', "'''"):
            raise self.source.error('a version is written as "1.2"', offset(token))

    def iri(self, token: Token) -> Iri:
        """`<...>`, a prefixed name, or `a`. A relative IRI without a base stays as it is written."""
        if token.type == "IRIREF":
            value = self._iri_characters(token)
            return Iri(value if self.base is None else resolve(self.base, value))
        if token.type == "A":
            return RDF_TYPE
        prefix, _, local = token.partition(":")
        namespace = self.prefixes.get(prefix)
        if namespace is None:
            hint = f"add PREFIX {prefix}: <...> before the query"
            raise self.source.error(f"the prefix {prefix}: is not declared", offset(token), hint)
        return Iri(namespace + (unescape(_LOCAL_ESCAPE, _escaped, local) if "\\" in local else local))

    def variable(self, token: Token) -> Variable:
        """`?name` or `$name`, which is the same."""
        return Variable(token[1:])

    def variable_or_iri(self, token: Token) -> Variable | Iri:
        """What GRAPH, SERVICE, WINDOW and DESCRIBE take."""
        return self.variable(token) if token.type == "VAR" else self.iri(token)

    def literal(self, child: Child) -> Literal:
        """A string with its language or datatype, a number or a boolean."""
        if isinstance(child, Tree):
            string, suffix = tokens(child)
            if suffix.type == "LANGTAG":
                return tagged_literal(self.string(string), suffix[1:])
            return Literal(self.string(string), self.iri(suffix))
        if child.type == "STRING":
            return Literal(self.string(child))
        lexical = child.lower() if child.type in ("TRUE", "FALSE") else str(child)
        return Literal(lexical, _DATATYPES[child.type.removeprefix("SIGNED_")])

    def integer(self, token: Token) -> int:
        """A whole number that counts something."""
        if len(token) > len(str(_LARGEST)) + 100 or int(token) > _LARGEST:
            raise self.source.error("this number is too large", offset(token))
        return int(token)

    def constant(self, child: Child) -> Iri | Literal | TripleTerm:
        """A term of VALUES or of an expression."""
        if isinstance(child, Tree) and child.data == "triple_term":
            subject, verb, object_ = child.children
            assert isinstance(subject, Token)
            assert isinstance(verb, Token)
            return TripleTerm(self.iri(subject), self.iri(verb), self.constant(object_))
        if isinstance(child, Token) and child.type in ("IRIREF", "PNAME", "A"):
            return self.iri(child)
        return self.literal(child)

    def cell(self, text: str, start: int) -> Term | None:
        """A value of VALUES, or a term of data, as it is written; None for UNDEF."""
        if text == "a":
            return RDF_TYPE
        match text[0]:
            case "_":
                return BlankNode(text[2:])
            case "<":
                return self.iri(make_token("IRIREF", text, start))
            case '"':
                end = text.rindex('"') + 1  # what follows has none
                string = make_token("STRING", text[:end], start)
                if end == len(text):
                    return Literal(self.string(string))
                if text[end] == "@":
                    return tagged_literal(self.string(string), text[end + 1 :])
                kind = "IRIREF" if text[end + 2] == "<" else "PNAME"
                return Literal(self.string(string), self.iri(make_token(kind, text[end + 2 :], start + end + 2)))
            case first if first in "+-.0123456789":
                kind = "DOUBLE" if "e" in text or "E" in text else "DECIMAL" if "." in text else "INTEGER"
                return Literal(text, _DATATYPES[kind])
        if text.upper() in ("TRUE", "FALSE"):
            return Literal(text.lower(), _DATATYPES["TRUE"])
        return None if text.upper() == "UNDEF" else self.iri(make_token("PNAME", text, start))

    def string(self, token: Token) -> str:
        """The characters of a quoted string."""
        width = 3 if token[:3] in ('"""', "'''") else 1

        def character(match: re.Match[str]) -> str:
            digits = match[1] or match[2]
            found = codepoint(digits) if digits else _CHARACTERS.get(match[3])
            if found is None:
                raise self.source.error(_bad_escape(match[0]), offset(token) + width + match.start())
            return found

        return unescape(_STRING_ESCAPE, character, token[width:-width]) if "\\" in token else token[width:-width]

    def _iri_characters(self, token: Token) -> str:
        def character(match: re.Match[str]) -> str:
            found = codepoint(match[1] or match[2])
            if found is None or _NOT_IN_IRI.match(found):
                raise self.source.error(f"{match[0]} cannot stand in an IRI", offset(token) + 1 + match.start())
            return found

        return unescape(_IRI_ESCAPE, character, token[1:-1]) if "\\" in token else token[1:-1]
