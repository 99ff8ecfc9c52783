from collections import defaultdict

import pyoxigraph as ox
import pytest

from freshet.rdf.errors import InputError
from freshet.rdf.terms import RDF_TYPE
from freshet.rml.sources import (
    EventSource,
    FolderSource,
    KafkaSource,
    MqttSource,
    SocketSource,
    UnreadStream,
    WebSocketSource,
)
from freshet.rml.stream_sources import read_stream_source
from shared_data import shared

_PREFIXES = """
@prefix rmls: <http://semweb.mmlab.be/ns/rmls#> .
@prefix td: <https://www.w3.org/2019/wot/td#> .
@prefix hctl: <https://www.w3.org/2019/wot/hypermedia#> .
@prefix mqv: <http://www.example.org/mqv#> .
@prefix kafka: <http://www.example.org/kafka/> .
@prefix : <http://example.org/> .
"""


def graph_of(quads):
    graph = defaultdict(lambda: defaultdict(list))
    for quad in quads:
        graph[quad.subject][quad.predicate.value].append(quad.object)
    return graph


def read(turtle, file="mapping.ttl"):
    graph = graph_of(ox.parse(_PREFIXES + turtle, format=ox.RdfFormat.TURTLE))
    return read_stream_source(ox.NamedNode("http://example.org/s"), graph, file)


def thing(form):
    return read(f":s a td:Thing ; td:hasPropertyAffordance [ td:hasForm [ {form} ] ] .")


def test_kafka_stream():
    turtle = ':s a rmls:KafkaStream ; rmls:broker "a:9092, b:9092" ; rmls:groupId "1" ; rmls:topic "speed" .'
    assert read(turtle) == KafkaSource("a:9092,b:9092", "speed", "1")


def test_socket_stream():
    assert read(':s a rmls:TCPSocketStream ; rmls:hostName "h" ; rmls:port "9999" .') == SocketSource("h", 9999)
    assert read(':s a rmls:TCPSocketStream; rmls:hostName "h"; rmls:port 9; rmls:type "PULL" .') == SocketSource("h", 9)


def test_a_socket_that_others_connect_to_is_not_read():
    made = read(':s a rmls:TCPSocketStream ; rmls:hostName "h" ; rmls:port "9" ; rmls:type "PUSH" .')
    assert isinstance(made, UnreadStream)
    assert "h:9" in made.what


def test_file_stream(tmp_path):
    (tmp_path / "lines").mkdir()
    file = str(tmp_path / "mapping.ttl")
    assert read(':s a rmls:FileStream ; rmls:path "lines" .', file) == FolderSource(tmp_path / "lines")
    made = read(':s a rmls:FileStream ; rmls:path "lines/books.json" .', file)
    assert made == FolderSource(tmp_path / "lines", "books.json")


def test_things_by_their_address():
    assert thing('hctl:hasTarget "kafka://h/topic" ; kafka:groupId "G"') == KafkaSource("h:9092", "topic", "G")
    assert thing('hctl:hasTarget "tcp://h:77"') == SocketSource("h", 77)
    assert thing('hctl:hasTarget "mqtt://h:1/a/%2B"') == MqttSource("h", "a/+", 1)
    options = '([ mqv:optionName "dup" ] [ mqv:optionName "qos" ; mqv:optionValue "0" ])'
    assert thing(f'hctl:hasTarget "mqtt://h/a" ; mqv:options {options}') == MqttSource("h", "a", 1883, 0)
    assert thing('hctl:hasTarget "ws://h:9001"') == WebSocketSource("ws://h:9001")
    assert thing('hctl:hasTarget "amqp://h:9001"') == UnreadStream("amqp://h:9001")
    assert thing('hctl:hasTarget "http://h/file.json"') is None
    assert thing('hctl:hasTarget "https://h/e" ; hctl:forSubProtocol "sse"') == EventSource("https://h/e")


def test_events_of_a_thing():
    form = '[ td:hasForm [ hctl:hasTarget "http://h/events" ; hctl:forSubProtocol "sse" ] ]'
    assert read(f":s a td:Thing ; td:hasEventAffordance {form} .") == EventSource("http://h/events")


def test_what_is_no_stream():
    assert read(":s a <http://example.org/Table> .") is None


@pytest.mark.parametrize(
    ("turtle", "words"),
    [
        (':s a rmls:KafkaStream ; rmls:broker "a" .', "lacks rmls:topic"),
        (':s a rmls:KafkaStream ; rmls:topic "a" .', "lacks rmls:broker"),
        (':s a rmls:KafkaStream ; rmls:broker "a" ; rmls:topic "b", "c" .', "2 values of rmls:topic"),
        (':s a rmls:TCPSocketStream ; rmls:hostName "h" ; rmls:port "web" .', "a port that is none: web"),
        (":s a td:Thing .", "a thing without a form"),
        (':s a td:Thing ; td:hasPropertyAffordance [ td:hasForm [ hctl:hasTarget "mqtt://h" ] ] .', "host and topic"),
        (':s a td:Thing ; td:hasPropertyAffordance [ td:hasForm [ hctl:hasTarget "tcp://h" ] ] .', "without port"),
        (':s a td:Thing ; td:hasPropertyAffordance [ td:hasForm [ hctl:hasTarget "tcp://h:x" ] ] .', "no address"),
    ],
)
def test_what_is_wrong_is_named(turtle, words):
    with pytest.raises(InputError, match=words) as caught:
        read(turtle)
    assert caught.value.file == "mapping.ttl"


def test_every_stream_of_rmlstreamer_is_read():
    """The descriptions in RMLStreamer's own test cases."""
    kinds: dict[type, int] = defaultdict(int)
    for file in sorted(shared("data/rmlstreamer/stream").glob("[!j]*/**/mapping.ttl")):  # those in joins/ are no Turtle
        graph = graph_of(ox.parse(path=str(file), format=ox.RdfFormat.TURTLE, base_iri="http://example.org/"))
        for node in list(graph):
            if any(value.value.endswith("Stream") for value in graph[node][RDF_TYPE.value]):
                kinds[type(read_stream_source(node, graph, str(file)))] += 1
    assert kinds == {KafkaSource: 118, SocketSource: 79}
