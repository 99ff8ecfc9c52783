"""Triples of RML as they are made, one after the other."""

from __future__ import annotations

import pyoxigraph as ox

from freshet.rml.vocabulary import NEW

Node = ox.NamedNode | ox.BlankNode
_PREFIXED = {
    "csvw:": "http://www.w3.org/ns/csvw#",
    "d2rq:": "http://www.wiwiss.fu-berlin.de/suhl/bizer/D2RQ/0.1#",
    "sd:": "http://www.w3.org/ns/sparql-service-description#",
    "formats:": "http://www.w3.org/ns/formats/",
}


def name(text: str) -> ox.NamedNode:
    """A name of RML, or with a prefix one that mappings mix in.

    >>> name("source").value, name("csvw:url").value
    ('http://w3id.org/rml/source', 'http://www.w3.org/ns/csvw#url')
    """
    for prefix, namespace in _PREFIXED.items():
        if text.startswith(prefix):
            return ox.NamedNode(namespace + text.removeprefix(prefix))
    return ox.NamedNode(NEW + text)


class Triples:
    """Makes nodes, and keeps what is said of them."""

    def __init__(self) -> None:
        self.quads: list[ox.Quad] = []
        self._count = 0

    def new(self) -> ox.BlankNode:
        self._count += 1
        return ox.BlankNode(f"n{self._count}")

    def add(self, node: Node, key: str, value: Node | ox.Literal | str) -> None:
        """Say something of a node; a value that is a plain text is a name of RML."""
        self.quads.append(ox.Quad(node, name(key), name(value) if isinstance(value, str) else value))
