"""W3C's tests of the SPARQL 1.1 Protocol: the manifest has the requests, a real server gets them.

Update is refused by name (501) until the stored graph can change; requests that are wrong in another way are 4xx.
"""

import json
from dataclasses import dataclass, field

import pyoxigraph as ox
import pytest

from freshet import Session
from http_server import server
from shared_data import ROOT, shared

_FOLDER = "data/w3c-sparql-tests/sparql11/protocol"
_MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_HT = "http://www.w3.org/2011/http#"
_CNT = "http://www.w3.org/2011/content#"
_UT = "http://www.w3.org/2009/sparql/tests/test-update#"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_TABULAR = ("application/sparql-results", "text/csv", "text/tab-separated-values")
_GRAPH = ("application/rdf+xml", "text/turtle", "application/n-triples")
_NEED_UPDATE = {"bad_update_syntax", "bad_update_dataset_conflict"}  # what is wrong is seen by reading the update


@dataclass
class Sent:
    method: str
    path: str
    body: bytes | None
    headers: dict[str, str]
    statuses: set[str]
    format: str | None
    boolean: bool | None


@dataclass
class ProtocolTest:
    name: str
    graphs: list[tuple[str, str]]  # file, name of the graph
    requests: list[Sent] = field(default_factory=list)


def _tests() -> list[ProtocolTest]:
    file = ROOT.parent / "shared" / _FOLDER / "manifest.ttl"
    if not file.exists():
        return []
    store = ox.Store()
    store.load(path=str(file), format=ox.RdfFormat.TURTLE, base_iri="http://m/")

    def value(subject, predicate):
        return next((quad.object for quad in store.quads_for_pattern(subject, ox.NamedNode(predicate), None)), None)

    def items(head):
        while head != ox.NamedNode(f"{_RDF}nil"):
            yield value(head, f"{_RDF}first")
            head = value(head, f"{_RDF}rest")

    def sent(request) -> Sent:
        body, response = value(request, f"{_HT}body"), value(request, f"{_HT}resp")
        headers = {}
        for each in items(value(request, f"{_HT}headers") or ox.NamedNode(f"{_RDF}nil")):
            headers[value(each, f"{_HT}fieldName").value] = value(each, f"{_HT}fieldValue").value
        text = None
        if body is not None:
            text = value(body, f"{_CNT}chars").value.encode(value(body, f"{_CNT}characterEncoding").value)
        statuses = store.quads_for_pattern(response, ox.NamedNode(f"{_MF}expectedStatus"), None)
        form, boolean = value(response, f"{_MF}expectedFormat"), value(response, f"{_MF}expectedBoolean")
        return Sent(
            value(request, f"{_HT}methodName").value,
            value(request, f"{_HT}absolutePath").value,
            text,
            headers,
            {quad.object.value[-3:] for quad in statuses},
            form and form.value,
            None if boolean is None else boolean.value == "true",
        )

    found = []
    for entry in items(value(ox.NamedNode("http://m/"), f"{_MF}entries")):
        graphs = [
            (value(quad.object, f"{_UT}graph").value.removeprefix("http://m/"), value(quad.object, _LABEL).value)
            for quad in store.quads_for_pattern(entry, ox.NamedNode(f"{_UT}graphData"), None)
        ]
        action = value(entry, f"{_MF}action")
        requests = [sent(each) for each in items(value(action, f"{_HT}requests"))]
        found.append(ProtocolTest(entry.value.partition("#")[2], graphs, requests))
    return found


def _is_update(request: Sent) -> bool:
    return b"update=" in (request.body or b"") or "sparql-update" in request.headers.get("content-type", "")


def test_the_manifest_is_there():
    shared(_FOLDER)
    assert len(_tests()) == 34


@pytest.mark.parametrize("test", _tests(), ids=lambda test: test.name)
def test_protocol(test):
    session = Session()
    for file, graph in test.graphs:
        session.load(shared(f"{_FOLDER}/{file}"), graph=graph)
    with server(session) as http:
        for request in test.requests:
            named = {name.replace("-", "_"): text for name, text in request.headers.items()}
            answer = http.send(request.method, request.path, request.body, **named)
            if _is_update(request) and (request.statuses == {"2xx", "3xx"} or test.name in _NEED_UPDATE):
                assert answer.status == 501
                assert "Update" in json.loads(answer.data)["detail"]
                return  # what follows asks for its effect
            assert f"{answer.status // 100}xx" in request.statuses, answer.data
            kinds = {"tabular": _TABULAR, "boolean": ("application/sparql-results",), "RDF": _GRAPH}
            if request.format:
                assert answer.headers["content-type"].startswith(kinds[request.format])
            if request.boolean is not None:
                assert json.loads(answer.data)["boolean"] is request.boolean
