"""Writes messages to a Kafka topic with the Java client that Spark's connector brings.

The producer is idempotent: what it sends again because a broker did not answer is in the topic once.
"""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import SparkSession

from freshet.rdf.errors import InputError
from freshet.spark.live.kafka import check_brokers
from freshet.spark.live.topics import Place, TopicToWrite

_HEADERS = ("freshet-run", "freshet-query", "freshet-time", "freshet-sequence")
_SECONDS = 30
_STEP = 200  # messages to look at in one go, from the end of a partition backwards


class KafkaWriter:
    """A producer for one topic. Reports of one query have one key, and so are in one partition, in order."""

    def __init__(self, spark: SparkSession, topic: TopicToWrite) -> None:
        self._topic = topic
        try:
            check_brokers(topic.brokers)
        except ConnectionError as error:
            raise InputError(f"the topic {topic.topic} cannot be written to: {error}") from None
        jvm = spark.sparkContext._jvm
        assert jvm is not None
        self._jvm: Any = jvm
        self._kafka = jvm.org.apache.kafka
        bytes_class = "org.apache.kafka.common.serialization.ByteArraySerializer"
        self._producer = self._kafka.clients.producer.KafkaProducer(
            self._settings({"key.serializer": bytes_class, "value.serializer": bytes_class, "linger.ms": "5"})
        )
        self._sent: list[Any] = []

    def _settings(self, own: dict[str, str]) -> Any:
        settings = self._jvm.java.util.HashMap()
        given = {"bootstrap.servers": self._topic.brokers, **own, **dict(self._topic.options)}
        for key, value in given.items():
            settings.put(key, value)
        return settings

    def write(self, run: str, query: str, place: Place, value: bytes) -> None:
        record = self._kafka.clients.producer.ProducerRecord(self._topic.topic, query.encode(), value)
        for name, text in zip(_HEADERS, (run, query, str(place.time_ms), str(place.number)), strict=True):
            record.headers().add(name, text.encode())
        self._sent.append(self._producer.send(record))

    def flush(self) -> None:
        if not self._sent:
            return
        self._producer.flush()
        for sent in self._sent:
            try:
                sent.get()
            except Exception as error:
                reason = str(error).partition("Exception: ")[2].splitlines()[:1] or [str(error).splitlines()[0]]
                raise RuntimeError(f"the topic {self._topic.topic} cannot be written to: {reason[0]}") from None
        self._sent.clear()

    def close(self) -> None:
        self._producer.close()

    def newest(self, run: str, query: str) -> Place | None:
        """Look through the topic from its end, all partitions, until a report of the run's query is found."""
        bytes_class = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
        settings = {"key.deserializer": bytes_class, "value.deserializer": bytes_class, "group.id": "freshet-sink"}
        consumer = self._kafka.clients.consumer.KafkaConsumer(
            self._settings({**settings, "enable.auto.commit": "false", "auto.offset.reset": "earliest"})
        )
        try:
            places = [
                self._kafka.common.TopicPartition(self._topic.topic, each.partition())
                for each in consumer.partitionsFor(self._topic.topic) or []
            ]
            found = [self._newest_in(consumer, each, (run, query)) for each in places]
            return max((each for each in found if each is not None), default=None)
        finally:
            consumer.close()

    def _newest_in(self, consumer: Any, partition: Any, whose: tuple[str, str]) -> Place | None:
        only = self._jvm.java.util.Collections.singletonList(partition)
        consumer.assign(only)
        first = int(consumer.beginningOffsets(only).get(partition))
        end = int(consumer.endOffsets(only).get(partition))
        while end > first:
            start = max(first, end - _STEP)
            found = [place for key, place in self._read(consumer, partition, start, end) if key == whose]
            if found:
                return max(found)
            end = start
        return None

    def _read(self, consumer: Any, partition: Any, start: int, end: int) -> list[tuple[tuple[str, str], Place]]:
        """The reports between two offsets, each with its run and query; messages of others have no such headers."""
        consumer.seek(partition, start)
        deadline = time.monotonic() + _SECONDS
        found = []
        while int(consumer.position(partition)) < end:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the topic {self._topic.topic} cannot be read: no broker answers")
            for record in consumer.poll(self._jvm.java.time.Duration.ofMillis(500)).records(partition):
                headers = [record.headers().lastHeader(name) for name in _HEADERS]
                if int(record.offset()) < end and all(each is not None for each in headers):
                    run, query, time_ms, number = (bytes(each.value()).decode() for each in headers)
                    found.append(((run, query), Place(int(time_ms), int(number))))
        return found
