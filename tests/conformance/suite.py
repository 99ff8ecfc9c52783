"""Which of the W3C's tests are run, and which are not."""

from __future__ import annotations

from collections import Counter

from conformance.known_failures import known_failures
from conformance.manifests import W3cTest, read_tests
from shared_data import ROOT

SUITE = "data/w3c-sparql-tests"
MANIFESTS = ("sparql10/manifest.ttl", "sparql11/manifest-all.ttl", "sparql12/manifest.ttl")

KNOWN_FAILURES = known_failures("sparql")

_NOT_QUERIES = {
    "ProtocolTest": "Protocol",
    "GraphStoreProtocolTest": "Graph Store Protocol",
    "ServiceDescriptionTest": "Service Description",
}


def _all_tests() -> list[W3cTest]:
    """Every test of the suite; none where the suite is not there."""
    root = ROOT.parent / "shared" / SUITE
    return [test for manifest in MANIFESTS if root.exists() for test in read_tests(root / manifest, root)]


def _out_of_scope(test: W3cTest) -> str | None:
    """Why a test is not run, or None."""
    return "entailment regimes" if test.entailment else _NOT_QUERIES.get(test.kind)


_ALL = [(test, _out_of_scope(test)) for test in _all_tests()]
TESTS = [test for test, reason in _ALL if reason is None]
OUT_OF_SCOPE = Counter(reason for _, reason in _ALL if reason is not None)
