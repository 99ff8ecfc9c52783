"""A real Kafka broker and a real Mosquitto, started by the tests, on free ports of this machine."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from debian_packages import program
from freshet.rdf.errors import InputError
from freshet.spark.live.packages import Package, fetch, jars_folder
from required import lacking

_KAFKA = Package("org.apache.kafka", "kafka_2.13", "4.1.1")
_CLUSTER = "ZnJlc2hldCdzIGJyb2tlcg"  # fixed: one drawn at random may begin with a dash, which reads as an option
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={logs}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""


_PATIENCE = 300  # seconds, for which only a failure waits
_PORTS = 10_000, 30_000
Found = TypeVar("Found")


def free_ports(count: int) -> list[int]:
    """Free ports below those given to outgoing connections, lest one of these takes it before the server does."""
    ports: list[int] = []
    with contextlib.ExitStack() as held:  # so that they differ
        while len(ports) < count:
            port = random.SystemRandom().randrange(*_PORTS)
            taken = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                taken.bind(("127.0.0.1", port))
                ports.append(port)
    return ports


def fetched(fetch: Callable[[], Found]) -> Found:
    """What is fetched over the network, which may fail and be well again: tried three times."""
    for pause in (5, 20):
        with contextlib.suppress(InputError):
            return fetch()
        time.sleep(pause)
    return fetch()


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 0.5).close()
    except OSError:
        return False
    return True


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while not answers(port):
        assert process.poll() is None, log.read_text()[-2000:]
        assert time.monotonic() < end, log.read_text()[-2000:]
        time.sleep(0.05)


class KafkaBroker:
    """One node in KRaft mode: broker and controller in one process, its log in a folder of the test."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("java") is None:
            lacking("kafka", "there is no Java")
        try:
            jars = fetched(lambda: fetch([_KAFKA], jars_folder() / f"kafka-broker-{_KAFKA.version}"))
        except InputError as error:
            lacking("kafka", str(error))
        self._folder = folder
        self.port, controller = free_ports(2)
        self.address = f"127.0.0.1:{self.port}"
        self._properties = folder / "server.properties"
        self._properties.write_text(_PROPERTIES.format(port=self.port, controller=controller, logs=folder / "logs"))
        path = ":".join(map(str, jars))
        small = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
        self._java = ["java", "-Xmx256m", *small, "-cp", path]
        formatted = subprocess.run(
            [*self._java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(self._properties)],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert formatted.returncode == 0, formatted.stdout[-2000:]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = self._folder / "broker.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(self._properties)], stdout=output, stderr=output
            )
        wait_for(self.port, self._process, log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def topic(self, name: str, partitions: int = 1) -> str:
        """Make a topic."""
        admin = AdminClient({"bootstrap.servers": self.address})
        made = admin.create_topics([NewTopic(name, partitions, 1)], request_timeout=_PATIENCE)
        made[name].result(timeout=_PATIENCE)
        return name

    def send(self, topic: str, messages: Iterable[str | bytes], partition: int | None = None) -> None:
        producer = Producer({"bootstrap.servers": self.address})
        where = {} if partition is None else {"partition": partition}
        for message in messages:
            producer.produce(topic, message, **where)
        assert producer.flush(_PATIENCE) == 0

    def messages(self, topic: str) -> list[tuple[bytes | None, bytes, dict[str, str]]]:
        """Key, value and headers of all messages of a topic of one partition, committed ones only."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.address,
                "group.id": uuid.uuid4().hex,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,  # says where the end is
            }
        )
        try:
            consumer.assign([TopicPartition(topic, 0, 0)])
            found = []
            while True:
                message = consumer.poll(_PATIENCE)
                assert message is not None, "the broker does not answer"
                if message.error() is not None and message.error().code() == KafkaError._PARTITION_EOF:
                    break
                assert message.error() is None, message.error()
                headers = {key: value.decode() for key, value in message.headers() or []}
                found.append((message.key(), message.value(), headers))
            return found
        finally:
            consumer.close()


class Mosquitto:
    """A broker of Debian's package, with its sessions on disk so that they outlive a restart."""

    def __init__(self, folder: Path) -> None:
        self._program = program("mosquitto", "mqtt")
        self._folder = folder
        (self.port,) = free_ports(1)
        self._settings = folder / "mosquitto.conf"
        lines = [
            f"listener {self.port} 127.0.0.1",
            "allow_anonymous true",
            "persistence true",
            "max_queued_messages 0",  # by default a session keeps a thousand, and the rest is dropped
            f"persistence_location {folder}/",
            *(["user root"] if os.geteuid() == 0 else []),
        ]
        self._settings.write_text("\n".join(lines) + "\n")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = self._folder / "mosquitto.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen([self._program, "-c", str(self._settings)], stdout=output, stderr=output)
        wait_for(self.port, self._process, log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=_PATIENCE)
            self._process = None

    def publish(self, topic: str, messages: Iterable[str | bytes], *, retain: bool = False) -> None:
        """Send messages at quality 1, and wait until the broker has them."""
        client = Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        for sent in [client.publish(topic, message, qos=1, retain=retain) for message in messages]:
            sent.wait_for_publish(timeout=_PATIENCE)
            assert sent.is_published()
        client.disconnect()
        client.loop_stop()


def _listener() -> socket.socket:
    """On a port that no outgoing connection gets: one to it when it is closed could else reach itself."""
    while True:
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", random.SystemRandom().randrange(*_PORTS)))


class LineServer:
    """A TCP server that sends texts to its clients: those given so far, then what is given later, each once."""

    def __init__(self) -> None:
        self._listener = _listener()
        self.port = self._listener.getsockname()[1]
        self._peer: socket.socket | None = None
        self._connected = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                self._peer, _ = self._listener.accept()
            except OSError:
                return
            self._connected.set()

    def send(self, text: str | bytes) -> None:
        assert self._connected.wait(_PATIENCE), "no client has connected"
        assert self._peer is not None
        self._peer.sendall(text.encode() if isinstance(text, str) else text)

    def hang_up(self) -> None:
        assert self._connected.wait(_PATIENCE), "no client has connected"
        assert self._peer is not None
        self._connected.clear()
        self._peer.close()

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # a thread that waits in accept would take one more
        self._listener.close()
        if self._peer is not None:
            self._peer.close()
