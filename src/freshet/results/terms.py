"""Solutions as dictionaries of terms."""

from __future__ import annotations

from collections.abc import Iterator

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Term
from freshet.results.report import Answer, BooleanAnswer, Report, Solutions


def bindings(answer: Answer | Report) -> Iterator[dict[str, Term]]:
    """The terms of each solution by variable; unbound variables are left out."""
    return _decoded(shown_rows(answer), dictionary_of(answer))


def _decoded(shown: Solutions, dictionary: Dictionary) -> Iterator[dict[str, Term]]:
    for row in shown.rows:
        terms = dictionary.decode_many(row)
        yield {name: term for name, term in zip(shown.variables, terms, strict=True) if term is not None}


def shown_rows(answer: Answer | Report) -> Solutions:
    """The rows of an answer; the triples, where it is a graph."""
    if isinstance(answer, BooleanAnswer):
        raise InputError("the answer to ASK has no bindings")
    return answer if isinstance(answer, Solutions) else answer.shown


def dictionary_of(answer: Answer | Report) -> Dictionary:
    """The dictionary that has the answer's terms."""
    dictionary = None if isinstance(answer, BooleanAnswer) else answer.dictionary
    if dictionary is None:
        raise InputError("the answer comes without the dictionary that has its terms")
    return dictionary
