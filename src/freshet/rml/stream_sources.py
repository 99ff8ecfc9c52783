"""Live streams as mappings describe them: `rmls:` (RMLStreamer) and things of the Web (WoT)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyoxigraph as ox

from freshet.rdf.errors import InputError
from freshet.rdf.terms import RDF_TYPE
from freshet.rml.sources import (
    EventSource,
    FolderSource,
    KafkaSource,
    MqttSource,
    SocketSource,
    StreamSource,
    UnreadStream,
    WebSocketSource,
)

Value = ox.NamedNode | ox.BlankNode | ox.Literal
Graph = Mapping[Value, Mapping[str, Sequence[Value]]]

RMLS = "http://semweb.mmlab.be/ns/rmls#"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_TD = "https://www.w3.org/2019/wot/td#"
_TARGET = "https://www.w3.org/2019/wot/hypermedia#hasTarget"
_DEFAULT_PORTS = {"kafka": 9092, "mqtt": 1883}


def read_stream_source(node: Value, graph: Graph, file: str) -> StreamSource | None:
    """The stream that a node describes; None where it describes something else."""
    described = _Description(node, graph, file)
    types = {value.value for value in described.values(RDF_TYPE.value)}
    if RMLS + "KafkaStream" in types:
        brokers = ",".join(described.texts("broker"))
        if not brokers:
            raise described.lacks("broker")
        return KafkaSource(brokers.replace(" ", ""), described.text("topic"), described.optional("groupId"))
    if RMLS + "TCPSocketStream" in types:
        host, port = described.text("hostName"), described.port("port")
        if (described.optional("type") or "PULL").upper() != "PULL":
            return UnreadStream(f"a TCP socket that others connect to ({host}:{port}, rmls:type PUSH)")
        return SocketSource(host, port)
    if RMLS + "FileStream" in types:
        path = Path(file).parent / described.text("path")
        return FolderSource(path) if path.is_dir() else FolderSource(path.parent, path.name)
    if _TD + "Thing" in types:
        return _source_of_thing(described)
    if unknown := [kind.removeprefix(RMLS) for kind in types if kind.startswith(RMLS)]:
        return UnreadStream(f"a stream of the type rmls:{unknown[0]}")
    return None


def _source_of_thing(described: _Description) -> StreamSource | None:
    """A thing of the Web by the address of its first form. What is read over HTTP is no stream, but for events."""
    kinds = ("hasPropertyAffordance", "hasEventAffordance")
    for affordance in (each for kind in kinds for each in described.below(_TD + kind)):
        for form in affordance.below(_TD + "hasForm"):
            for target in form.values(_TARGET):
                return _by_address(target.value, form)
    raise described.wrong("is a thing without a form that has a target")


def _by_address(address: str, form: _Description) -> StreamSource | None:
    scheme = urlsplit(address).scheme.lower()
    if scheme in ("http", "https") and form.by_local_name("forSubProtocol") == "sse":
        return EventSource(address)
    if scheme in ("http", "https", "file", ""):
        return None
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS.get(scheme, 0)
    except ValueError:
        raise form.wrong(f"has a target that is no address: {address}") from None
    topic = unquote(parts.path.lstrip("/"))
    if scheme in ("ws", "wss") and host:
        return WebSocketSource(address)
    if scheme not in ("kafka", "mqtt", "tcp"):
        return UnreadStream(address)
    if not host or (scheme == "tcp" and not port) or (scheme != "tcp" and not topic):
        raise form.wrong(f"has a target without {'port' if scheme == 'tcp' else 'host and topic'}: {address}")
    if scheme == "kafka":
        return KafkaSource(f"{host}:{port}", topic, form.by_local_name("groupId"))
    if scheme == "tcp":
        return SocketSource(host, port)
    # Freshet deduplicates deliveries, so 1 is enough where 2 is asked for.
    return MqttSource(host, topic, port, min(1, int(form.option("qos") or 1)))


class _Description:
    """A node and its properties."""

    def __init__(self, node: Value, graph: Graph, file: str) -> None:
        self._node, self._graph, self._file = node, graph, file

    def values(self, iri: str) -> Sequence[Value]:
        return self._graph.get(self._node, {}).get(iri, ())

    def below(self, iri: str) -> Iterator[_Description]:
        return (_Description(value, self._graph, self._file) for value in self.values(iri))

    def texts(self, name: str) -> list[str]:
        return [value.value for value in self.values(RMLS + name)]

    def optional(self, name: str) -> str | None:
        found = self.texts(name)
        if len(found) > 1:
            raise self.wrong(f"has {len(found)} values of rmls:{name} where one is wanted")
        return found[0] if found else None

    def text(self, name: str) -> str:
        found = self.optional(name)
        if not found:
            raise self.lacks(name)
        return found

    def port(self, name: str) -> int:
        text = self.text(name)
        if not (text.isdecimal() and 0 < int(text) < 65536):
            raise self.wrong(f"has a port that is none: {text}")
        return int(text)

    def by_local_name(self, name: str) -> str | None:
        """A property by the end of its IRI: of WoT's bindings there are several namespaces in use."""
        for iri, values in self._graph.get(self._node, {}).items():
            if iri.rpartition("/")[2].rpartition("#")[2] == name and values:
                return values[0].value
        return None

    def option(self, name: str) -> str | None:
        """The value of one of a form's `options`, a list of nodes with `optionName` and `optionValue`."""
        for iri, values in self._graph.get(self._node, {}).items():
            if iri.rpartition("/")[2].rpartition("#")[2] == "options":
                for option in (each for value in values for each in self._list(value)):
                    if option.by_local_name("optionName") == name:
                        found = option.by_local_name("optionValue")
                        if found is None or found not in ("0", "1", "2"):
                            raise self.wrong(f"has the option {name} with the value {found}")
                        return found
        return None

    def _list(self, head: Value) -> Iterator[_Description]:
        seen: set[Value] = set()
        while head not in seen and (first := self._graph.get(head, {}).get(_RDF + "first")):
            seen.add(head)
            yield _Description(first[0], self._graph, self._file)
            rest = self._graph[head].get(_RDF + "rest")
            if not rest:
                return
            head = rest[0]

    def lacks(self, name: str) -> InputError:
        return self.wrong(f"lacks rmls:{name}")

    def wrong(self, what: str) -> InputError:
        shown = f"<{self._node.value}>" if isinstance(self._node, ox.NamedNode) else f"_:{self._node.value}"
        return InputError(f"the stream source {shown} {what}", file=self._file)
