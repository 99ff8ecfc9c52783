"""A real Kafka broker and a real Mosquitto, started by the tests, on free ports of this machine."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import threading
import uuid
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from debian_packages import program
from freshet.rdf.errors import InputError
from freshet_benchmarks import local_servers
from freshet_benchmarks.local_servers import PATIENCE, PORTS, free_ports, wait_for
from required import lacking


class KafkaBroker(local_servers.KafkaBroker):
    """A broker of the tests, which are skipped where there can be none."""

    def __init__(self, folder: Path) -> None:
        try:
            super().__init__(folder)
        except InputError as error:
            lacking("kafka", str(error))

    def send(self, topic: str, messages: Iterable[str | bytes], partition: int | None = None) -> None:
        producer = Producer({"bootstrap.servers": self.address})
        where = {} if partition is None else {"partition": partition}
        for message in messages:
            producer.produce(topic, message, **where)
        assert producer.flush(PATIENCE) == 0

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
                message = consumer.poll(PATIENCE)
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
            self._process.wait(timeout=PATIENCE)
            self._process = None

    def publish(self, topic: str, messages: Iterable[str | bytes], *, retain: bool = False) -> None:
        """Send messages at quality 1, and wait until the broker has them."""
        client = Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        for sent in [client.publish(topic, message, qos=1, retain=retain) for message in messages]:
            sent.wait_for_publish(timeout=PATIENCE)
            assert sent.is_published()
        client.disconnect()
        client.loop_stop()


def _listener() -> socket.socket:
    """On a port that no outgoing connection gets: one to it when it is closed could else reach itself."""
    while True:
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", random.SystemRandom().randrange(*PORTS)))


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
        assert self._connected.wait(PATIENCE), "no client has connected"
        assert self._peer is not None
        self._peer.sendall(text.encode() if isinstance(text, str) else text)

    def hang_up(self) -> None:
        assert self._connected.wait(PATIENCE), "no client has connected"
        assert self._peer is not None
        self._connected.clear()
        self._peer.close()

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # a thread that waits in accept would take one more
        self._listener.close()
        if self._peer is not None:
            self._peer.close()
