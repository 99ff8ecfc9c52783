"""RMLStreamer's test cases for streams: each message goes over a real Kafka broker or a real socket, and is mapped as
a stream's messages are. The engine has no part in it: what is compared are the triples, without their graphs."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conformance.isomorphism import same_bag
from conformance.known_failures import parameters
from conformance.rml_output import quads_in
from conformance.rmlstreamer_suite import CASES, KNOWN_FAILURES, SUITE, StreamCase
from freshet.mapper.map_options import MapOptions
from freshet.rdf.batch import elements_of
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import FreshetError
from freshet.rml.mapping_slices import JoinSlice, slice_mapping
from freshet.rml.reader import read_mapping
from freshet.rml.sources import FileSource, KafkaSource, SocketSource
from freshet.rml.stream_inputs import StreamInput
from freshet.rml.windows import WindowKind, default_window
from freshet.sources.columns import ARRIVED, FILE, LINE, REASON
from freshet.spark.live.connector import add_connector
from freshet.spark.live.open import Reading, open_documents
from freshet.spark.live.spool import Spool, read_documents
from freshet.spark.live.tcp import TcpReceiver
from freshet.spark.map_run import run_map
from freshet.spark.stream import EncodedStream, StreamSpec
from live_servers import KafkaBroker, LineServer
from shared_data import shared
from waiting import wait_until


@dataclass(frozen=True)
class Received:
    """Documents that have come, in place of a source that would wait for more."""

    frame: DataFrame


@open_documents.register
def _received(source: Received, reading: Reading) -> DataFrame:
    return source.frame


@pytest.fixture(scope="session")
def topics(rml_spark: SparkSession, kafka: KafkaBroker) -> dict[str, DataFrame]:
    """The messages of all cases, sent to one topic with the case as their key, and read by Spark's connector."""
    add_connector(rml_spark)
    kafka.topic("cases")
    for case in CASES:
        for topic, messages in case.messages.items():
            kafka.send("cases", [json.dumps([case.name, topic, message]) for message in messages])
    read = (
        rml_spark.read.format("kafka")
        .options(**{"kafka.bootstrap.servers": kafka.address, "subscribe": "cases", "startingOffsets": "earliest"})
        .load()
        .withColumn("sent", F.from_json(F.col("value").cast("string"), "ARRAY<STRING>"))
        .select(
            F.concat_ws(" ", F.col("sent")[0], F.col("sent")[1]).alias("to"),
            F.col("sent")[2].alias(LINE),
            F.concat(F.lit("kafka:"), "topic", F.lit("/"), "partition", F.lit("/"), "offset").alias(FILE),
            F.unix_millis("timestamp").alias(ARRIVED),
        )
        .toPandas()
    )
    return {name: rml_spark.createDataFrame(group.drop(columns="to")) for name, group in read.groupby("to")}


def over_tcp(spark: SparkSession, folder: Path, messages: list[str], csv: bool) -> DataFrame:
    """Messages as a receiver gets them from a server that sends them and hangs up."""
    server = LineServer()
    spool = Spool(folder)
    receiver = TcpReceiver(spool, folder, host="127.0.0.1", port=server.port, delimiter=b"\n\n" if csv else b"\n")
    receiver.start()
    for message in messages:
        server.send(f"{message}\n\n" if csv else f"{one_line(message)}\n")
    server.hang_up()
    wait_until(receiver.at_end)
    server.stop()
    receiver.stop()
    batches = list(read_documents(spool.between(0, spool.end), 0, spool.end))
    spool.close()
    rows = [row for batch in batches for row in batch.to_pylist()]
    return spark.createDataFrame(rows or [], "line STRING, file STRING, arrived BIGINT")


def one_line(document: str) -> str:
    """JSON or XML without line ends, which are between documents here."""
    return re.sub(r"\s*\n\s*", " ", document)


