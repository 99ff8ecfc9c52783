"""The ids of a query's terms, looked up once for each dictionary."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Term

_KNOWN: WeakKeyDictionary[Dictionary, tuple[int, dict[Term, int]]] = WeakKeyDictionary()


def known_id(term: Term, dictionary: Dictionary) -> int:
    """The id of a term, or 0 where the dictionary does not have it, so that no triple can hold it."""
    known = _known_ids(dictionary)
    term_id = known.get(term)
    if term_id is None:
        term_id = dictionary.lookup(term)
        if term_id:
            known[term] = term_id
    return term_id


def constant_id(term: Term, dictionary: Dictionary) -> int:
    """The id of a term that can appear in solutions; it is entered where it is new."""
    known = _known_ids(dictionary)
    term_id = known.get(term)
    if term_id is None:
        term_id = known[term] = dictionary.encode(term)
    return term_id


def _known_ids(dictionary: Dictionary) -> dict[Term, int]:
    generation, known = _KNOWN.get(dictionary, (-1, None))
    if known is None or generation != dictionary.generation:  # a sweep may have dropped the terms
        known = {}
        _KNOWN[dictionary] = dictionary.generation, known
    return known
