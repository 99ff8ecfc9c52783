"""Documents of each transport: all of them, once, also when the query stops and goes on."""

import json
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from event_server import EventServer
from freshet.rml.sources import EventSource, KafkaSource, LdesSource, MqttSource, SocketSource, WebSocketSource
from freshet.sources.registry_messages import NOT_DECODED
from freshet.spark.live.connector import add_connector
from freshet.spark.live.documents import NOT_TEXT
from freshet.spark.live.open import Reading, open_documents
from freshet.spark.live.spooled import status
from freshet.spark.running import RunningStream
from live_servers import LineServer, Mosquitto
from schema_registry import framed, schema_registry
from waiting import wait_until
from web_socket_server import WebSocketServer


class Taken:
    """The rows that a query has taken so far. A batch that was not committed comes again under its number."""

    def __init__(self):
        self.batches = {}
        self.running = None

    @property
    def rows(self):
        return [row for number in sorted(self.batches) for row in self.batches[number]]

    def wait(self, count):
        """Until there are enough, or the query has failed."""
        self.until(lambda: len(self.rows) >= count)
        assert len(self.rows) == count

    def until(self, condition):
        """Until the condition holds. The query is started again meanwhile where Spark took too long to start it."""
        wait_until(lambda: self.running.check() or condition())

    @property
    def lines(self):
        return [row.line for row in self.rows]

    @contextmanager
    def by(self, spark, source, folder, **reading):
        documents = open_documents(source, Reading(spark, folder / "spool", **reading))
        running = self.running = RunningStream("documents")
        take = running.guard(lambda batch, number: self.batches.update({number: batch.collect()}))
        writer = documents.writeStream.foreachBatch(take).option("checkpointLocation", str(folder / "spark"))
        running.begin(writer.start, wait=False)
        try:
            yield running
        finally:
            running.stop()


def numbered(first, last):
    return [f'{{"n": {at}}}' for at in range(first, last)]


def test_kafka(spark, kafka, connector, tmp_path):
    add_connector(spark)
    topic = kafka.topic("documents", 2)
    began = time.time()
    kafka.send(topic, numbered(0, 5), partition=0)
    taken = Taken()
    source = KafkaSource(kafka.address, topic, "group")
    with taken.by(spark, source, tmp_path, most_records=3):
        taken.wait(5)
    kafka.send(topic, [*numbered(5, 9), b"\xff\xfe"], partition=1)
    with taken.by(spark, source, tmp_path) as running:
        running.drain()
    assert sorted(taken.lines[:9]) == numbered(0, 9)
    assert taken.lines[9].startswith(NOT_TEXT)
    assert taken.rows[0].file == "kafka:documents/0/0"
    assert taken.rows[5].file == "kafka:documents/1/0"
    arrived = [row.arrived / 1000 for row in (taken.rows[0], taken.rows[5])]
    assert began - 1 < arrived[0] <= arrived[1] < time.time() + 1


def test_kafka_by_a_schema_registry(spark, kafka, connector, tmp_path):
    add_connector(spark)
    topic = kafka.topic("registered")
    schema = {"type": "record", "name": "N", "fields": [{"name": "n", "type": "long"}]}
    with schema_registry() as registry:
        registry.add(9, json.dumps(schema))
        kafka.send(topic, [*(framed(9, bytes([2 * number])) for number in range(5)), b"no header"])
        taken = Taken()
        with taken.by(spark, KafkaSource(kafka.address, topic, registry=registry.url), tmp_path) as running:
            running.drain()
    assert sorted(taken.lines[:5]) == [f'{{"n":{number}}}' for number in range(5)]
    assert taken.lines[5].startswith(NOT_DECODED)


def test_tcp(spark, tmp_path):
    server = LineServer()
    taken = Taken()
    source = SocketSource("127.0.0.1", server.port)
    with taken.by(spark, source, tmp_path):
        server.send('{"n": 0}\n')
        taken.wait(1)  # from here on the query, and with it the connection, is not started again
        server.send('{"n": 1}\n{"n": 2}\r\n\n{"n"')
        taken.wait(3)
        server.send(": 3}\n")
        taken.wait(4)
        server.hang_up()
        server.send('{"n": 4}\n{"cut of')  # when it has come again
        server.hang_up()
        taken.wait(6)
    server.stop()
    assert taken.lines == [*numbered(0, 5), '{"cut of']
    assert taken.rows[5].file == f"tcp:127.0.0.1:{server.port}/5"


