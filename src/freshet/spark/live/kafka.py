"""Documents from Kafka topics, by Spark's own connector. Offsets are in Spark's checkpoint."""

from __future__ import annotations

import socket

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from freshet.rdf.errors import InputError
from freshet.rml.sources import KafkaSource
from freshet.sources.columns import ARRIVED, FILE, LINE
from freshet.sources.registry_messages import RegistryMessages
from freshet.spark.live.documents import text_column

_DEFAULT_PORT = 9092
_CONNECT_SECONDS = 2.0
# Spark asks brokers again after a failure; without these it would wait minutes before it says anything.
_PATIENCE = {
    "kafka.default.api.timeout.ms": "20000",
    "kafka.request.timeout.ms": "15000",
    "fetchOffset.numRetries": "2",
}


def kafka_documents(spark: SparkSession, source: KafkaSource, most_records: int | None) -> DataFrame:
    """Each message of a topic as a document. A message without a value is no document."""
    options = {
        **_PATIENCE,
        "kafka.bootstrap.servers": source.brokers,
        "subscribe": source.topic,
        "startingOffsets": source.start,
        **{f"kafka.{key}": value for key, value in source.options},
    }
    if source.group is not None:
        options["groupIdPrefix"] = source.group
    if most_records is not None:
        options["maxOffsetsPerTrigger"] = str(most_records)
    read = spark.readStream.format("kafka").options(**options).load()
    place = F.concat(F.lit("kafka:"), "topic", F.lit("/"), "partition", F.lit("/"), "offset")
    value = F.col("value")
    text = text_column(value)
    if source.registry is not None:
        messages = RegistryMessages(source.registry, dict(source.registry_headers))
        text = F.arrow_udf(messages.texts, "string")(value)  # type: ignore[attr-defined]
    return read.where(value.isNotNull()).select(
        text.alias(LINE),
        place.alias(FILE),
        F.unix_millis("timestamp").alias(ARRIVED),
    )


def check_brokers(brokers: str) -> None:
    """A ConnectionError where none of the brokers takes a connection."""
    reasons = []
    for broker in brokers.split(","):
        host, port = broker_address(broker)
        try:
            socket.create_connection((host, port), _CONNECT_SECONDS).close()
            return
        except OSError as error:
            reasons.append(f"{broker.strip()}: {error.strerror or error}")
    raise ConnectionError(f"no Kafka broker answers ({'; '.join(reasons)})")


def broker_address(broker: str) -> tuple[str, int]:
    """Host and port of a broker.

    >>> broker_address("localhost:9093"), broker_address("kafka"), broker_address("[::1]:9092")
    (('localhost', 9093), ('kafka', 9092), ('::1', 9092))
    """
    host, separator, port = broker.strip().rpartition(":")
    if not separator or port.endswith("]"):
        host, port = broker.strip(), str(_DEFAULT_PORT)
    if not port.isdecimal():
        raise InputError(f"'{broker}' is not a Kafka broker: write host:port")
    return host.strip("[]"), int(port)
