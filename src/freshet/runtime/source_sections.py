"""Where a stream comes from, as the pipeline file says it: a folder, Kafka, MQTT, events, WebSocket and TCP servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from freshet.rdf.formats import FORMATS
from freshet.rml.sources import (
    EventSource,
    FolderSource,
    KafkaSource,
    LdesSource,
    MqttSource,
    SocketSource,
    StreamSource,
    WebSocketSource,
)
from freshet.runtime.section import FilePath, Section, as_text, duration, one_or_more

TIMED = "timed-ntriples"
RDF_MESSAGES = frozenset(FORMATS)
"""Formats whose documents need no mapping, but a time."""
PLACES = ("folder", "kafka", "mqtt", "sse", "websocket", "ldes", "socket")


RecordFormat = Literal["json", "csv", "xml", "timed-ntriples", "ttl", "n3", "nt", "nq", "trig", "jsonld", "rdfxml"]


def _port(number: int) -> int:
    if not 0 < number < 65536:
        raise ValueError(f"{number} is not a port")
    return number


Port = Annotated[int, AfterValidator(_port)]


def _address(text: str, schemes: tuple[str, str] = ("http", "https")) -> str:
    parts = urlsplit(text)
    if parts.scheme not in schemes or not parts.hostname:
        raise ValueError(f"'{text}' is not an address that begins with {schemes[0]}:// or {schemes[1]}://")
    try:
        is_port = parts.port != 0
    except ValueError:  # letters, or more than 16 bits
        is_port = False
    if not is_port:
        raise ValueError(f"the port of '{text}' is not a number from 1 to 65535")
    return text


class RegistrySection(Section):
    """A schema registry; `headers` go with each request."""

    url: Annotated[str, AfterValidator(_address)]
    headers: dict[str, Annotated[str, BeforeValidator(as_text)]] = Field(default_factory=dict)


class KafkaSection(Section):
    """A topic of a Kafka cluster; `options` go to its client as they are (security settings, say). With a `registry`
    its messages are Avro, Protobuf or JSON with a header that says the schema."""

    brokers: Annotated[tuple[str, ...], BeforeValidator(one_or_more)]
    topic: str
    group: str | None = None
    start: Literal["earliest", "latest"] = "earliest"
    options: dict[str, Annotated[str, BeforeValidator(as_text)]] = Field(default_factory=dict)
    registry: RegistrySection | None = None


class MqttSection(Section):
    """A topic filter at an MQTT broker.

    The session that the broker keeps between runs is called `client`, followed by the sub-stream's id and the number
    of its input.
    """

    host: str
    topic: str
    port: Port = 1883
    quality: Literal[0, 1] = 1
    client: str | None = None
    user: str | None = None
    password: str | None = None
    tls: bool = False


class SseSection(Section):
    """Server-sent events: all of them, or those of one kind (`event`). `headers` are sent with each request."""

    url: Annotated[str, AfterValidator(_address)]
    event: str | None = None
    headers: dict[str, Annotated[str, BeforeValidator(as_text)]] = Field(default_factory=dict)


def _message(value: Any) -> str:
    """A message as it is sent: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


class WebSocketSection(Section):
    """A WebSocket server. `send` are messages to send first, by which servers are subscribed to: texts, or sections,
    which are sent as JSON. `headers` and `protocols` (subprotocols) go with the request."""

    url: Annotated[str, AfterValidator(lambda text: _address(text, ("ws", "wss")))]
    send: Annotated[
        tuple[Annotated[str, BeforeValidator(_message)], ...],
        BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    ] = ()
    headers: dict[str, Annotated[str, BeforeValidator(as_text)]] = Field(default_factory=dict)
    protocols: Annotated[tuple[str, ...], BeforeValidator(one_or_more)] = ()


class LdesSection(Section):
    """A linked data event stream: one of its pages, the predicate with the times of members (`time`) where the stream
    does not say it, how often a page is asked for that does not say when (`every`), and `headers` of each request."""

    url: Annotated[str, AfterValidator(_address)]
    time: str | None = None
    every_ms: Annotated[int, BeforeValidator(duration)] = Field(default=10_000, alias="every", gt=0)
    headers: dict[str, Annotated[str, BeforeValidator(as_text)]] = Field(default_factory=dict)


class SocketSection(Section):
    """A TCP server to connect to; documents end with `delimiter`."""

    host: str
    port: Port
    delimiter: str | None = Field(default=None, min_length=1)


class EventTime(Section):
    """Where a record says when it happened: a reference as mappings write them, and how the time is written; or, where
    documents are RDF, the predicate that has the time.

    Times of arrival have neither.
    """

    reference: str = ""
    predicate: str | None = None
    form: Literal["iso", "epoch_ms", "epoch_s", "arrival"] = Field(default="iso", alias="as")


