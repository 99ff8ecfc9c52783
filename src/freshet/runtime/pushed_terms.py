"""Whether a term made by a caller is one of RDF: what N-Triples could not write would come out broken in reports."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import FURTHEST_MS, Elements
from freshet.rdf.terms import (
    DIRECTIONS,
    MOST_NESTED,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    TOO_NESTED,
    XSD_STRING,
    BlankNode,
    Iri,
    Literal,
    Term,
    TripleTerm,
)

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
    if type(term) is TripleTerm:
        return _problem_of_triple_term(term)
    return _problem_of_literal(term) if type(term) is Literal else f"{term!r} is no term"


def _problem_of_triple_term(term: TripleTerm) -> str | None:
    outer: Term = term
    for _ in range(MOST_NESTED):
        if type(outer) is not TripleTerm:
            return problem_of(outer)
        if type(outer.subject) not in (Iri, BlankNode) or type(outer.predicate) is not Iri:
            return f"the subject of a triple term is an Iri or a BlankNode, its predicate an Iri, not {outer!r:.200}"
        if problem := problem_of(outer.subject) or problem_of(outer.predicate):
            return problem
        outer = outer.object
    return TOO_NESTED


def _problem_of_iri(iri: Iri) -> str | None:
    value = iri.value
    if not isinstance(value, str):
        return f"an IRI is a string, not {value!r}"
    if found := _NOT_IN_IRI(value):
        return f"the IRI {value!r} has {found[0]!r} in it"
    return None


def _problem_of_literal(literal: Literal) -> str | None:
    lexical, datatype, language = literal.lexical, literal.datatype, literal.language
    direction = literal.direction
    if not isinstance(lexical, str):
        return f"the lexical form of a literal is a string, not {lexical!r}"
    if not lexical.isascii() and _SURROGATE(lexical):
        return f"{lexical!r} has half of a character in it"
    if type(datatype) is not Iri:
        return f"the datatype of a literal is an Iri, not {datatype!r}"
    if direction is not None and (direction not in DIRECTIONS or language is None):
        return f"a base direction is ltr or rtl, beside a language, not {direction!r}"
    if language is None:
        return None if datatype is XSD_STRING else _problem_of_iri(datatype)
    if not isinstance(language, str) or not _LANGUAGE(language):
        return f"{language!r} is no language tag"
    if datatype not in (XSD_STRING, RDF_LANG_STRING if direction is None else RDF_DIR_LANG_STRING):
        return f"a literal with a language has no other datatype ({datatype})"
    return None


_MOST_KNOWN = 1 << 14
_LONGEST_KNOWN = 256  # characters: longer texts are rarely the same, and take memory

_Iris = dict[str, int]
_Literals = dict[tuple[str, str], int]


class KnownTerms:
    """Ids of terms that callers have pushed one by one, by their texts: what is known need not be checked again.

    Callers hold a pin. What is known is of one generation of the dictionary.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._known: tuple[int, _Iris, _Literals] = (-1, {}, {})

    def element(self, element: tuple[Any, ...]) -> Elements | None:
        """One element (time_ms, subject, predicate, object); None where it needs a closer look, as blank nodes do."""
        generation, iris, literals = self._known
        if generation != self._dictionary.generation or len(iris) > _MOST_KNOWN or len(literals) > _MOST_KNOWN:
            self._known = generation, iris, literals = self._dictionary.generation, {}, {}
        if len(element) != 4:
            return None
        time_ms, subject, predicate, object_ = element
        if type(time_ms) is not int or not -FURTHEST_MS <= time_ms <= FURTHEST_MS:
            return None
        if type(subject) is not Iri or type(predicate) is not Iri:
            return None
        try:
            subject_id = iris.get(subject.value) or self._enter_iri(subject, iris)
            predicate_id = iris.get(predicate.value) or self._enter_iri(predicate, iris)
            if type(object_) is Iri:
                object_id = iris.get(object_.value) or self._enter_iri(object_, iris)
            elif type(object_) is Literal and object_.language is None and type(object_.datatype) is Iri:
                key = object_.lexical, object_.datatype.value
                object_id = literals.get(key) or self._enter_literal(object_, key, literals)
            else:
                return None
        except TypeError:  # a text that is none cannot be looked up
            return None
        if not (subject_id and predicate_id and object_id):
            return None
        row = np.empty((4, 1), np.int64)
        numbers = row.data  # single numbers are written through it in half the time
        numbers[0, 0], numbers[1, 0], numbers[2, 0], numbers[3, 0] = time_ms, subject_id, predicate_id, object_id
        return Elements(*row)

    def _enter_iri(self, iri: Iri, iris: _Iris) -> int:
        """The id of an IRI, which is known from now on; 0 where something is wrong with it."""
        if _problem_of_iri(iri):
            return 0
        found = self._dictionary.enter_key(f"<{iri.value}>")
        if len(iri.value) <= _LONGEST_KNOWN:
            iris[iri.value] = found
        return found

    def _enter_literal(self, literal: Literal, key: tuple[str, str], literals: _Literals) -> int:
        if _problem_of_literal(literal):
            return 0
        found = self._dictionary.enter(literal)
        if len(literal.lexical) <= _LONGEST_KNOWN:
            literals[key] = found
        return found
