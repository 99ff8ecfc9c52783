"""Servers that benchmarks and tests start on free ports of this machine: here a real Kafka broker."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from freshet.rdf.errors import FreshetError, InputError
from freshet.spark.live.packages import Package, fetch, jars_folder

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

PATIENCE = 300  # seconds, for which only a failure waits
PORTS = 10_000, 30_000
Found = TypeVar("Found")


def free_ports(count: int) -> list[int]:
    """Free ports below those given to outgoing connections, lest one of these takes it before the server does."""
    ports: list[int] = []
    with contextlib.ExitStack() as held:  # so that they differ
        while len(ports) < count:
            port = random.SystemRandom().randrange(*PORTS)
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
    """Whether something takes connections."""
    try:
        socket.create_connection(("127.0.0.1", port), 0.5).close()
    except OSError:
        return False
    return True


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until a server takes connections; an error with the end of its log where it does not."""
    end = time.monotonic() + PATIENCE
    while not answers(port):
        if process.poll() is not None or time.monotonic() > end:
            raise FreshetError(f"the server has not started: {log.read_text()[-2000:]}")
        time.sleep(0.05)


class KafkaBroker:
    """One node in KRaft mode: broker and controller in one process, its log in a folder. An InputError where Java or
    the broker's jars cannot be had."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("java") is None:
            raise InputError("there is no Java")
        jars = fetched(lambda: fetch([_KAFKA], jars_folder() / f"kafka-broker-{_KAFKA.version}"))
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
        if formatted.returncode:
            raise FreshetError(f"Kafka's storage cannot be made: {formatted.stdout[-2000:]}")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        log = self._folder / "broker.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(self._properties)], stdout=output, stderr=output
            )
        wait_for(self.port, self._process, log)

    def stop(self) -> None:
        """Stop it; its log stays."""
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
        made = admin.create_topics([NewTopic(name, partitions, 1)], request_timeout=PATIENCE)
        made[name].result(timeout=PATIENCE)
        return name
