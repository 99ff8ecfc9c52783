"""The W3C's tests of N-Triples and N-Quads: every file goes through the scanner, as `read_rdf` uses it."""

from __future__ import annotations

from collections import Counter

import pyoxigraph
import pytest

from conformance.manifests import W3cTest, read_tests
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.reading import read_rdf
from shared_data import ROOT, shared
from statements import Keys, oxigraph_keys

SUITE = "data/w3c-rdf-tests"
FORMATS = {"rdf-n-triples": pyoxigraph.RdfFormat.N_TRIPLES, "rdf-n-quads": pyoxigraph.RdfFormat.N_QUADS}
COUNTS = {
    "TestNTriplesPositiveSyntax": 41,
    "TestNTriplesNegativeSyntax": 29,
    "TestNQuadsPositiveSyntax": 53,
    "TestNQuadsNegativeSyntax": 34,
}


def all_tests() -> list[W3cTest]:
    root = ROOT.parent / "shared" / SUITE
    return [test for folder in FORMATS if root.exists() for test in read_tests(root / folder / "manifest.ttl", root)]


TESTS = all_tests()


def read(test: W3cTest) -> list[Keys]:
    """The keys of the statements that `read_rdf` finds."""
    dictionary = Dictionary()
    columns = read_rdf(test.query, dictionary, blank_scope="f")
    return list(zip(*(dictionary.keys(column).to_pylist() for column in columns), strict=True))


@pytest.mark.parametrize("test", [pytest.param(test, id=test.name) for test in TESTS])
def test_w3c_rdf(test: W3cTest) -> None:
    if "Negative" in test.kind:
        with pytest.raises(InputError) as caught:
            read(test)
        assert caught.value.file == str(test.query)
        assert caught.value.line is not None
        assert caught.value.column is not None
    else:
        expected = oxigraph_keys(test.query.read_bytes(), FORMATS[test.name.split("/")[0]], "f")
        assert expected is not None
        assert read(test) == expected


def test_the_suite_is_complete() -> None:
    shared(SUITE)
    assert Counter(test.kind for test in TESTS) == COUNTS
