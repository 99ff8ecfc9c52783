"""The W3C's syntax tests for SPARQL 1.0 and 1.1 Query; and the queries of its evaluation tests, which must parse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pyoxigraph
import pytest

from freshet.rdf.errors import QuerySyntaxError
from freshet.syntax.parser import parse_query
from shared_data import shared

MANIFEST = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QUERY = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
RDF_TYPE = pyoxigraph.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")

POSITIVE = {"PositiveSyntaxTest", "PositiveSyntaxTest11"}
NEGATIVE = {"NegativeSyntaxTest", "NegativeSyntaxTest11"}
EVALUATION = {"QueryEvaluationTest", "CSVResultFormatTest"}

SUITES = {
    # suite: (positive syntax tests, negative syntax tests, evaluation tests)
    "sparql10": (149, 50, 284),
    "sparql11": (66, 40, 312),
}

KNOWN_FAILURES: dict[str, str] = {}
"""Tests that do not pass, by path, each with its reason. One that passes after all is an error."""


class W3cTest(NamedTuple):
    """One test: its type and the file of its query."""

    kind: str
    path: Path


def w3c_tests(suite: Path) -> Iterator[W3cTest]:
    """The tests of all manifests below a directory; SPARQL Update's are left out."""
    for manifest in sorted(suite.rglob("manifest.ttl")):
        store = pyoxigraph.Store()
        store.load(path=str(manifest), format=pyoxigraph.RdfFormat.TURTLE, base_iri=manifest.as_uri())
        for quad in store.quads_for_pattern(None, RDF_TYPE, None):
            kind = quad.object.value.rpartition("#")[2]
            if kind not in POSITIVE | NEGATIVE | EVALUATION:
                continue
            action = _object(store, quad.subject, MANIFEST + "action")
            query = action if isinstance(action, pyoxigraph.NamedNode) else _object(store, action, QUERY + "query")
            path = Path(unquote(urlsplit(query.value).path))
            if path.suffix != ".ru":
                yield W3cTest(kind, path)


def _object(store, subject, predicate):
    [quad] = store.quads_for_pattern(subject, pyoxigraph.NamedNode(predicate), None)
    return quad.object


def passes(test: W3cTest) -> bool:
    try:
        parse_query(test.path.read_bytes().decode())
    except QuerySyntaxError:
        return test.kind in NEGATIVE
    return test.kind not in NEGATIVE


@pytest.mark.parametrize("suite", SUITES)
def test_suite(suite):
    root = shared("data/w3c-sparql-tests")
    tests = list(w3c_tests(root / suite))
    counts = tuple(sum(test.kind in kinds for test in tests) for kinds in (POSITIVE, NEGATIVE, EVALUATION))
    failures = {test.path.relative_to(root).as_posix() for test in tests if not passes(test)}
    assert failures == {path for path in KNOWN_FAILURES if path.startswith(suite)}
    assert counts == SUITES[suite]