def triples_of(case: StreamCase, spark: SparkSession, received) -> list[tuple]:
    """The triples that a mapping makes of its messages."""
    dictionary, found = Dictionary(), []
    for number, mapping_slice in enumerate(slice_mapping(read_mapping(case.mapping))):
        sources = (
            [mapping_slice.child, mapping_slice.parent]
            if isinstance(mapping_slice, JoinSlice)
            else [mapping_slice.source]
        )
        given = [StreamInput(Received(received(each)), each, time_form="arrival") for each in sources]
        spec = StreamSpec(f"slice {number}", tuple(given), mapping_slice)
        encoded = EncodedStream(spec)
        table = encoded._encoded([Reading(spark, case.mapping.parent)] * len(given)).toArrow()
        if isinstance(mapping_slice, JoinSlice):
            assert rows_of(joined_here(spec, spark, case)) == rows_of(table)
        good = table.filter(pc.is_null(table.column(REASON)))
        elements = elements_of(good, encoded.layout, dictionary)
        found += [tuple(dictionary.decode_many(ids)) for ids in zip(*elements[1:], strict=True)]
    return found


def joined_here(spec: StreamSpec, spark: SparkSession, case: StreamCase) -> pa.Table:
    """The pairs that are found in this process."""
    encoded = EncodedStream(replace(spec, join_here=True))
    assert encoded.join is not None
    sides = encoded._encoded([Reading(spark, case.mapping.parent)] * len(spec.inputs)).toArrow()
    return encoded.join.step(sides).pairs


def rows_of(table: pa.Table) -> list[str]:
    return sorted(map(str, table.select(sorted(set(table.column_names) - {FILE, LINE, REASON})).to_pylist()))


@pytest.mark.parametrize("case", parameters(CASES, KNOWN_FAILURES))
def test_rmlstreamer(case: StreamCase, rml_spark: SparkSession, topics: dict[str, DataFrame], tmp_path: Path) -> None:
    def received(source) -> DataFrame:
        match source.source:
            case KafkaSource(topic=topic):
                return topics[f"{case.name} {topic if topic in case.messages else 'datasource'}"]
            case FileSource(path):
                return topics[f"{case.name} {path.stem}"]
            case SocketSource():
                return over_tcp(rml_spark, tmp_path, case.messages["datasource"], source.formulation.value == "CSV")
        raise AssertionError(source)

    try:
        found = triples_of(case, rml_spark, received)
    except FreshetError:
        found = []  # of a mapping that is wrong: nothing may be expected
    wanted = {row[:3] for row in quads_in(case.output)} if case.output is not None else set()
    assert same_bag(sorted(set(found), key=str), sorted(wanted, key=str))


def test_all_cases_are_there() -> None:
    shared(SUITE)
    assert len(CASES) == 198
    assert {case.name for case in CASES} >= set(KNOWN_FAILURES)


def test_the_cases_of_the_branch_with_window_joins(rml_spark: SparkSession, tmp_path: Path) -> None:
    """Those with messages are in the suite already. Of the others one joins files by two conditions (the last statement
    of its mapping is not closed), and one says how windows are described."""
    branch = shared("data/rmlstreamer/window-joins-branch")
    for mapping in sorted((branch / "stream").rglob("mapping.ttl")):
        assert mapping.read_bytes() == (branch.parent / mapping.relative_to(branch)).read_bytes()
    for file in (branch / "double-join").glob("*.csv"):
        shutil.copyfile(file, tmp_path / file.name)
    (tmp_path / "m.ttl").write_text((branch / "double-join/mapping.rml.ttl").read_text() + ".")
    run_map(rml_spark, tmp_path / "m.ttl", MapOptions(tmp_path / "out.nq", rejects=tmp_path / "rejects"))
    assert quads_in(tmp_path / "out.nq") == quads_in(branch / "double-join/output.ttl")
    (joined,) = (
        mapping_slice
        for mapping_slice in slice_mapping(read_mapping(branch / "join-config-extract/mapping.ttl"))
        if isinstance(mapping_slice, JoinSlice)
    )
    assert joined.window == default_window(WindowKind.TUMBLING)
