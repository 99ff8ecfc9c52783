"""Statements inserted at SPARQL endpoints, some thousands with each update, on hosts of the allow-list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox

from freshet.federation.errors import ServiceError
from freshet.federation.settings import ServiceSettings
from freshet.federation.topics import KAFKA, send_to_topic
from freshet.rdf.errors import UnsupportedError

if TYPE_CHECKING:
    from freshet.federation.http import Requests

BATCH = 10_000  # statements of an update


class Uploads:
    """Sends statements to endpoints. An update is done as a whole; one run makes several."""

    def __init__(self, settings: ServiceSettings, batch: int = BATCH) -> None:
        self._settings = settings
        self._batch = batch

    @cached_property
    def _requests(self) -> Requests:
        from freshet.federation.http import Requests  # brings urllib3 along
        from freshet.federation.timed_pool import TimedPool

        return Requests(TimedPool(1), self._settings)

    def send(self, endpoint: str, parts: list[Path]) -> None:
        """Insert the statements of files of N-Quads, or send them to a topic.

        Without files the endpoint is only looked up in the allow-list.
        """
        if endpoint.startswith(KAFKA):
            send_to_topic(endpoint, parts, self._settings)
            return
        url = self._settings.url(endpoint)
        linked: list[ox.Quad] = []
        sent = 0
        try:
            for batch in _batches(_plain(_quads(parts), linked), self._batch):
                self._requests.update(url, insertion(batch), again=True)
                sent += len(batch)
            # A blank node is one node within an update only. Done twice, an update makes it twice.
            for batch in together(linked, self._batch):
                self._requests.update(url, insertion(batch), again=False)
                sent += len(batch)
        except ServiceError as error:
            raise ServiceError(f"{error.message}; {sent:,} statements were inserted before") from None


def _quads(parts: Iterable[Path]) -> Iterator[ox.Quad]:
    for part in parts:
        yield from ox.parse(path=str(part), format=ox.RdfFormat.N_QUADS, lenient=True)


def _plain(quads: Iterable[ox.Quad], linked: list[ox.Quad]) -> Iterator[ox.Quad]:
    """The statements without blank nodes; the others are gathered."""
    for quad in quads:
        if next(blank_nodes(quad), None) is None:
            yield quad
        else:
            linked.append(quad)


def blank_nodes(quad: ox.Quad | ox.Triple) -> Iterator[str]:
    """The blank nodes of a statement, also those inside of triple terms."""
    graph = [quad.graph_name] if isinstance(quad, ox.Quad) else []
    for term in (quad.subject, quad.object, *graph):
        if isinstance(term, ox.BlankNode):
            yield term.value
        elif isinstance(term, ox.Triple):
            yield from blank_nodes(term)


def _batches(quads: Iterator[ox.Quad], size: int) -> Iterator[list[ox.Quad]]:
    while batch := list(islice(quads, size)):
        yield batch


def together(quads: list[ox.Quad], size: int) -> Iterator[list[ox.Quad]]:
    """Statements in batches, those that blank nodes connect in one batch, however many they are."""
    leaders: dict[str, str] = {}

    def leader(node: str) -> str:
        while leaders.setdefault(node, node) != node:
            leaders[node] = leaders[leaders[node]]
            node = leaders[node]
        return node

    for quad in quads:
        first, *rest = blank_nodes(quad)
        for node in rest:
            leaders[leader(node)] = leader(first)
    groups: dict[str, list[ox.Quad]] = {}
    for quad in quads:
        groups.setdefault(leader(next(blank_nodes(quad))), []).append(quad)
    batch: list[ox.Quad] = []
    for group in groups.values():
        if batch and len(batch) + len(group) > size:
            yield batch
            batch = []
        batch += group
    if batch:
        yield batch


def insertion(quads: list[ox.Quad]) -> str:
    """The update that inserts statements."""
    by_graph: dict[str, list[ox.Quad]] = {}
    for quad in quads:
        if isinstance(quad.graph_name, ox.BlankNode):
            raise UnsupportedError("a blank node as the name of a graph at an endpoint")
        by_graph.setdefault(str(quad.graph_name), []).append(quad)
    parts = []
    for graph, some in by_graph.items():
        written = ox.serialize(map(attrgetter("triple"), some), format=ox.RdfFormat.N_TRIPLES)
        assert written is not None
        text = written.decode()
        parts.append(text if graph == str(ox.DefaultGraph()) else f"GRAPH {graph} {{\n{text}}}\n")
    return f"INSERT DATA {{\n{''.join(parts)}}}"