def test_web_sockets(spark, tmp_path):
    server = WebSocketServer(subscribe=True)
    server.messages += numbered(0, 3)
    source, taken = WebSocketSource(server.url, ("all",), (("Authorization", "Bearer x"),)), Taken()
    with taken.by(spark, source, tmp_path):
        taken.wait(3)
    with taken.by(spark, source, tmp_path):
        taken.until(lambda: len(server.received) == 2)  # what is sent before to a connection that closes is lost
        server.messages += numbered(3, 5)
        taken.wait(5)
    server.stop()
    assert taken.lines == numbered(0, 5)
    assert taken.rows[4].file == f"ws:{server.url}/4"
    assert (server.received, server.headers) == (["all"] * 2, ["Bearer x"] * 2)


def test_an_event_stream_of_pages(spark, tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/index.ttl").write_text(
        "@prefix tree: <https://w3id.org/tree#> . @prefix ldes: <https://w3id.org/ldes#> . @prefix : <http://e/> .\n"
        "<#s> ldes:timestampPath :at ; tree:member :a , :b . :b :at 2000 . :a :at 1000 ; :of [ :n 1 ] ."
    )

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *about):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "pages")))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/index.ttl"
    source, taken = LdesSource(url, every_ms=50), Taken()
    with taken.by(spark, source, tmp_path / "run"):
        taken.wait(2)
    with taken.by(spark, source, tmp_path / "run"):  # a restart repeats nothing
        taken.wait(2)
    assert [line.partition("\t")[0] for line in taken.lines] == ["1000", "2000"]
    assert taken.lines[0].count("1000\t") == 3
    assert taken.rows[0].file == f"ldes:{url}"
    server.shutdown()
    server.server_close()


def test_server_sent_events(spark, tmp_path):
    server = EventServer()
    server.events += [("reading", line) for line in numbered(0, 3)]
    source, taken = EventSource(server.url, "reading"), Taken()
    with taken.by(spark, source, tmp_path):
        taken.wait(3)
    server.events += [("other", "{}"), *(("reading", line) for line in numbered(3, 5))]
    with taken.by(spark, source, tmp_path):
        taken.wait(5)
    server.stop()
    assert taken.lines == numbered(0, 5)
    assert taken.rows[4].file == f"sse:{server.url}/6"


def test_what_is_in_the_spool_is_taken_after_a_restart_without_the_peer(spark, tmp_path):
    server = LineServer()
    taken = Taken()
    source = SocketSource("127.0.0.1", server.port)
    with taken.by(spark, source, tmp_path, most_records=2):
        server.send("".join(line + "\n" for line in numbered(0, 7)))
        taken.until(lambda: len(taken.rows) >= 2)
    server.stop()
    with taken.by(spark, source, tmp_path) as running:
        running.drain()
        taken.until(lambda: "cannot connect" in status(tmp_path / "spool"))
    # A batch that was cut off in the middle comes again: the batch log of a pipeline recognizes it by its number.
    assert list(dict.fromkeys(taken.lines)) == numbered(0, 7)


def test_mqtt(spark, mosquitto, tmp_path):
    taken = Taken()
    source = MqttSource("127.0.0.1", "rooms/+/temperature", mosquitto.port)
    with taken.by(spark, source, tmp_path) as running:
        taken.until(lambda: (tmp_path / "spool" / "subscribed").exists())
        mosquitto.publish("rooms/1/temperature", numbered(0, 100))
        mosquitto.publish("rooms/1/other", ["not asked for"])
        taken.wait(100)
        assert running.active
    mosquitto.publish("rooms/2/temperature", numbered(100, 150))  # no client is connected: the broker keeps them
    with taken.by(spark, source, tmp_path):
        taken.wait(150)
    assert taken.lines == numbered(0, 150)
    assert taken.rows[120].file == "mqtt:rooms/2/temperature/120"


@pytest.fixture
def own_mosquitto(tmp_path):
    (tmp_path / "broker").mkdir()
    broker = Mosquitto(tmp_path / "broker")
    yield broker
    broker.stop()


def test_mqtt_broker_that_comes_late_and_goes_in_the_middle(spark, own_mosquitto, tmp_path):
    taken = Taken()
    source = MqttSource("127.0.0.1", "t", own_mosquitto.port)
    with taken.by(spark, source, tmp_path):
        taken.until(lambda: "cannot connect to the MQTT broker" in status(tmp_path / "spool"))
        own_mosquitto.start()
        taken.until(lambda: status(tmp_path / "spool") == "")
        own_mosquitto.publish("t", numbered(0, 10))
        taken.wait(10)
        own_mosquitto.stop()
        taken.until(lambda: status(tmp_path / "spool") != "")
        own_mosquitto.start()
        own_mosquitto.publish("t", numbered(10, 20))
        taken.wait(20)
    assert taken.lines == numbered(0, 20)
