"""CityBench's published queries, and the part of its city that each is answered over: recorded streams and graphs.

The graphs are cut to a few services and events, which the reference loads anew at every evaluation, and their blank
nodes are named, so that reports of many of them can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pyoxigraph as ox

from freshet.algebra.nodes import Query
from freshet.syntax.parser import parse_query
from freshet_benchmarks.citybench import CITY, RDF_TYPE, SAO, SERVICES, SSN, CityBench, Excerpt
from shared_data import ROOT

FOLDER = ROOT.parent / "shared/data/citybench"
DIALECTS = {
    "cqels_query": "cqels",
    "csparql_query": "csparql",
    "rspql-from-rsp4j": "rspql",
    "aligned/rspql_query": "rspql",
}
ALIGNED_SERVICES = "http://localhost/CityBenchDataStream/SampleEventService#"
BASE = "http://citybench.example/"  # some queries name graphs by relative IRIs

START_MS = int(datetime(2014, 8, 11, 11, tzinfo=UTC).timestamp() * 1000)
USUAL = Excerpt(START_MS, length_ms=20_000, speed=300)
EXCERPTS = {
    # query: how much of the recordings, and how fast, so that windows hold several rows of every stream
    "Q2": replace(USUAL, length_ms=5_000, speed=600),
    "Q6": replace(USUAL, speed=1800),
    "Q7": replace(USUAL, speed=1800),
    "Q8": replace(USUAL, speed=1800),
    "Q9": replace(USUAL, speed=1800),
    "Q10_8": replace(USUAL, length_ms=12_000, speed=200),
    "Q11": replace(USUAL, speed=600),
    "Q12": replace(USUAL, speed=600),
    "pollution_weather_1": replace(USUAL, speed=600),
}

EVENTS = 20
OTHER_SERVICES = 40
REPOSITORY = f"""CONSTRUCT {{
  ?service <{SSN}observes> ?property . ?property a ?kind ; <{SSN}isPropertyOf> ?place .
  ?place a ?place_kind ; <{CITY}hasStartLatitude> ?latitude ; <{CITY}hasStartLongitude> ?longitude
}} WHERE {{ VALUES ?service {{ %s }}
  ?service <{SSN}observes> ?property . ?property a ?kind ; <{SSN}isPropertyOf> ?place .
  OPTIONAL {{ ?place a ?place_kind ; <{CITY}hasStartLatitude> ?latitude ; <{CITY}hasStartLongitude> ?longitude }}
}}"""
EVENT_GRAPH = f"""CONSTRUCT {{
  ?event a ?kind ; <{SSN}featureOfInterest> ?place ; <{SAO}value> ?title .
  ?place <{CITY}hasFirstNode> ?named . ?named <{CITY}hasLatitude> ?latitude ; <{CITY}hasLongitude> ?longitude
}} WHERE {{
  {{ SELECT ?event {{ ?event <{SAO}value> ?any }} ORDER BY ?event LIMIT {EVENTS} }}
  ?event a ?kind ; <{SSN}featureOfInterest> ?place ; <{SAO}value> ?title . ?place <{CITY}hasFirstNode> ?node .
  ?node <{CITY}hasLatitude> ?latitude ; <{CITY}hasLongitude> ?longitude
  BIND(IRI(CONCAT(STR(?place), "-node")) AS ?named)
}}"""
GRAPHS = {
    # how the name of a graph in a query begins: the file it is
    "SensorRepository": "SensorRepository.n3",
    "simrepo": "SensorRepository.n3",  # the larger repositories are not there: the usual one stands in for them
    "AarhusCulturalEvents": "AarhusCulturalEvents.n3",
    "culturalevents": "AarhusCulturalEvents.n3",
    "AarhusLibraryEvents": "AarhusLibraryEvents.n3",
    "libraryevents": "AarhusLibraryEvents.n3",
}


@dataclass(frozen=True)
class World:
    """What a query is answered over: timed N-Triples by stream, N-Triples by graph ("" is the default graph)."""

    streams: Mapping[str, bytes]
    graphs: Mapping[str, bytes]


def query_files() -> list[str]:
    """All published queries, as paths within CityBench's folder; none where it is missing."""
    return [path.relative_to(FOLDER).as_posix() for folder in DIALECTS for path in sorted((FOLDER / folder).glob("*"))]


def dialect_of(file: str) -> str:
    return DIALECTS[file.rpartition("/")[0]]


def query_text(file: str) -> str:
    """The query as published, with a base where its dialect has named graphs without one."""
    text = (FOLDER / file).read_text(encoding="utf-8")
    return f"BASE <{BASE}>\n{text}" if dialect_of(file) == "cqels" else text


def world_of(file: str, text: str) -> World:
    """The streams that a query reads, in its excerpt, and the graphs that it can see.

    Where FROM hides the default graph, that says of every property that it is of every kind.
    """
    query = parse_query(text, file=file, dialect=dialect_of(file))
    stem = Path(file).stem
    excerpt = EXCERPTS.get(stem[0].upper() + stem[1:], EXCERPTS.get(stem, USUAL))
    services = ALIGNED_SERVICES if file.startswith("aligned/") else SERVICES
    streams = {declared.window.stream.value: b"" for declared in query.windows}
    for iri in streams:
        streams[iri] = recordings().replay(iri.rpartition("#")[2], excerpt, services=services)
    graphs = {iri: small_graph(_file_of(iri)) for iri in _graph_names(query)}
    default = every_kind() if query.default_graphs else small_graph("SensorRepository.n3")
    return World(streams, {"": default} | graphs)


def _graph_names(query: Query) -> list[str]:
    return [iri.value for iri in (*query.default_graphs, *query.named_graphs)]


def _file_of(iri: str) -> str:
    last = iri.rpartition("/")[2]
    return next(file for start, file in GRAPHS.items() if last.startswith(start))


@cache
def recordings() -> CityBench:
    return CityBench(FOLDER)


@cache
def small_graph(file: str) -> bytes:
    """A stored graph, cut: the services that queries name and some others, or some of the events."""
    store = ox.Store()
    store.load(path=str(FOLDER / "dataset" / file), format=ox.RdfFormat.TURTLE, base_iri=BASE)
    asked = REPOSITORY % _services() if file.startswith("Sensor") else EVENT_GRAPH
    return ox.serialize(sorted(store.query(asked), key=str), format=ox.RdfFormat.N_TRIPLES)


@cache
def every_kind() -> bytes:
    """A graph that says of all properties that they are of all kinds; what it gives answers to is wrong."""
    observed = [observed for properties in recordings().properties.values() for observed in properties.values()]
    kinds = sorted({kind for properties in recordings().properties.values() for kind in properties})
    lines = [f"<{one}> <{RDF_TYPE}> <{CITY}{kind}> .\n" for one in observed[:: len(observed) // 300] for kind in kinds]
    return "".join(lines).encode() + small_graph("SensorRepository.n3")


def _services() -> str:
    named = {path.stem for path in (FOLDER / "streams").glob("*.stream")}
    others = sorted(recordings().properties.keys() - named)[:: len(recordings().properties) // OTHER_SERVICES]
    return " ".join(f"<{SERVICES}{service}>" for service in sorted(named) + others)
