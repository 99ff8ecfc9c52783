"""Statements sent to Kafka topics, a message each, on hosts of the allow-list."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from freshet.federation.errors import ServiceError
from freshet.federation.settings import ServiceSettings
from freshet.rdf.errors import InputError

KAFKA = "kafka://"
_PORT = 9092
_WAIT_SECONDS = 0.1  # for room in the queue of the client


def send_to_topic(address: str, parts: Iterable[Path], settings: ServiceSettings) -> None:
    """Send the lines of files to the topic of `kafka://HOST:PORT/TOPIC`, in order; each is acknowledged.

    Without files the host is only looked up in the allow-list.

    Raises:
        ServiceError: The broker did not take all of them; the message says how many it took.
    """
    broker, topic = _broker_and_topic(address)
    settings.check(f"http://{broker}")
    files = list(parts)
    if not files:
        return
    try:
        from confluent_kafka import KafkaException, Producer
    except ImportError:
        raise InputError("a Kafka topic as a target needs confluent-kafka: pip install 'freshet[kafka]'") from None
    sent = _Sent()
    milliseconds = round(1000 * min(settings.timeout_seconds, 300))
    producer = Producer(
        {"bootstrap.servers": broker, "enable.idempotence": True, "message.timeout.ms": milliseconds, "linger.ms": 5}
    )
    try:
        for file in files:
            with file.open("rb") as lines:
                for line in lines:
                    while True:
                        try:
                            producer.produce(topic, line.rstrip(b"\n"), on_delivery=sent.note)
                            break
                        except BufferError:  # it is full: what was delivered makes room
                            producer.poll(_WAIT_SECONDS)
                    if sent.failure:
                        break
        producer.flush()
    except KafkaException as error:
        raise ServiceError(f"the topic {address} cannot be written: {error.args[0]}") from None
    if sent.failure:
        raise ServiceError(
            f"the topic {address} cannot be written: {sent.failure}; {sent.count:,} statements were sent"
        )


class _Sent:
    """How many messages were taken, and why one was not."""

    def __init__(self) -> None:
        self.count = 0
        self.failure = ""

    def note(self, error: Any, _message: Any) -> None:
        if error is None:
            self.count += 1
        else:
            self.failure = self.failure or str(error)


def _broker_and_topic(address: str) -> tuple[str, str]:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:
        host, port = None, _PORT
    topic = "" if host is None else unquote(parts.path.lstrip("/"))
    if not host or not topic:
        raise ServiceError(f"{address} is no address of a topic: write kafka://HOST:PORT/TOPIC")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}", topic
