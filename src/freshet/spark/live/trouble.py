"""What keeps a live stream from being read, as a message for users."""

from __future__ import annotations

from functools import singledispatch
from pathlib import Path

from freshet.rml.sources import (
    EventSource,
    KafkaSource,
    LdesSource,
    MqttSource,
    SocketSource,
    StreamSource,
    WebSocketSource,
)
from freshet.spark.live.kafka import check_brokers
from freshet.spark.live.spooled import status


@singledispatch
def trouble_of(source: StreamSource, spool: Path) -> str:
    """Why nothing comes; empty where there is no reason known."""
    return ""


@trouble_of.register
def _kafka(source: KafkaSource, spool: Path) -> str:
    try:
        check_brokers(source.brokers)
    except ConnectionError as error:
        return f"{error}; trying again"
    return ""


@trouble_of.register(MqttSource | SocketSource | EventSource | WebSocketSource | LdesSource)
def _spool_trouble(source: StreamSource, spool: Path) -> str:
    return status(spool)