class SourceSection(Section):
    """One of a folder, a Kafka topic, an MQTT topic, server-sent events, WebSocket and TCP servers, a linked data
    event stream, and how it is read.

    A folder's files are read oldest first, each once: `pattern` picks files by name, and `whole_files` says that each
    is one document. `files_per_batch` and `records_per_batch` (200,000 by default) bound what one micro-batch takes.
    """

    folder: FilePath | None = None
    kafka: KafkaSection | None = None
    mqtt: MqttSection | None = None
    sse: SseSection | None = None
    websocket: WebSocketSection | None = None
    ldes: LdesSection | None = None
    socket: SocketSection | None = None
    format: (
        Literal["json", "csv", "xml", "timed-ntriples", "ttl", "n3", "nt", "nq", "trig", "jsonld", "rdfxml"] | None
    ) = None
    pattern: str | None = None
    whole_files: bool = False
    files_per_batch: int | None = Field(default=None, gt=0)
    records_per_batch: int | None = Field(default=None, gt=0)
    time: EventTime | None = None

    @model_validator(mode="before")
    @classmethod
    def _members_are_rdf(cls, section: Any) -> Any:
        """What an event stream has is RDF with times already."""
        if isinstance(section, dict) and "ldes" in section:
            return {"format": TIMED, **section}
        return section

    def stream_source(self, formulation: str | None) -> StreamSource:
        """Where the stream comes from. CSV documents of a socket have a header each, and so end with an empty line."""
        if self.folder is not None:
            return FolderSource(self.folder, self.pattern)
        if self.kafka is not None:
            options = tuple(sorted(self.kafka.options.items()))
            brokers = ",".join(self.kafka.brokers)
            registry = self.kafka.registry
            headers = () if registry is None else tuple(sorted(registry.headers.items()))
            address = None if registry is None else registry.url
            return KafkaSource(brokers, self.kafka.topic, self.kafka.group, self.kafka.start, options, address, headers)
        if self.mqtt is not None:
            return MqttSource(**self.mqtt.model_dump())
        if self.sse is not None:
            return EventSource(self.sse.url, self.sse.event, tuple(sorted(self.sse.headers.items())))
        if self.websocket is not None:
            given = self.websocket
            return WebSocketSource(given.url, given.send, tuple(sorted(given.headers.items())), given.protocols)
        if self.ldes is not None:
            stream = self.ldes
            return LdesSource(stream.url, stream.time, stream.every_ms, tuple(sorted(stream.headers.items())))
        assert self.socket is not None
        delimiter = self.socket.delimiter or ("\n\n" if formulation == "CSV" else "\n")
        return SocketSource(self.socket.host, self.socket.port, delimiter)

    def problems(self) -> Iterator[tuple[str | None, str]]:
        """What does not go together: the key, or None for the section, and what is wrong."""
        given = [place for place in PLACES if getattr(self, place) is not None]
        if len(given) != 1:
            said = " and ".join(f"'{place}'" for place in given)
            yield None, f"one of {', '.join(PLACES)} says where the stream is{f', not {said}' if given else ''}"
            return
        if self.kafka is not None and self.kafka.registry is not None and self.format not in (None, "json", "jsonld"):
            yield "format", "messages of a schema registry are read as JSON"
        if given == ["ldes"] and self.format != TIMED:
            yield "format", "members of an event stream are RDF: no 'format' is needed"
        if given != ["folder"]:
            for key in ("pattern", "whole_files", "files_per_batch"):
                if getattr(self, key):
                    yield key, f"'{key}' is for folders"
        elif self.records_per_batch is not None:
            yield "records_per_batch", "of a folder the files are counted: 'files_per_batch'"
        if self.time is not None:
            yield from ((("time" if key is None else key), message) for key, message in time_problems(self.time))


def time_problems(time: EventTime) -> Iterator[tuple[str | None, str]]:
    """What does not go together in an event time."""
    if time.form == "arrival" and (time.reference or time.predicate):
        yield None, "times of arrival have no reference"
    elif time.predicate and time.reference:
        yield None, "'predicate' is for documents of RDF, 'reference' for records"
    elif time.form != "arrival" and not time.reference and not time.predicate:
        yield None, "'reference' is missing in 'time'"


SECTIONS: dict[tuple[str, ...], type[Section]] = {
    (): SourceSection,
    ("kafka",): KafkaSection,
    ("kafka", "registry"): RegistrySection,
    ("mqtt",): MqttSection,
    ("sse",): SseSection,
    ("websocket",): WebSocketSection,
    ("ldes",): LdesSection,
    ("socket",): SocketSection,
    ("time",): EventTime,
}
"""Which model stands where below a source."""
