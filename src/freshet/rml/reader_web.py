"""What is on the Web as mappings describe it: documents by their address, things with a form, SPARQL endpoints."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from freshet.rml.mapping_graph import MappingGraph, Value
from freshet.rml.sources import Formulation, WebPlace

SCHEMES = ("http://", "https://")
_RESULTS = {Formulation.XML: "application/sparql-results+xml"}
_JSON_RESULTS = "application/sparql-results+json"


def place_of(address: str) -> WebPlace | None:
    """The document at an address; None where that is none of the Web."""
    return WebPlace(address) if address.startswith(SCHEMES) else None


def thing_of(graph: MappingGraph, source: Value) -> WebPlace | None:
    """The document of a thing whose first form is one of HTTP."""
    for affordance in graph.get(source, "td:hasPropertyAffordance"):
        for form in graph.get(affordance, "td:hasForm"):
            if (address := graph.text(form, "hctl:hasTarget")) and address.startswith(SCHEMES):
                return _form(graph, form, address)
    return None


def _form(graph: MappingGraph, form: Value, address: str) -> WebPlace:
    method = graph.text(form, "htv:methodName") or "GET"
    if method != "GET":
        raise graph.refusal(f"a form with the method {method}")
    fields = [field for each in graph.get(form, "htv:headers") for field in _members(graph, each)]
    headers = [
        (graph.single(each, "htv:fieldName").value, graph.single(each, "htv:fieldValue").value) for each in fields
    ]
    accept = graph.text(form, "hctl:forContentType") or "*/*"
    named = [value for name, value in headers if name.lower() == "accept"]
    rest = tuple((name, value) for name, value in headers if name.lower() != "accept")
    return WebPlace(address, named[-1] if named else accept, rest)


def _members(graph: MappingGraph, node: Value) -> list[Value]:
    is_list = graph.get(node, "rdf:first") or node.value.endswith("rdf-syntax-ns#nil")
    return graph.list_at(node) if is_list else [node]


def endpoint_of(graph: MappingGraph, node: Value, source: Value, formulation: Formulation) -> WebPlace | None:
    """What an endpoint answers to the query of a logical source; None where the source is no endpoint."""
    endpoint = graph.optional(source, "sd:endpoint")
    if endpoint is None:
        return None
    query = graph.text(node, "query")
    if query is None and formulation not in (Formulation.JSON, Formulation.XML):
        query = graph.text(node, "iterator")
    if not query:
        raise graph.wrong("has a SPARQL endpoint as its source, and no query")
    if not endpoint.value.startswith(SCHEMES):
        raise graph.wrong(f"has an endpoint that is no http address: {endpoint.value}")
    return WebPlace(endpoint.value, _RESULTS.get(formulation, _JSON_RESULTS), (), query)


def file_name(place: WebPlace) -> Path:
    """The name of the document, which says of some what is in them."""
    if place.query is not None:
        return Path("results.srx" if place.accept.endswith("xml") else "results.srj")
    name = unquote(urlsplit(place.url).path).rpartition("/")[2].replace("\0", "")
    return Path(name if name not in ("", ".", "..") else "document")
