"""Terms that are known by their texts have the ids that a closer look gives, also after terms were dropped."""

from __future__ import annotations

import numpy as np
import pytest

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import RDF_LANG_STRING, XSD, BlankNode, Iri, Literal
from freshet.runtime.pushed_terms import KnownTerms
from freshet.runtime.pushing import Pushing

A, P = Iri("http://e/a"), Iri("http://e/p")
OBJECTS = [A, Literal("x"), Literal("7", Iri(XSD + "integer")), Literal("7", Iri(XSD + "decimal")), Literal("07")]


def test_known_terms_have_the_ids_of_a_closer_look():
    dictionary = Dictionary()
    known, pushing = KnownTerms(dictionary), Pushing(dictionary, "s0", "pushed data")
    for _ in range(2):
        for time_ms, object_ in enumerate(OBJECTS):
            found = known.element((time_ms, A, P, object_))
            assert found is not None
            assert [column.tolist() for column in found] == [
                column.tolist() for column in pushing.elements((time_ms, A, P, object_), None).elements
            ]
            assert all(column.flags.carray and column.dtype == np.int64 for column in found)


@pytest.mark.parametrize(
    "element",
    [
        (1, A, P),
        (True, A, P, A),
        (2**62, A, P, A),
        ("1", A, P, A),
        (1, Iri("no iri"), P, A),
        (1, Iri([]), P, A),
        (1, A, Literal("p"), A),
        (1, A, P, Literal(5)),
        (1, A, P, Literal("x", "http://e/t")),
        (1, A, P, Literal("x", RDF_LANG_STRING, "de")),
        (1, BlankNode("b"), P, A),
        (1, A, P, BlankNode("b")),
    ],
)
def test_what_needs_a_closer_look_is_left(element):
    dictionary = Dictionary()
    assert KnownTerms(dictionary).element(element) is None


def test_what_was_known_before_a_sweep_is_entered_again():
    dictionary = Dictionary()
    known = KnownTerms(dictionary)
    before = known.element((1, A, P, Literal("x")))
    dictionary.sweep([])
    assert len(dictionary) == 0
    after = known.element((1, A, P, Literal("x")))
    assert before is not None
    assert after is not None
    assert [dictionary.decode(column.item()) for column in after[1:]] == [A, P, Literal("x")]


def test_long_texts_are_not_kept():
    dictionary = Dictionary()
    known, long = KnownTerms(dictionary), "x" * 10_000
    found = known.element((1, Iri(f"http://e/{long}"), P, Literal(long)))
    assert found is not None
    assert [str(term) for term in dictionary.decode_many(found.objects)] == [str(Literal(long))]
    assert all(long not in str(key) for texts in known._known[1:] for key in texts)
