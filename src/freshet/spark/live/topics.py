"""What writer and sink of a Kafka topic speak of."""

from __future__ import annotations

from typing import NamedTuple


class TopicToWrite(NamedTuple):
    """Brokers, a topic, and settings of Kafka's producer."""

    brokers: str
    topic: str
    options: tuple[tuple[str, str], ...] = ()


class Place(NamedTuple):
    """Which report of a query: its time, and its number among those of that time."""

    time_ms: int
    number: int
