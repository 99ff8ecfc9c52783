"""W3C's tests of the SPARQL 1.1 Protocol: the manifest has the requests, a real server gets them."""

import json

import pytest

from freshet import Session
from http_manifest import read_manifest
from http_server import server
from shared_data import ROOT, shared

_FOLDER = "data/w3c-sparql-tests/sparql11/protocol"
_TABULAR = ("application/sparql-results", "text/csv", "text/tab-separated-values")
_GRAPH = ("application/rdf+xml", "text/turtle", "application/n-triples")
_TESTS = read_manifest(ROOT.parent / "shared" / _FOLDER / "manifest.ttl")


def test_the_manifest_is_there():
    shared(_FOLDER)
    assert len(_TESTS) == 34


@pytest.mark.parametrize("test", _TESTS, ids=lambda test: test.name)
def test_protocol(test):
    session = Session()
    for file, graph in test.graphs:
        session.load(shared(f"{_FOLDER}/{file}"), graph=graph)
    with server(session) as http:
        for request in test.requests:
            named = {name.replace("-", "_"): text for name, text in request.headers.items()}
            answer = http.send(request.method, request.path, request.body, **named)
            assert f"StatusCode{answer.status // 100}xx" in request.statuses, answer.data
            kinds = {"tabular": _TABULAR, "boolean": ("application/sparql-results",), "RDF": _GRAPH}
            if request.format:
                assert answer.headers["content-type"].startswith(kinds[request.format])
            if request.boolean is not None:
                assert json.loads(answer.data)["boolean"] is request.boolean
