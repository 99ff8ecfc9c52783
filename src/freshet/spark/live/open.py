"""Any live stream as a streaming DataFrame of documents: the text, where it came from, when it arrived (ms)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from pathlib import Path
from typing import NamedTuple

import orjson
from pyspark.sql import DataFrame, SparkSession

from freshet.rdf.errors import UnsupportedError
from freshet.rml.sources import (
    EventSource,
    FolderSource,
    KafkaSource,
    LdesSource,
    MqttSource,
    SocketSource,
    StreamSource,
    WebSocketSource,
)
from freshet.spark import records
from freshet.spark.live.kafka import kafka_documents
from freshet.spark.live.ldes import LdesDataSource
from freshet.spark.live.mqtt import MqttDataSource, client_name
from freshet.spark.live.spooled import MOST_RECORDS, SPOOL, SpooledSource
from freshet.spark.live.sse import SseSource
from freshet.spark.live.tcp import TcpSource
from freshet.spark.live.ws import WsSource


class Reading(NamedTuple):
    """How a stream is read: where its spool is, how much a batch may take, whether another run may go on, whether
    a file is one document, and whether lines of files have their numbers."""

    spark: SparkSession
    spool: Path
    most_records: int | None = None
    files_per_batch: int | None = None
    lasting: bool = True
    whole_files: bool = False
    numbered: bool = False


@singledispatch
def open_documents(source: StreamSource, reading: Reading) -> DataFrame:
    """The documents of a stream."""
    raise UnsupportedError(f"there is no way to read {source}")


@open_documents.register
def _folder(source: FolderSource, reading: Reading) -> DataFrame:
    folder, pattern = str(source.folder), source.pattern
    return records.lines(
        reading.spark, folder, pattern, reading.files_per_batch, whole=reading.whole_files, numbered=reading.numbered
    )


@open_documents.register
def _kafka(source: KafkaSource, reading: Reading) -> DataFrame:
    return kafka_documents(reading.spark, source, reading.most_records)


@open_documents.register
def _tcp(source: SocketSource, reading: Reading) -> DataFrame:
    options = {"host": source.host, "port": str(source.port), "delimiter": source.delimiter}
    return _open_spool(TcpSource, options, reading)


@open_documents.register
def _events(source: EventSource, reading: Reading) -> DataFrame:
    options = {"url": source.url, "headers": orjson.dumps(dict(source.headers)).decode()}
    if source.event is not None:
        options["event"] = source.event
    return _open_spool(SseSource, options, reading)


@open_documents.register
def _messages(source: WebSocketSource, reading: Reading) -> DataFrame:
    options = {"url": source.url}
    for key, value in (("send", source.send), ("headers", dict(source.headers)), ("protocols", source.protocols)):
        options[key] = orjson.dumps(value).decode()
    return _open_spool(WsSource, options, reading)


@open_documents.register
def _event_stream(source: LdesSource, reading: Reading) -> DataFrame:
    headers = orjson.dumps(dict(source.headers)).decode()
    options = {"url": source.url, "every_ms": str(source.every_ms), "headers": headers}
    if source.time_path is not None:
        options["time_path"] = source.time_path
    return _open_spool(LdesDataSource, options, reading)


@open_documents.register
def _mqtt(source: MqttSource, reading: Reading) -> DataFrame:
    options = {
        "host": source.host,
        "port": str(source.port),
        "topic": source.topic,
        "quality": str(source.quality),
        "tls": str(source.tls).lower(),
        **{key: value for key, value in (("user", source.user), ("password", source.password)) if value is not None},
    }
    if reading.lasting:
        options["client"] = session_name(source, reading.spool)
    return _open_spool(MqttDataSource, options, reading)


def session_name(source: MqttSource, spool: Path) -> str:
    """The name of the session: a broker lets one connection only have it, so each part and input has its own."""
    if source.client is None:
        return client_name([source.host, source.topic, str(spool)])
    return f"{source.client}-{spool.parent.name}-{spool.name}"


def _open_spool(kind: type[SpooledSource], options: Mapping[str, str], reading: Reading) -> DataFrame:
    reading.spark.dataSource.register(kind)
    reader = reading.spark.readStream.format(kind.name()).options(**options).option(SPOOL, str(reading.spool))
    if reading.most_records is not None:
        reader = reader.option(MOST_RECORDS, str(reading.most_records))
    return reader.load()
