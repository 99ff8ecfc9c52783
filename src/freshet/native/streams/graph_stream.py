"""Streams that have the graphs of another's elements, for GRAPH inside windows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.native.streams.stream import StreamState, merge_in_order
from freshet.rdf.arrow import numbers
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.terms import Iri
from freshet.rdf.triples import DEFAULT_GRAPH

Ids = NDArray[np.int64]

_TRIPLES, _GRAPHS = " with triples of graphs", " with graphs of nodes"  # no IRI has a blank
_NODE = "<urn:freshet:graph-node:"
_OUTSIDE = Iri("urn:freshet:no-graph"), Iri("urn:freshet:no-node")


class GraphStreamNames(NamedTuple):
    """The streams that have the graphs of another: one with the triples, and one that says where they are."""

    triples: Iri
    graphs: Iri


def graph_stream_names(stream: Iri) -> GraphStreamNames:
    """The names of the streams with the graphs of another."""
    return GraphStreamNames(Iri(stream.value + _TRIPLES), Iri(stream.value + _GRAPHS))


def is_of_graphs(name: str) -> bool:
    """Whether a stream has this name that is one of those with the graphs of another."""
    return name.endswith((_TRIPLES, _GRAPHS))


class GraphNodes:
    """A node n for each subject s in each graph g of a stream: it stands for s in the triples of g.

    An element (s p o) in g is n p o in the stream with triples, and s g n in the one that says where they are. So GRAPH
    is joined by patterns as any others, and a star of patterns with one subject has one node. What is in the default
    graph is there too, so that windows of as many elements are the same in all three streams; its nodes never meet.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._no_graph, self._no_node = dictionary.encode_many(_OUTSIDE)
        self._last: tuple[Elements, Elements, Elements] | None = None

    def split(self, elements: Elements, graphs: Ids | None) -> tuple[Elements, Elements]:
        """A batch in the stream with triples, and in that with graphs. Both ask for it, one after the other."""
        if self._last is None or self._last[0] is not elements:
            if graphs is None:
                graphs = np.full(len(elements.times), DEFAULT_GRAPH, np.int64)
            nodes = self._nodes(elements.subjects, graphs)
            triples = elements._replace(subjects=nodes)
            is_outside = graphs == DEFAULT_GRAPH
            where = elements._replace(
                predicates=np.where(is_outside, self._no_graph, graphs),
                objects=np.where(is_outside, self._no_node, nodes),
            )
            self._last = elements, triples, where
            return triples, where
        _, triples, where = self._last
        self._last = None
        return triples, where

    def _nodes(self, subjects: Ids, graphs: Ids) -> Ids:
        """The nodes of subjects in graphs; those of a message mostly follow each other."""
        is_first = np.ones(len(subjects), np.bool_)
        is_first[1:] = (subjects[1:] != subjects[:-1]) | (graphs[1:] != graphs[:-1])
        rows = np.flatnonzero(is_first)
        texts = (numbers(column[rows]).cast(pa.string()) for column in (subjects, graphs))
        pairs = pc.binary_join_element_wise(*texts, ":")
        nodes = self._dictionary.intern_texts(pa.chunked_array([pairs.cast(pa.large_string())]), _NODE, ">")
        repeated: Ids = nodes[np.cumsum(is_first) - 1]
        return repeated


class GraphStream:
    """One of the two streams that `GraphNodes` makes of another. The watermark is that of the stream."""

    rows = 1
    predicate = ""  # it takes its times from no predicate
    is_oldest = False

    def __init__(self, name: str, base: StreamState, nodes: GraphNodes) -> None:
        self.base = base
        self.state = StreamState(name, base.lateness_ms)
        self.nodes = nodes
        self._has_triples = name.endswith(_TRIPLES)
        self._waiting: list[Elements] = []

    @property
    def waiting(self) -> int:
        """How many elements wait until the stream goes on."""
        return sum(len(elements.times) for elements in self._waiting)

    def push(self, elements: Elements, graphs: Ids | None) -> None:
        """Elements of the base stream in the order they came, and the graphs that they are in."""
        if len(elements.times):
            triples, where = self.nodes.split(elements, graphs)
            self._waiting.append(triples if self._has_triples else where)

    def release(self) -> Elements | None:
        """What has come since."""
        self.state.watermark_ms = self.base.watermark_ms
        waiting, self._waiting = self._waiting, []
        return merge_in_order(waiting) if waiting else None
