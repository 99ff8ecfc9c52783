"""W3C's manifests of HTTP requests and what they are to be answered with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyoxigraph as ox

_MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_HT = "http://www.w3.org/2011/http#"
_CNT = "http://www.w3.org/2011/content#"
_UT = "http://www.w3.org/2009/sparql/tests/test-update#"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_NIL = ox.NamedNode(f"{_RDF}nil")


@dataclass
class Sent:
    """A request; `statuses`, `format`, `boolean`, `content` and `location` are what it is to be answered with."""

    method: str
    path: str
    body: bytes | None
    headers: dict[str, str]
    statuses: set[str]
    format: str | None
    boolean: bool | None
    content: tuple[str, bytes] | None  # Content-Type and body
    location: str | None  # what later requests call the value of that header


@dataclass
class HttpTest:
    name: str
    graphs: list[tuple[str, str]]  # file, name of the graph
    requests: list[Sent] = field(default_factory=list)


def read_manifest(file: Path) -> list[HttpTest]:
    """The tests of a manifest; none where it is not there."""
    if not file.exists():
        return []
    store = ox.Store()
    store.load(path=str(file), format=ox.RdfFormat.TURTLE, base_iri="http://m/")

    def value(subject, predicate):
        return next((quad.object for quad in store.quads_for_pattern(subject, ox.NamedNode(predicate), None)), None)

    def items(head):
        while head != _NIL:
            yield value(head, f"{_RDF}first")
            head = value(head, f"{_RDF}rest")

    def headers_of(message) -> dict[str, str]:
        listed = items(value(message, f"{_HT}headers") or _NIL)
        return {value(each, f"{_HT}fieldName").value: value(each, f"{_HT}fieldValue").value for each in listed}

    def body_of(message) -> bytes | None:
        body = value(message, f"{_HT}body")
        if body is None:
            return None
        return value(body, f"{_CNT}chars").value.encode(value(body, f"{_CNT}characterEncoding").value)

    def sent(request) -> Sent:
        response = value(request, f"{_HT}resp")
        statuses = store.quads_for_pattern(response, ox.NamedNode(f"{_MF}expectedStatus"), None)
        form, boolean = value(response, f"{_MF}expectedFormat"), value(response, f"{_MF}expectedBoolean")
        content, location = body_of(response), value(response, f"{_MF}expectedLocation")
        return Sent(
            value(request, f"{_HT}methodName").value,
            value(request, f"{_HT}absolutePath").value,
            body_of(request),
            headers_of(request),
            {quad.object.value.partition("#")[2] for quad in statuses},
            form and form.value,
            None if boolean is None else boolean.value == "true",
            None if content is None else (headers_of(response)["content-type"], content),
            location and location.value,
        )

    found = []
    for entry in items(value(ox.NamedNode("http://m/"), f"{_MF}entries")):
        graphs = [
            (value(quad.object, f"{_UT}graph").value.removeprefix("http://m/"), value(quad.object, _LABEL).value)
            for quad in store.quads_for_pattern(entry, ox.NamedNode(f"{_UT}graphData"), None)
        ]
        action = value(entry, f"{_MF}action")
        requests = [sent(each) for each in items(value(action, f"{_HT}requests"))]
        found.append(HttpTest(entry.value.partition("#")[2], graphs, requests))
    return found
