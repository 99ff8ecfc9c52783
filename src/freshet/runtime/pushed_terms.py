"""Whether a term made by a caller is one of RDF: what N-Triples could not write would come out broken in reports."""

from __future__ import annotations

import re

from freshet.rdf.terms import RDF_LANG_STRING, XSD_STRING, BlankNode, Iri, Literal, Term

_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\\ud800-\udfff]').search
_NOT_IN_LABEL = re.compile(r"[^\w.:\u00b7-]|[\ud800-\udfff]").search
_SURROGATE = re.compile(r"[\ud800-\udfff]").search
_LANGUAGE = re.compile(r"[A-Za-z]+(-[A-Za-z0-9]+)*").fullmatch


def problem_of(term: Term) -> str | None:
    """What is wrong with a term; None where nothing is."""
    if type(term) is Iri:
        return _problem_of_iri(term)
    if type(term) is BlankNode:
        if not isinstance(term.label, str) or not term.label or _NOT_IN_LABEL(term.label):
            return f"{term.label!r} is no label of a blank node"
        return None
    return _problem_of_literal(term) if type(term) is Literal else f"{term!r} is no term"


def _problem_of_iri(iri: Iri) -> str | None:
    value = iri.value
    if not isinstance(value, str):
        return f"an IRI is a string, not {value!r}"
    if found := _NOT_IN_IRI(value):
        return f"the IRI {value!r} has {found[0]!r} in it"
    return None


def _problem_of_literal(literal: Literal) -> str | None:
    lexical, datatype, language = literal.lexical, literal.datatype, literal.language
    if not isinstance(lexical, str):
        return f"the lexical form of a literal is a string, not {lexical!r}"
    if not lexical.isascii() and _SURROGATE(lexical):
        return f"{lexical!r} has half of a character in it"
    if type(datatype) is not Iri:
        return f"the datatype of a literal is an Iri, not {datatype!r}"
    if language is None:
        return None if datatype is XSD_STRING else _problem_of_iri(datatype)
    if not isinstance(language, str) or not _LANGUAGE(language):
        return f"{language!r} is no language tag"
    if datatype not in (XSD_STRING, RDF_LANG_STRING):
        return f"a literal with a language has no other datatype ({datatype})"
    return None
