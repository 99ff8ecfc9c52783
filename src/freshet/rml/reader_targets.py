"""Logical targets as mappings describe them: files with a format, an encoding and a compression, and endpoints."""

from __future__ import annotations

from freshet.rml.mapping_graph import MappingGraph, Value
from freshet.rml.model import Target
from freshet.rml.reader_sources import compression_of, file_path
from freshet.rml.reader_web import SCHEMES
from freshet.rml.sources import Compression
from freshet.rml.vocabulary import short

_FORMATS = {
    "N-Quads": "nq",
    "N-Triples": "nt",
    "Turtle": "ttl",
    "TriG": "trig",
    "N3": "n3",
    "JSON-LD": "jsonld",
    "RDF_XML": "rdfxml",
    "RDF_JSON": "rdfjson",
}
_IN_LOGICAL_TARGET = {"target", "serialization", "compression", "encoding", "ldes"}


def read_target(graph: MappingGraph, node: Value) -> Target:
    """The logical target that a node of the mapping describes."""
    graph.check_properties(node, _IN_LOGICAL_TARGET)
    target = graph.single(node, "target")
    serialization = graph.optional(node, "serialization")
    format_name = "N-Quads" if serialization is None else short(serialization.value).removeprefix("formats:")
    if format_name not in _FORMATS:
        raise graph.refusal(f"the serialization {format_name} of a target")
    if (endpoint := graph.optional(target, "sd:endpoint")) is not None:
        if not endpoint.value.startswith(SCHEMES):
            raise graph.wrong(f"has an endpoint that is no http address: {endpoint.value}")
        return Target(endpoint.value, "nq", endpoint=True)
    if (topic := _topic(graph, target)) is not None:
        if _FORMATS[format_name] not in ("nq", "nt"):
            raise graph.refusal(f"the serialization {format_name} of statements that are messages")
        return Target(topic, "nq", endpoint=True)
    compression = graph.get(node, "compression") + graph.get(target, "compression")
    encoding = graph.get(node, "encoding") + graph.get(target, "encoding")
    return Target(
        str(_path(graph, target)),
        _FORMATS[format_name],
        (compression_of(graph, compression[0]) if compression else Compression.NONE).value,
        short(encoding[0].value) if encoding else "UTF-8",
    )


def _topic(graph: MappingGraph, target: Value) -> str | None:
    """The Kafka topic of a thing whose first form is one of Kafka."""
    for affordance in (*graph.get(target, "td:hasPropertyAffordance"), *graph.get(target, "td:hasActionAffordance")):
        for form in graph.get(affordance, "td:hasForm"):
            if (address := graph.text(form, "hctl:hasTarget")) and address.startswith("kafka://"):
                return address
    return None


def _path(graph: MappingGraph, target: Value) -> str:
    path = graph.optional(target, "path")
    if path is not None:
        return str(file_path(graph, path.value, graph.optional(target, "root")))
    place = graph.optional(target, "void:dataDump", "dcat:downloadURL", "dcat:accessURL")
    if place is None:
        kinds = ", ".join(sorted(graph.types(target))) or "without a type"
        raise graph.refusal(f"a target that is no file and no endpoint ({kinds})")
    return str(file_path(graph, place.value, None))
