"""W3C's tests of the SPARQL 1.1 Graph Store HTTP Protocol: the manifests have the requests, a real server gets them."""

from http import HTTPStatus

import pyoxigraph as ox
import pytest

from http_manifest import read_manifest
from http_server import server
from shared_data import ROOT, shared

_FOLDER = "data/w3c-sparql-tests/sparql11/graph-store-protocol"
_HOST = "www.example"
_TESTS = [
    test
    for name in ("direct", "indirect")
    for test in read_manifest(ROOT.parent / "shared" / _FOLDER / f"manifest-{name}.ttl")
]


def _triples(content: bytes) -> ox.Dataset:
    found = ox.Dataset(ox.Quad(*quad.triple) for quad in ox.parse(content, ox.RdfFormat.TURTLE, base_iri="http://m/"))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


def _status(name: str) -> int:
    return next(each.value for each in HTTPStatus if each.phrase.replace(" ", "") == name)


def test_the_manifests_are_there():
    shared(_FOLDER)
    assert len(_TESTS) == 13


@pytest.mark.parametrize("test", _TESTS, ids=lambda test: test.name)
def test_graph_store(test):
    with server(hosts=(_HOST,)) as http:
        known: dict[str, str] = {}
        for request in test.requests:
            path = request.path.replace("/gsp", "/graphs", 1)
            for variable, text in known.items():
                path = path.replace(variable, text)
            named = {name.replace("-", "_"): text for name, text in request.headers.items()}
            body = request.body and b"\r\n".join(line.strip() for line in request.body.splitlines())
            answer = http.send(request.method, path, body, Host=_HOST, **named)
            assert answer.status in map(_status, request.statuses), answer.data
            if request.content is not None and request.method == "GET":
                media, content = request.content
                assert answer.headers["content-type"] == media
                assert _triples(answer.data) == _triples(content)
            if request.location is not None:
                known[request.location] = answer.headers["location"]
